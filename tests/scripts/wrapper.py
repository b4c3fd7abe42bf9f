"""A tensor subclass for tests."""

import torch


class Wrapper(torch.Tensor):
    """A tensor around another, as DTensor is."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = [value.inner if isinstance(value, cls) else value for value in args]
        return func(*plain, **(kwargs or {}))
