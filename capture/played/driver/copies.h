#pragma once

#include <cuda.h>

#include <cstddef>

namespace played {

/// Copies on a stream, with what is known of the source. Much memory is not touched, and assumed.
CUresult copy(void* to, const void* from, std::size_t bytes, CUstream stream);

/// Fills memory with `count` values of `width` bytes (1 or 4), on a stream.
CUresult fill(void* at, unsigned value, std::size_t width, std::size_t count, CUstream stream);

}  // namespace played
