// cuBLAS as LibTorch calls it for matrix products, which it does not compute: its own would look
// for a driver. Every call succeeds; their arguments are of no interest but where one is written.

namespace {

int handle = 0;

}  // namespace

#define PLAYED(name)      \
  extern "C" int name() { \
    return 0;             \
  }

extern "C" {
int cublasCreate_v2(void** made) {
  *made = &handle;
  return 0;
}
int cublasGetPointerMode_v2(void*, int* mode) {
  *mode = 0;
  return 0;
}
int cublasGetMathMode(void*, int* mode) {
  *mode = 0;
  return 0;
}
int cublasLtMatmulDescCreate(void** made, int, int) {
  *made = &handle;
  return 0;
}
int cublasLtMatrixLayoutCreate(void** made, int, unsigned long, unsigned long, long) {
  *made = &handle;
  return 0;
}
int cublasLtMatmulPreferenceCreate(void** made) {
  *made = &handle;
  return 0;
}
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void*,
                                   int* found) {
  *found = 1;
  return 0;
}
}

PLAYED(cublasDestroy_v2)
PLAYED(cublasSetStream_v2)
PLAYED(cublasSetWorkspace_v2)
PLAYED(cublasSetMathMode)
PLAYED(cublasSetPointerMode_v2)
PLAYED(cublasSgemm_v2)
PLAYED(cublasSgemv_v2)
PLAYED(cublasSdot_v2)
PLAYED(cublasSgemmStridedBatched)
PLAYED(cublasGemmEx)
PLAYED(cublasSgemmEx)
PLAYED(cublasGemmStridedBatchedEx)
PLAYED(cublasLtMatmul)
PLAYED(cublasLtMatmulDescDestroy)
PLAYED(cublasLtMatmulDescSetAttribute)
PLAYED(cublasLtMatrixLayoutDestroy)
PLAYED(cublasLtMatrixLayoutSetAttribute)
PLAYED(cublasLtMatmulPreferenceDestroy)
PLAYED(cublasLtMatmulPreferenceSetAttribute)
