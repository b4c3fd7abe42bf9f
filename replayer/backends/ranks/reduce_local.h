#pragma once

#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

/// Computes `into` = `into` `op` `from` for elements of equal size; for an average, the sum. The
/// pair must pass can_reduce(). Integers wrap around. Half types are computed as floats and rounded
/// after each operation.
void reduce_local(const Buffer& into, const void* from, ReduceOp op);

/// Turns a sum over `ranks` into an average; integers are truncated.
void divide(const Buffer& buffer, int ranks);

/// Multiplies floating-point numbers by `factor`.
void multiply(const Buffer& buffer, double factor);

}  // namespace understudy::backends
