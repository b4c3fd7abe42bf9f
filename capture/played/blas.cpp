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

void tell(cublasHandle_t handle, const Product& product, const void* result) {
  const auto letter = [](cublasOperation_t operation) {
    return operation == CUBLAS_OP_N ? 'n' : operation == CUBLAS_OP_T ? 't' : 'c';
  };
  played::issue(fmt::format("cublas:{} {}{} {}x{}x{} type {} batch {}", product.name,
                            letter(product.a), letter(product.b), product.m, product.n, product.k,
                            static_cast<int>(product.type), product.batch),
                handle->stream, {result});
}

}  // namespace

#define PLAYED_CUBLAS(name, parameters, ...) \
  PLAYED_DONE(cublasStatus_t, cublas##name, parameters, __VA_ARGS__)

extern "C" {

PLAYED_CUBLAS(Create_v2, (cublasHandle_t * handle), *handle = new cublasContext)
PLAYED_CUBLAS(Destroy_v2, (cublasHandle_t handle), delete handle)
PLAYED_CUBLAS(SetStream_v2, (cublasHandle_t handle, cudaStream_t stream), handle->stream = stream)
PLAYED_CUBLAS(GetStream_v2, (cublasHandle_t handle, cudaStream_t* stream), *stream = handle->stream)
PLAYED_CUBLAS(SetPointerMode_v2, (cublasHandle_t handle, cublasPointerMode_t mode),
              handle->pointers = mode)
PLAYED_CUBLAS(GetPointerMode_v2, (cublasHandle_t handle, cublasPointerMode_t* mode),
              *mode = handle->pointers)
PLAYED_CUBLAS(SetMathMode, (cublasHandle_t handle, cublasMath_t mode), handle->math = mode)
PLAYED_CUBLAS(GetMathMode, (cublasHandle_t handle, cublasMath_t* mode), *mode = handle->math)
PLAYED_CUBLAS(GetVersion_v2, (cublasHandle_t, int* version), *version = CUBLAS_VERSION)

// The functions of one type each.
#define PLAYED_PRODUCTS(letter, T, type)                                                          \
  PLAYED_CUBLAS(letter##gemm_v2,                                                                  \
                (cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n,   \
                 int k, const T*, const T*, int, const T*, int, const T*, T* result, int),        \
                tell(handle, {#letter "gemm", a, b, m, n, k, type}, result))                      \
  PLAYED_CUBLAS(letter##gemmStridedBatched,                                                       \
                (cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n,   \
                 int k, const T*, const T*, int, long long, const T*, int, long long, const T*,   \
                 T* result, int, long long, int batch),                                           \
                tell(handle, {#letter "gemmStridedBatched", a, b, m, n, k, type, batch}, result)) \
  PLAYED_CUBLAS(letter##gemv_v2,                                                                  \
                (cublasHandle_t handle, cublasOperation_t a, int m, int n, const T*, const T*,    \
                 int, const T*, int, const T*, T* result, int),                                   \
                tell(handle, {#letter "gemv", a, CUBLAS_OP_N, m, 1, n, type}, result))
PLAYED_PRODUCTS(S, float, CUDA_R_32F)
PLAYED_PRODUCTS(D, double, CUDA_R_64F)
PLAYED_PRODUCTS(C, cuComplex, CUDA_C_32F)
PLAYED_PRODUCTS(Z, cuDoubleComplex, CUDA_C_64F)

#define PLAYED_DOT(name, T, type)                                                        \
  PLAYED_CUBLAS(name##_v2,                                                               \
                (cublasHandle_t handle, int n, const T*, int, const T*, int, T* result), \
                tell(handle, {#name, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, n, type}, result))
PLAYED_DOT(Sdot, float, CUDA_R_32F)
PLAYED_DOT(Ddot, double, CUDA_R_64F)
PLAYED_DOT(Cdotu, cuComplex, CUDA_C_32F)
PLAYED_DOT(Cdotc, cuComplex, CUDA_C_32F)
PLAYED_DOT(Zdotu, cuDoubleComplex, CUDA_C_64F)
PLAYED_DOT(Zdotc, cuDoubleComplex, CUDA_C_64F)
PLAYED_CUBLAS(DotEx,
              (cublasHandle_t handle, int n, const void*, cudaDataType type, int, const void*,
               cudaDataType, int, void* result, cudaDataType, cudaDataType),
              tell(handle, {"DotEx", CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, n, type}, result))
PLAYED_CUBLAS(GemmEx,
              (cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
               const void*, const void*, cudaDataType type, int, const void*, cudaDataType, int,
               const void*, void* result, cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t),
              tell(handle, {"GemmEx", a, b, m, n, k, type}, result))
PLAYED_CUBLAS(SgemmEx,
              (cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
               const float*, const void*, cudaDataType type, int, const void*, cudaDataType, int,
               const float*, void* result, cudaDataType, int),
              tell(handle, {"SgemmEx", a, b, m, n, k, type}, result))
PLAYED_CUBLAS(GemmStridedBatchedEx,
              (cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
               const void*, const void*, cudaDataType type, int, long long, const void*,
               cudaDataType, int, long long, const void*, void* result, cudaDataType, int,
               long long, int batch, cublasComputeType_t, cublasGemmAlgo_t),
              tell(handle, {"GemmStridedBatchedEx", a, b, m, n, k, type, batch}, result))
}
