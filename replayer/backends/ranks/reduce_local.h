#pragma once

#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

/// Computes `into` = `into` `op` `from` for elements of equal size; for an average, the sum. The
/// pair must pass can_reduce(). Integers wrap around. Half types are computed as floats and rounded
/// after each operation.
void reduce_local(const Buffer& into, const void* from, ReduceOp op);

/// Divides by `divisor`, which truncates integers; if that is 1, multiplies floating-point numbers
/// by `factor`.
void scale(const Buffer& buffer, int divisor, double factor);

}  // namespace understudy::backends
