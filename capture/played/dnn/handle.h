#pragma once

#include <cudnn.h>

#include <cstddef>

#include "capture/played/issue.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

#define PLAYED_CUDNN(name, parameters, ...) \
  PLAYED_DONE(cudnnStatus_t, cudnn##name, parameters, __VA_ARGS__)
