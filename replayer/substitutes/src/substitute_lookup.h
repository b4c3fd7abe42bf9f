#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "replayer/substitutes/substitutes.h"
#include "substitute_inputs.h"

namespace understudy::replayer {

/// How fbgemm's lookups combine the rows of a bag.
enum class Pooling : std::int64_t { kSum = 0, kMean = 1, kNone = 2 };

/// One feature: a table in the flat weights, and the part of the indices that looks into it.
struct LookupFeature {
  std::int64_t weights_offset = 0;  ///< first element of the table
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  std::int64_t column = 0;  ///< of the output, where the feature begins
  std::int64_t first_index = 0;
  std::int64_t indices = 0;
};

/// An fbgemm table batched embedding lookup, read from the recorded arguments and checked: every
/// range lies within its tensor, so that nothing outside of it can be touched.
struct Lookup {
  Tensor weights;
  Tensor indices;
  Tensor offsets;         ///< features * batch + 1
  Tensor indice_weights;  ///< undefined: 1
  Pooling pooling = Pooling::kSum;
  std::int64_t batch = 0;
  std::int64_t total_dim = 0;
  at::ScalarType output_type = at::kFloat;
  std::vector<LookupFeature> features;

  /// The names that read() takes, in order.
  static constexpr std::string_view kArguments =
      "dev_weights|host_weights|weights uvm_weights? host_weights? weights_offsets D_offsets "
      "total_D? indices offsets pooling_mode indice_weights? output_dtype?";
  /// Throws c10::Error with what does not fit.
  [[nodiscard]] static Lookup read(Inputs& in);

  /// The table of a feature as a matrix of rows.
  [[nodiscard]] Tensor table(const LookupFeature& feature) const;
  /// The feature's indices; its offsets, from 0.
  [[nodiscard]] Tensor feature_indices(const LookupFeature& feature) const;
  [[nodiscard]] Tensor feature_offsets(std::size_t feature) const;
  /// What each index's row is multiplied with; undefined where that is 1 for all.
  [[nodiscard]] Tensor feature_weights(std::size_t feature) const;
};

/// The output of a lookup.
[[nodiscard]] Tensor look_up(const Lookup& lookup);

/// Rows of one table that a step reached, each once, with their summed gradients.
struct RowGradients {
  std::size_t feature = 0;  ///< the first of those that share the table
  Tensor rows;
  Tensor gradients;
};
[[nodiscard]] std::vector<RowGradients> row_gradients(const Lookup& lookup,
                                                      const Tensor& grad_output);

/// Integers of any device and dtype, on the host.
[[nodiscard]] std::vector<std::int64_t> to_host(const Tensor& integers);

}  // namespace understudy::replayer
