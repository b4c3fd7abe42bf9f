// cuBLASLt: each product is told with its sizes and epilogue, and its results are not known.
#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "capture/played/issue.h"

struct cublasLtContext {};

namespace {

// What lies in the memory of the library's opaque types.
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

/// Keeps what says something about sizes or results.
void tell(Product& product, cublasLtMatmulDescAttributes_t attribute, const void* value,
          std::size_t bytes) {
  const std::map<cublasLtMatmulDescAttributes_t, void*> fields = {
      {CUBLASLT_MATMUL_DESC_TRANSA, &product.a},
      {CUBLASLT_MATMUL_DESC_TRANSB, &product.b},
      {CUBLASLT_MATMUL_DESC_EPILOGUE, &product.epilogue},
      {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &product.bias},
      {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &product.auxiliary},
      {CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, &product.largest}};
  if (const auto found = fields.find(attribute); found != fields.end()) {
    std::memcpy(found->second, value, bytes);
  }
}

void tell(Matrix& matrix, cublasLtMatrixLayoutAttribute_t attribute, const void* value) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) {
    std::memcpy(&matrix.batch, value, sizeof matrix.batch);
  }
}

/// Of what an epilogue writes beside the product.
constexpr int kBiasGradient = (CUBLASLT_EPILOGUE_DRELU_BGRAD & ~CUBLASLT_EPILOGUE_DRELU) |
                              CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB;

}  // namespace

#define PLAYED_CUBLASLT(name, parameters, ...) \
  PLAYED_DONE(cublasStatus_t, cublasLt##name, parameters, __VA_ARGS__)

extern "C" {

std::size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}
PLAYED_CUBLASLT(Create, (cublasLtHandle_t * handle), *handle = new cublasLtContext)
PLAYED_CUBLASLT(Destroy, (cublasLtHandle_t handle), delete handle)
PLAYED_CUBLASLT(MatmulDescCreate,
                (cublasLtMatmulDesc_t * product, cublasComputeType_t, cudaDataType_t),
                held<Product>(*product = new cublasLtMatmulDescOpaque_t) = {})
PLAYED_CUBLASLT(MatmulDescDestroy, (cublasLtMatmulDesc_t product), delete product)
PLAYED_CUBLASLT(MatmulDescSetAttribute,
                (cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
                 const void* value, std::size_t bytes),
                tell(held<Product>(product), attribute, value, bytes))
PLAYED_CUBLASLT(MatrixLayoutCreate,
                (cublasLtMatrixLayout_t * matrix, cudaDataType type, std::uint64_t rows,
                 std::uint64_t columns, std::int64_t),
                held<Matrix>(*matrix = new cublasLtMatrixLayoutOpaque_t) = {type, 1, rows, columns})
PLAYED_CUBLASLT(MatrixLayoutDestroy, (cublasLtMatrixLayout_t matrix), delete matrix)
PLAYED_CUBLASLT(MatrixLayoutSetAttribute,
                (cublasLtMatrixLayout_t matrix, cublasLtMatrixLayoutAttribute_t attribute,
                 const void* value, std::size_t),
                tell(held<Matrix>(matrix), attribute, value))
PLAYED_CUBLASLT(MatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference),
                *preference = new cublasLtMatmulPreferenceOpaque_t{})
PLAYED_CUBLASLT(MatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference), delete preference)

/// One algorithm, which needs no workspace.
PLAYED_CUBLASLT(MatmulAlgoGetHeuristic,
                (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                 cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                 cublasLtMatmulPreference_t, int wanted, cublasLtMatmulHeuristicResult_t* results,
                 int* found),
                *found = std::min(wanted, 1);
                std::fill_n(results, *found, cublasLtMatmulHeuristicResult_t{}))

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
