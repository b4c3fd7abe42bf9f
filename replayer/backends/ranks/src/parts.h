#pragma once

#include <cstdint>
#include <vector>

#include "replayer/backends/interface/communicator.h"

namespace understudy::backends {

[[nodiscard]] Buffer slice(const Buffer& whole, std::int64_t first, std::int64_t count);

/// Cuts a buffer into consecutive parts of these sizes.
[[nodiscard]] std::vector<Buffer> split(const Buffer& whole,
                                        const std::vector<std::int64_t>& counts);

/// Cuts each buffer into n equal parts; the parts of all buffers are one list. n must divide the
/// sizes.
[[nodiscard]] std::vector<Buffer> equal_parts(const std::vector<Buffer>& wholes, int n);

/// Cuts a buffer into n parts whose sizes differ by one element at most, the larger ones first.
[[nodiscard]] std::vector<Buffer> even_parts(const Buffer& whole, int n);

/// Copies all elements; the buffers must have the same size and may overlap.
void copy(const Buffer& from, const Buffer& to);

[[nodiscard]] bool overlap(const Buffer& a, const Buffer& b);

}  // namespace understudy::backends
