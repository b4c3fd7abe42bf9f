#pragma once

#include <cuda.h>

#include <cstddef>

namespace played {

/// Rows of bytes; a plain copy has one.
struct Copy {
  void* to;
  const void* from;
  std::size_t width;
  std::size_t height = 1;
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
};

/// Copies on a stream, with what is known of the source. Much memory is not touched, and assumed.
CUresult copy(const Copy& copy, CUstream stream);

/// Fills memory with `count` values of `width` bytes (1 or 4), on a stream.
CUresult fill(void* at, unsigned value, std::size_t width, std::size_t count, CUstream stream);

}  // namespace played
