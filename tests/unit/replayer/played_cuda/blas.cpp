// cuBLAS as LibTorch calls it for matrix products, which it does not compute: its own would look
// for a driver. Every call succeeds.
#include "answers.h"

namespace {

constexpr int kSuccess = 0;
int handle = 0;

}  // namespace

extern "C" {
int cublasCreate_v2(void** made) {
  *made = &handle;
  return kSuccess;
}
int cublasGetPointerMode_v2(void*, int* mode) {
  *mode = 0;
  return kSuccess;
}
int cublasGetMathMode(void*, int* mode) {
  *mode = 0;
  return kSuccess;
}
int cublasLtMatmulDescCreate(void** made, int, int) {
  *made = &handle;
  return kSuccess;
}
int cublasLtMatrixLayoutCreate(void** made, int, unsigned long, unsigned long, long) {
  *made = &handle;
  return kSuccess;
}
int cublasLtMatmulPreferenceCreate(void** made) {
  *made = &handle;
  return kSuccess;
}
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void*,
                                   int* found) {
  *found = 1;
  return kSuccess;
}
}

ANSWERS(cublasDestroy_v2, kSuccess)
ANSWERS(cublasSetStream_v2, kSuccess)
ANSWERS(cublasSetWorkspace_v2, kSuccess)
ANSWERS(cublasSetMathMode, kSuccess)
ANSWERS(cublasSetPointerMode_v2, kSuccess)
ANSWERS(cublasSgemm_v2, kSuccess)
ANSWERS(cublasSgemv_v2, kSuccess)
ANSWERS(cublasSdot_v2, kSuccess)
ANSWERS(cublasSgemmStridedBatched, kSuccess)
ANSWERS(cublasGemmEx, kSuccess)
ANSWERS(cublasSgemmEx, kSuccess)
ANSWERS(cublasGemmStridedBatchedEx, kSuccess)
ANSWERS(cublasLtMatmul, kSuccess)
ANSWERS(cublasLtMatmulDescDestroy, kSuccess)
ANSWERS(cublasLtMatmulDescSetAttribute, kSuccess)
ANSWERS(cublasLtMatrixLayoutDestroy, kSuccess)
ANSWERS(cublasLtMatrixLayoutSetAttribute, kSuccess)
ANSWERS(cublasLtMatmulPreferenceDestroy, kSuccess)
ANSWERS(cublasLtMatmulPreferenceSetAttribute, kSuccess)
