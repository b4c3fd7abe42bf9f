#pragma once

#include <cudnn.h>

#include <vector>

struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> sizes;
  std::vector<int> strides;
};
