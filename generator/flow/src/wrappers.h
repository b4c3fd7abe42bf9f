#pragma once

#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// By node: whether it takes or gives a wrapper. torch.func (vmap, grad, jvp) and classes of
/// Python's such as DTensor hand programs tensors that have sizes and strides, but no memory; each
/// operator on them is dispatched again, layer by layer, until operators on real tensors are below
/// it. Those did the work. Wrappers of torch.func have no storage; those of Python's classes, and
/// the fake tensors that DTensor asks for shapes, all have the storage at no address, which the
/// labels of their calls tell.
///
/// A sparse or opaque tensor has no storage either, and no strides: where those of a wrapper are
/// recorded it shows zeros, behind a leading one if it is opaque. A wrapper that looks so as well,
/// since it was expanded, is told by its operator: what an operator on wrappers gives without a
/// storage is a wrapper. Traces without strides (before 1.1.1) show none.
[[nodiscard]] std::vector<bool> find_wrapped(const et_schema::Trace& trace);

}  // namespace understudy::generator
