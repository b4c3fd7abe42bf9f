#pragma once

#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

/// Computes `into` = `into` `op` `from` for elements of equal size; for an average, the sum. The
/// pair must pass can_reduce(). Integers wrap around. Half types are computed as floats and rounded
/// after each operation.
void reduce_local(const Buffer& into, const void* from, ReduceOp op);

/// If `divisor` is not 1, divides by it, truncating integers; else multiplies floating-point
/// numbers by `factor`.
void scale(const Buffer& buffer, int divisor, double factor);

}  // namespace understudy::backends
