#pragma once

#include <cudnn.h>

#include <cstddef>
#include <vector>

#include "capture/played/issue.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> sizes;
  std::vector<int> strides;
};

#define PLAYED_CUDNN(name, parameters, ...) \
  PLAYED_DONE(cudnnStatus_t, cudnn##name, parameters, __VA_ARGS__)
