// cuBLAS: each product is told with its sizes, and its result is not known.
#include <cublas_v2.h>
#include <fmt/format.h>

#include "capture/played/issue.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

namespace {

struct Product {
  const char* name;
  cublasOperation_t a;
  cublasOperation_t b;
  int m;
  int n;
  int k;
  cudaDataType_t type;
  int batch = 1;
};

cublasStatus_t tell(cublasHandle_t handle, const Product& product, const void* result) {
  const auto letter = [](cublasOperation_t operation) {
    return operation == CUBLAS_OP_N ? 'n' : operation == CUBLAS_OP_T ? 't' : 'c';
  };
  played::issue(fmt::format("cublas:{} {}{} {}x{}x{} type {} batch {}", product.name,
                            letter(product.a), letter(product.b), product.m, product.n, product.k,
                            static_cast<int>(product.type), product.batch),
                handle->stream, {result});
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

PLAYED_DONE(cublasStatus_t, cublasCreate_v2, (cublasHandle_t * handle), *handle = new cublasContext)

PLAYED_DONE(cublasStatus_t, cublasDestroy_v2, (cublasHandle_t handle), delete handle)

PLAYED_DONE(cublasStatus_t, cublasSetStream_v2, (cublasHandle_t handle, cudaStream_t stream),
            handle->stream = stream)

PLAYED_DONE(cublasStatus_t, cublasGetStream_v2, (cublasHandle_t handle, cudaStream_t* stream),
            *stream = handle->stream)

PLAYED_DONE(cublasStatus_t, cublasSetPointerMode_v2,
            (cublasHandle_t handle, cublasPointerMode_t mode), handle->pointers = mode)

PLAYED_DONE(cublasStatus_t, cublasGetPointerMode_v2,
            (cublasHandle_t handle, cublasPointerMode_t* mode), *mode = handle->pointers)

PLAYED_DONE(cublasStatus_t, cublasSetMathMode, (cublasHandle_t handle, cublasMath_t mode),
            handle->math = mode)

PLAYED_DONE(cublasStatus_t, cublasGetMathMode, (cublasHandle_t handle, cublasMath_t* mode),
            *mode = handle->math)

PLAYED_DONE(cublasStatus_t, cublasGetVersion_v2, (cublasHandle_t, int* version),
            *version = CUBLAS_VERSION)

// The functions of one type each.
#define UNDERSTUDY_PRODUCTS(letter, T, type)                                                       \
  cublasStatus_t cublas##letter##gemm_v2(cublasHandle_t handle, cublasOperation_t a,               \
                                         cublasOperation_t b, int m, int n, int k, const T*,       \
                                         const T*, int, const T*, int, const T*, T* result, int) { \
    return tell(handle, {#letter "gemm", a, b, m, n, k, type}, result);                            \
  }                                                                                                \
  cublasStatus_t cublas##letter##gemmStridedBatched(                                               \
      cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,        \
      const T*, const T*, int, long long, const T*, int, long long, const T*, T* result, int,      \
      long long, int batch) {                                                                      \
    return tell(handle, {#letter "gemmStridedBatched", a, b, m, n, k, type, batch}, result);       \
  }                                                                                                \
  cublasStatus_t cublas##letter##gemv_v2(cublasHandle_t handle, cublasOperation_t a, int m, int n, \
                                         const T*, const T*, int, const T*, int, const T*,         \
                                         T* result, int) {                                         \
    return tell(handle, {#letter "gemv", a, CUBLAS_OP_N, m, 1, n, type}, result);                  \
  }
UNDERSTUDY_PRODUCTS(S, float, CUDA_R_32F)
UNDERSTUDY_PRODUCTS(D, double, CUDA_R_64F)
UNDERSTUDY_PRODUCTS(C, cuComplex, CUDA_C_32F)
UNDERSTUDY_PRODUCTS(Z, cuDoubleComplex, CUDA_C_64F)

#define UNDERSTUDY_DOT(name, T, type)                                                          \
  cublasStatus_t cublas##name##_v2(cublasHandle_t handle, int n, const T*, int, const T*, int, \
                                   T* result) {                                                \
    return tell(handle, {#name, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, n, type}, result);             \
  }
UNDERSTUDY_DOT(Sdot, float, CUDA_R_32F)
UNDERSTUDY_DOT(Ddot, double, CUDA_R_64F)
UNDERSTUDY_DOT(Cdotu, cuComplex, CUDA_C_32F)
UNDERSTUDY_DOT(Cdotc, cuComplex, CUDA_C_32F)
UNDERSTUDY_DOT(Zdotu, cuDoubleComplex, CUDA_C_64F)
UNDERSTUDY_DOT(Zdotc, cuDoubleComplex, CUDA_C_64F)

cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void*, cudaDataType type, int,
                           const void*, cudaDataType, int, void* result, cudaDataType,
                           cudaDataType) {
  return tell(handle, {"DotEx", CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, n, type}, result);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m,
                            int n, int k, const void*, const void*, cudaDataType type, int,
                            const void*, cudaDataType, int, const void*, void* result, cudaDataType,
                            int, cublasComputeType_t, cublasGemmAlgo_t) {
  return tell(handle, {"GemmEx", a, b, m, n, k, type}, result);
}

cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m,
                             int n, int k, const float*, const void*, cudaDataType type, int,
                             const void*, cudaDataType, int, const float*, void* result,
                             cudaDataType, int) {
  return tell(handle, {"SgemmEx", a, b, m, n, k, type}, result);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t a,
                                          cublasOperation_t b, int m, int n, int k, const void*,
                                          const void*, cudaDataType type, int, long long,
                                          const void*, cudaDataType, int, long long, const void*,
                                          void* result, cudaDataType, int, long long, int batch,
                                          cublasComputeType_t, cublasGemmAlgo_t) {
  return tell(handle, {"GemmStridedBatchedEx", a, b, m, n, k, type, batch}, result);
}
}
