"""Captures a step on a card that is not there: PyTorch's CUDA half on a played driver (docs/capture.md, "Without the hardware")."""
