#pragma once

#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// By node: whether it takes or returns a wrapper. torch.func (vmap, grad, jvp) and Python classes
/// such as DTensor give programs tensors that have sizes and strides, but no memory. Each operator
/// on them is dispatched again, layer by layer, down to operators on real tensors, which do the
/// work. Wrappers of torch.func have no storage. Wrappers of Python classes, and the fake tensors
/// that DTensor asks for shapes, all have the storage at no address, which the labels of their
/// calls show.
///
/// A sparse or opaque tensor has no storage and no strides either. Its strides are recorded as
/// zeros, after a leading one if it is opaque. A wrapper that was expanded can look the same. Its
/// operator tells them apart: a result without a storage is a wrapper if the operator works on
/// wrappers. Traces without strides (before 1.1.1) show none.
[[nodiscard]] std::vector<bool> find_wrapped(const et_schema::Trace& trace);

}  // namespace understudy::generator
