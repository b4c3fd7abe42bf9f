#pragma once

#include <cudnn.h>

#include <cstddef>

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
