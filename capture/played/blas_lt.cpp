// cuBLASLt: each product is told with its sizes and epilogue, and its results are not known.
#include <cublasLt.h>
#include <fmt/format.h>

#include <cstring>

#include "capture/played/issue.h"

struct cublasLtContext {};

namespace {

// They lie in the memory of the library's opaque types, which a caller may own.
struct Product {
  int a = 0;
  int b = 0;
  int epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  void* auxiliary = nullptr;
  void* largest = nullptr;
};
struct Matrix {
  cudaDataType_t type;
  int batch;
  std::uint64_t rows;
  std::uint64_t columns;
};

template <typename Held, typename Opaque>
Held& held(Opaque* opaque) {
  static_assert(sizeof(Held) <= sizeof(Opaque) && alignof(Held) <= alignof(Opaque));
  return *reinterpret_cast<Held*>(opaque);
}

template <typename T>
void take(T& into, const void* value, std::size_t bytes) {
  std::memcpy(&into, value, std::min(bytes, sizeof into));
}

/// Of what an epilogue writes beside the product.
constexpr int kBiasGradient = (CUBLASLT_EPILOGUE_DRELU_BGRAD & ~CUBLASLT_EPILOGUE_DRELU) |
                              CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB;

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}

PLAYED_DONE(cublasStatus_t, cublasLtCreate, (cublasLtHandle_t * handle),
            *handle = new cublasLtContext)

PLAYED_DONE(cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t handle), delete handle)

PLAYED_DONE(cublasStatus_t, cublasLtMatmulDescInit_internal,
            (cublasLtMatmulDesc_t product, std::size_t, cublasComputeType_t, cudaDataType_t),
            held<Product>(product) = {})

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *product = new cublasLtMatmulDescOpaque_t;
  return cublasLtMatmulDescInit_internal(*product, sizeof **product, compute, scale);
}

PLAYED_DONE(cublasStatus_t, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t product),
            delete product)

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  auto& is = held<Product>(product);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      take(is.a, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
      take(is.b, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      take(is.epilogue, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      take(is.bias, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      take(is.auxiliary, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_AMAX_D_POINTER:
      take(is.largest, value, bytes);
      break;
    default:
      break;  // says nothing about sizes or results
  }
  return CUBLAS_STATUS_SUCCESS;
}

PLAYED_DONE(cublasStatus_t, cublasLtMatrixLayoutInit_internal,
            (cublasLtMatrixLayout_t matrix, std::size_t, cudaDataType type, std::uint64_t rows,
             std::uint64_t columns, std::int64_t),
            held<Matrix>(matrix) = {type, 1, rows, columns})

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matrix, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  *matrix = new cublasLtMatrixLayoutOpaque_t;
  return cublasLtMatrixLayoutInit_internal(*matrix, sizeof **matrix, type, rows, columns, leading);
}

PLAYED_DONE(cublasStatus_t, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t matrix),
            delete matrix)

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t matrix,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) {
    take(held<Matrix>(matrix).batch, value, bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}

PLAYED_DONE(cublasStatus_t, cublasLtMatmulPreferenceCreate,
            (cublasLtMatmulPreference_t * preference),
            *preference = new cublasLtMatmulPreferenceOpaque_t{})

PLAYED_DONE(cublasStatus_t, cublasLtMatmulPreferenceDestroy,
            (cublasLtMatmulPreference_t preference), delete preference)

/// One algorithm, which needs no workspace.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = std::min(wanted, 1);
  std::fill_n(results, *found, cublasLtMatmulHeuristicResult_t{});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  *result = {};
  result->algo = *algorithm;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void*,
                              const void*, cublasLtMatrixLayout_t a, const void*,
                              cublasLtMatrixLayout_t, const void*, const void*,
                              cublasLtMatrixLayout_t, void* result, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t*, void*, std::size_t,
                              cudaStream_t stream) {
  const auto& is = held<Product>(product);
  const auto& left = held<Matrix>(a);
  const auto& out = held<Matrix>(d);
  const bool has_gradient = (is.epilogue & kBiasGradient) != 0;
  played::issue(
      fmt::format("cublasLt:Matmul {}{} {}x{}x{} type {} batch {} epilogue {}", is.a ? 't' : 'n',
                  is.b ? 't' : 'n', out.rows, out.columns, is.a ? left.rows : left.columns,
                  static_cast<int>(left.type), out.batch, is.epilogue),
      stream, {result, has_gradient ? is.bias : nullptr, is.auxiliary, is.largest});
  return CUBLAS_STATUS_SUCCESS;
}
}
