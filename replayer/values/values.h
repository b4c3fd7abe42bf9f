#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <span>
#include <unordered_set>

#include "et_schema/model/program.h"
#include "replayer/values/random.h"

namespace understudy::replayer {

/// Returns the rule of a tensor that has none, chosen so that chains of operators stay finite and
/// normal:
/// - floats of two dimensions and more: normal, mean 0, deviation 1/sqrt(fan-in) within [1/64, 1];
///   fan-in is the product of all sizes but the first if the trailing ones look like a
///   convolution's kernel (each at most 11), else the last size;
/// - floats of one dimension: uniform in [0.5, 1), which suits scales, variances, saved deviations
///   and probabilities and is harmless as a bias; above 65,536 elements (flattened parameters,
///   embedding tables) normal with deviation 1/64;
/// - 0-dim tensors of any dtype: 1, neutral as factor and divisor (Python scalars are such
///   tensors);
/// - quantised numbers: the 256 nearest to the zero point; bits: any byte; float4: ones;
/// - other integers: 0; bool: true.
[[nodiscard]] et_schema::ValueRule default_rule(at::ScalarType dtype, at::IntArrayRef sizes);

/// Fills the tensor, of any strides, by the rule; element i counts in row-major order. Floats that
/// would be subnormal in the dtype become 0. Devices other than the CPU draw their tensors
/// themselves if they can; otherwise the content is made on the CPU and copied. Throws Error (bad
/// input) if the rule cannot hold: integers that exceed the dtype, an empty range, segments that do
/// not cover the tensor. Tensors that are not strided (sparse, opaque) or have no memory (meta) are
/// not changed. Dtypes without arithmetic (quantised, bits, integers below a byte) are filled as
/// the numbers that store them.
void fill_tensor(const at::Tensor& tensor, const et_schema::ValueRule& rule, ValueKey key);

/// Returns a sparse external with its recorded content, a pure function of the key; without
/// elements if the program has no content for it. In a coalesced tensor, places drawn twice count
/// once. O(n log n) in the elements.
[[nodiscard]] at::Tensor make_sparse(const et_schema::Slot& slot, const c10::TensorOptions& options,
                                     ValueKey key);

class Draws;

/// Seeds the parts of a huge, zero-mapped tensor that a program reaches, and records them. Elements
/// have the values that fill_tensor would write.
class TableSeeder {
 public:
  /// `table` must be contiguous, on the CPU, and consist of rows of `row_elements` elements.
  TableSeeder(at::Tensor table, std::int64_t row_elements, et_schema::ValueRule rule, ValueKey key);

  /// Seeds rows that are not seeded yet. Throws Error (run failed) for an index outside of the
  /// table; nothing is written then.
  void seed_rows(std::span<const std::int64_t> rows);
  /// Restores the initial content of all seeded rows.
  void restore();
  [[nodiscard]] std::int64_t seeded_rows() const {
    return static_cast<std::int64_t>(seeded_.size());
  }

 private:
  void write_row(const Draws& draws, std::int64_t row);

  at::Tensor table_;
  std::int64_t row_elements_;
  et_schema::ValueRule rule_;
  ValueKey key_;
  std::unordered_set<std::int64_t> seeded_;
};

/// Findings in the floating elements of a tensor. The parts of complex elements count separately.
struct ValueHealth {
  bool nan = false;
  bool inf = false;
  bool subnormal = false;
  bool operator==(const ValueHealth&) const = default;
};

/// Checks every element of a floating or complex tensor. Other dtypes, undefined and empty tensors,
/// and zeros without memory (from autograd) count as healthy. Elements repeated by strides are
/// checked once; of a sparse tensor, the values are checked. Subnormal half and 8-bit floats do not
/// count: most processors compute with them as float, where they are normal numbers.
[[nodiscard]] ValueHealth scan(const at::Tensor& tensor);

/// Returns true for a result whose elements an operator leaves uninitialised and nothing reads.
/// `op` may have an overload.
[[nodiscard]] bool leaves_elements_unwritten(std::string_view op, std::size_t result);

}  // namespace understudy::replayer
