#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <span>
#include <unordered_set>

#include "et_schema/model/program.h"
#include "replayer/values/random.h"

namespace understudy::replayer {

/// The content of a tensor that no rule speaks of, chosen so that chains of real data flow stay
/// finite and normal:
/// - floats of two dimensions and more: normal, mean 0, deviation 1/sqrt(fan-in) within [1/64, 1];
///   fan-in is the product of all sizes but the first where the trailing ones look like a
///   convolution's kernel (each at most 11), else the last size;
/// - floats of one dimension: uniform in [0.5, 1), which is right for scales, variances, saved
///   deviations and probabilities and harmless as a bias; above 65,536 elements (flattened
///   parameters, embedding tables) normal with deviation 1/64;
/// - 0-dim tensors of any dtype: 1, neutral as factor and divisor (Python's scalars come as such);
/// - quantised numbers: the 256 nearest to the zero point; bits: any byte; float4: ones;
/// - other integers: 0; bool: true.
[[nodiscard]] et_schema::ValueRule default_rule(at::ScalarType dtype, at::IntArrayRef sizes);

/// Fills the tensor, whatever its strides, by the rule; element i counts in row-major order. Floats
/// that the dtype could only hold as subnormals become 0. Tensors that are not on the CPU are drawn
/// by their device where it can, else made on the CPU and copied. Throws Error (bad input) where
/// the rule cannot hold: integers that do not fit the dtype, an empty range, segments that do not
/// cover the tensor. Tensors that are not strided (sparse, opaque) or have no memory (meta) are
/// left alone; dtypes without an arithmetic of their own (quantised, bits, integers of less than a
/// byte) are filled as the numbers they are stored as.
void fill_tensor(const at::Tensor& tensor, const et_schema::ValueRule& rule, ValueKey key);

/// A sparse external as its content says, a pure function of the key; without elements where the
/// program tells no content. Where it was coalesced places that are drawn twice count once. n log n
/// in the elements.
[[nodiscard]] at::Tensor make_sparse(const et_schema::Slot& slot, const c10::TensorOptions& options,
                                     ValueKey key);

class Draws;

/// Seeds the parts of a huge, zero-mapped tensor that a program reaches, and remembers them. The
/// value of an element is that which fill_tensor would have given it.
class TableSeeder {
 public:
  /// `table` is contiguous, on the CPU, and made of rows of `row_elements` elements.
  TableSeeder(at::Tensor table, std::int64_t row_elements, et_schema::ValueRule rule, ValueKey key);

  /// Seeds those rows that were not seeded before. An index outside of the table throws Error (run
  /// failed); nothing is written then.
  void seed_rows(std::span<const std::int64_t> rows);
  /// Gives every row seeded so far its first content again.
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

/// What is wrong with the floating elements of a tensor. Complex ones count by their parts.
struct ValueHealth {
  bool nan = false;
  bool inf = false;
  bool subnormal = false;
  bool operator==(const ValueHealth&) const = default;
};

/// Looks at every element of a floating or complex tensor; other dtypes, undefined and empty
/// tensors are healthy, and zeros without memory, which derivatives are made of. Elements that
/// strides repeat are looked at once; of sparse tensors the values are. Subnormal numbers of half
/// and 8-bit floats are none: processors compute with them at the same speed, the most as floats,
/// of which they are normal numbers.
[[nodiscard]] ValueHealth scan(const at::Tensor& tensor);

/// True of a result of which an operator leaves elements as memory had them: nobody reads these.
/// `op` may have an overload.
[[nodiscard]] bool leaves_elements_unwritten(std::string_view op, std::size_t result);

}  // namespace understudy::replayer
