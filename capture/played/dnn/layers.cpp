// Layers of cuDNN that are no graphs: only that they run is told, and what they write.
#include "capture/played/dnn/handle.h"

using In = const void*;
using Shape = const cudnnTensorDescriptor_t;

/// Tells that a layer runs, and what it writes.
#define PLAYED_LAYER(name, parameters, ...) \
  PLAYED_CUDNN(name, parameters, played::issue("cudnn:" #name, handle->stream, {__VA_ARGS__}))

extern "C" {

PLAYED_CUDNN(GetBatchNormalizationForwardTrainingExWorkspaceSize,
             (cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, Shape, Shape, Shape, Shape,
              const cudnnActivationDescriptor_t, std::size_t* bytes),
             *bytes = 0)
PLAYED_CUDNN(GetBatchNormalizationBackwardExWorkspaceSize,
             (cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, Shape, Shape, Shape, Shape,
              Shape, Shape, const cudnnActivationDescriptor_t, std::size_t* bytes),
             *bytes = 0)
PLAYED_CUDNN(GetBatchNormalizationTrainingExReserveSpaceSize,
             (cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t,
              const cudnnActivationDescriptor_t, Shape, std::size_t* bytes),
             *bytes = 0)
PLAYED_LAYER(BatchNormalizationForwardTrainingEx,
             (cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t, In, In, Shape, In,
              Shape, In, Shape, void* y, Shape, In, In, double, void* mean, void* variance, double,
              void* saved_mean, void* saved_variance, cudnnActivationDescriptor_t, void*,
              std::size_t, void* reserve, std::size_t),
             y, mean, variance, saved_mean, saved_variance, reserve)
PLAYED_LAYER(BatchNormalizationForwardInference,
             (cudnnHandle_t handle, cudnnBatchNormMode_t, In, In, Shape, In, Shape, void* y, Shape,
              In, In, In, In, double),
             y)
PLAYED_LAYER(BatchNormalizationBackwardEx,
             (cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t, In, In, In, In,
              Shape, In, Shape, In, Shape, In, Shape, void* dz, Shape, void* dx, Shape, In, In,
              void* dscale, void* dbias, double, In, In, cudnnActivationDescriptor_t, void*,
              std::size_t, void* reserve, std::size_t),
             dz, dx, dscale, dbias, reserve)
PLAYED_CUDNN(GetCTCLossWorkspaceSize,
             (cudnnHandle_t, Shape, Shape, const int*, const int*, const int*, cudnnCTCLossAlgo_t,
              cudnnCTCLossDescriptor_t, std::size_t* bytes),
             *bytes = 0)
PLAYED_CUDNN(GetCTCLossWorkspaceSize_v8,
             (cudnnHandle_t, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t, Shape, Shape,
              std::size_t* bytes),
             *bytes = 0)
PLAYED_LAYER(CTCLoss,
             (cudnnHandle_t handle, Shape, In, const int*, const int*, const int*, void* costs,
              Shape, void* gradients, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t, void*,
              std::size_t),
             costs, gradients)
PLAYED_LAYER(CTCLoss_v8,
             (cudnnHandle_t handle, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t, Shape, In,
              const int*, const int*, const int*, void* costs, Shape, void* gradients, std::size_t,
              void*),
             costs, gradients)
PLAYED_LAYER(SpatialTfGridGeneratorForward,
             (cudnnHandle_t handle, const cudnnSpatialTransformerDescriptor_t, In, void* grid),
             grid)
PLAYED_LAYER(SpatialTfGridGeneratorBackward,
             (cudnnHandle_t handle, const cudnnSpatialTransformerDescriptor_t, In, void* dtheta),
             dtheta)
PLAYED_LAYER(SpatialTfSamplerForward,
             (cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t, In, Shape, In, In, In,
              cudnnTensorDescriptor_t, void* y),
             y)
PLAYED_LAYER(SpatialTfSamplerBackward,
             (cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t, In, Shape, In, In, Shape,
              void* dx, In, Shape, In, In, In, void* dgrid),
             dx, dgrid)
PLAYED_LAYER(SetDropoutDescriptor,
             (cudnnDropoutDescriptor_t, cudnnHandle_t handle, float, void* states, std::size_t,
              unsigned long long),
             states)
PLAYED_LAYER(RNNForward,
             (cudnnHandle_t handle, cudnnRNNDescriptor_t, cudnnForwardMode_t, const std::int32_t*,
              cudnnRNNDataDescriptor_t, In, cudnnRNNDataDescriptor_t, void* y, Shape, In, void* hy,
              Shape, In, void* cy, std::size_t, In, std::size_t, void* work, std::size_t,
              void* reserve),
             y, hy, cy, work, reserve)
PLAYED_LAYER(RNNBackwardData_v8,
             (cudnnHandle_t handle, cudnnRNNDescriptor_t, const std::int32_t*,
              cudnnRNNDataDescriptor_t, In, In, cudnnRNNDataDescriptor_t, void* dx, Shape, In, In,
              void* dhx, cudnnTensorDescriptor_t, In, In, void* dcx, std::size_t, In, std::size_t,
              void* work, std::size_t, void* reserve),
             dx, dhx, dcx, work, reserve)
PLAYED_LAYER(RNNBackwardWeights_v8,
             (cudnnHandle_t handle, cudnnRNNDescriptor_t, cudnnWgradMode_t, const std::int32_t*,
              cudnnRNNDataDescriptor_t, In, Shape, In, cudnnRNNDataDescriptor_t, In, std::size_t,
              void* dweights, std::size_t, void* work, std::size_t, void* reserve),
             dweights, work, reserve)
}
