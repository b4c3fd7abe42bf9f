// NVML, as far as PyTorch asks it: how many cards there are, and which processes use them.
#include <cuda_runtime_api.h>

#include "capture/played/played.h"

extern "C" {
PLAYED_CALL(int, nvmlDeviceGetCount_v2, (int* count), static_cast<int>(cudaGetDeviceCount(count)))
PLAYED_CALL(int, nvmlDeviceGetComputeRunningProcesses, (void*, unsigned* count, void*),
            (*count = 0, 0))
}
