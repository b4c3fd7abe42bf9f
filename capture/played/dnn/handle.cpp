// cuDNN's handles and versions.
#include "capture/played/dnn/handle.h"

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
}
