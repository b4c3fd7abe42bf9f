#pragma once

#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// Returns, by node, whether it receives or returns a wrapper: a tensor with sizes and strides but
/// without memory, made by torch.func (vmap, grad, jvp) or by Python classes such as DTensor. Each
/// operator on wrappers is dispatched again, layer by layer, down to operators on real tensors,
/// which do the work. torch.func's wrappers have no storage. Wrappers of Python classes, and the
/// fake tensors that DTensor uses to compute shapes, all have the storage at address 0, which the
/// labels of their calls show.
///
/// Sparse and opaque tensors have no storage either. Their strides are recorded as zeros; those of
/// opaque tensors begin with a one. An expanded wrapper can look the same, so the operator decides:
/// a result without a storage is a wrapper if the operator works on wrappers. Traces without
/// strides (before 1.1.1) show none.
[[nodiscard]] std::vector<bool> find_wrapped(const et_schema::Trace& trace);

}  // namespace understudy::generator
