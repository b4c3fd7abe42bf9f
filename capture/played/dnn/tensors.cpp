// cuDNN's handles and versions; its descriptors of tensors, which are asked what they were told,
// and those of which nothing is asked.
#include <algorithm>

#include "capture/played/dnn/handle.h"

struct cudnnFilterStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::vector<int> sizes;
};
struct cudnnActivationStruct {};
struct cudnnCTCLossStruct {};
struct cudnnDropoutStruct {};
struct cudnnRNNDataStruct {};
struct cudnnSpatialTransformerStruct {};

namespace {

void copy(const std::vector<int>& from, int most, int* to) {
  std::copy_n(from.begin(), std::min(most, static_cast<int>(from.size())), to);
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() {
  return CUDNN_VERSION;
}

std::size_t cudnnGetCudartVersion() {
  return CUDART_VERSION;
}
PLAYED_CUDNN(GetProperty, (libraryPropertyType property, int* value),
             *value = property == MAJOR_VERSION   ? CUDNN_MAJOR
                      : property == MINOR_VERSION ? CUDNN_MINOR
                                                  : CUDNN_PATCHLEVEL)

void cudnnGetLastErrorString(char* text, std::size_t bytes) {
  if (bytes > 0) {
    text[0] = '\0';
  }
}
PLAYED_CUDNN(Create, (cudnnHandle_t * handle), *handle = new cudnnContext)
PLAYED_CUDNN(Destroy, (cudnnHandle_t handle), delete handle)
PLAYED_CUDNN(SetStream, (cudnnHandle_t handle, cudaStream_t stream), handle->stream = stream)
PLAYED_CUDNN(GetStream, (cudnnHandle_t handle, cudaStream_t* stream), *stream = handle->stream)

#define PLAYED_DESCRIPTOR(kind)                                                    \
  PLAYED_CUDNN(Create##kind##Descriptor, (cudnn##kind##Descriptor_t * descriptor), \
               *descriptor = new cudnn##kind##Struct{})                            \
  PLAYED_CUDNN(Destroy##kind##Descriptor, (cudnn##kind##Descriptor_t descriptor), delete descriptor)
PLAYED_DESCRIPTOR(Tensor)
PLAYED_DESCRIPTOR(Filter)
PLAYED_DESCRIPTOR(Activation)
PLAYED_DESCRIPTOR(CTCLoss)
PLAYED_DESCRIPTOR(Dropout)
PLAYED_DESCRIPTOR(RNNData)
PLAYED_DESCRIPTOR(SpatialTransformer)
PLAYED_CUDNN(SetTensorNdDescriptor,
             (cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count, const int* sizes,
              const int* strides),
             *tensor = {type, {sizes, sizes + count}, {strides, strides + count}})

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int most,
                                         cudnnDataType_t* type, int* count, int* sizes,
                                         int* strides) {
  *type = tensor->type;
  *count = static_cast<int>(tensor->sizes.size());
  copy(tensor->sizes, most, sizes);
  copy(tensor->strides, most, strides);
  return CUDNN_STATUS_SUCCESS;
}
PLAYED_CUDNN(SetFilterNdDescriptor,
             (cudnnFilterDescriptor_t filter, cudnnDataType_t type, cudnnTensorFormat_t format,
              int count, const int* sizes),
             *filter = {type, format, {sizes, sizes + count}})

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filter, int most,
                                         cudnnDataType_t* type, cudnnTensorFormat_t* format,
                                         int* count, int* sizes) {
  *type = filter->type;
  *format = filter->format;
  *count = static_cast<int>(filter->sizes.size());
  copy(filter->sizes, most, sizes);
  return CUDNN_STATUS_SUCCESS;
}
}
