#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

/// Defines a function of the runtime by one expression of the driver's; cudaGetLastError() tells of
/// its failure.
#define PLAYED_RUNTIME(name, parameters, ...)  \
  cudaError_t name parameters {                \
    return played::note_result((__VA_ARGS__)); \
  }

namespace played {

/// The runtime's name of the driver's answer, whose numbers are the same; kept if it is a failure.
cudaError_t note_result(CUresult result);

}  // namespace played
