#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "capture/played/driver/card.h"

/// Defines a function of the runtime by an expression of the driver's, of whose failure
/// cudaGetLastError() tells.
#define PLAYED_RUNTIME(name, parameters, ...) \
  PLAYED_CALL(cudaError_t, name, parameters, note_result(__VA_ARGS__))

namespace played {

/// The runtime's name of the driver's answer, whose numbers are the same; kept if it is a failure.
cudaError_t note_result(CUresult result);

}  // namespace played
