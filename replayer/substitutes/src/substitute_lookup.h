#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "replayer/substitutes/substitutes.h"
#include "substitute_inputs.h"

namespace understudy::replayer {

/// How fbgemm's lookups combine the rows of a bag.
enum class Pooling : std::int64_t { kSum = 0, kMean = 1, kNone = 2 };

/// One feature: its table in the flat weights, and its part of the indices.
struct LookupFeature {
  std::int64_t weights_offset = 0;  ///< first element of the table
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  std::int64_t column = 0;  ///< first column of the feature in the output
  std::int64_t first_index = 0;
  std::int64_t indices = 0;
};

/// An fbgemm table batched embedding lookup, read from the recorded arguments. All ranges are
/// checked to be within their tensors, so that no other memory can be accessed.
struct Lookup {
  Tensor weights;
  Tensor indices;
  Tensor offsets;         ///< features * batch + 1
  Tensor indice_weights;  ///< undefined: all 1
  Pooling pooling = Pooling::kSum;
  std::int64_t batch = 0;
  std::int64_t total_dim = 0;
  at::ScalarType output_type = at::kFloat;
  std::vector<LookupFeature> features;

  /// The arguments of read(), in order.
  static constexpr std::string_view kArguments =
      "dev_weights|host_weights|weights uvm_weights? host_weights? weights_offsets D_offsets "
      "total_D? indices offsets pooling_mode indice_weights? output_dtype?";
  /// Throws c10::Error, which names the arguments that do not fit.
  [[nodiscard]] static Lookup read(Inputs& in);

  /// Returns the table of a feature as a matrix of rows.
  [[nodiscard]] Tensor table(const LookupFeature& feature) const;
  /// Return the feature's indices, and its offsets, from 0.
  [[nodiscard]] Tensor feature_indices(const LookupFeature& feature) const;
  [[nodiscard]] Tensor feature_offsets(std::size_t feature) const;
  /// Returns the factor of each index's row; undefined if all are 1.
  [[nodiscard]] Tensor feature_weights(std::size_t feature) const;
};

[[nodiscard]] Tensor look_up(const Lookup& lookup);

/// Rows of one table that a step accessed, each once, with their summed gradients.
struct RowGradients {
  std::size_t feature = 0;  ///< the first feature of the table
  Tensor rows;
  Tensor gradients;
};
[[nodiscard]] std::vector<RowGradients> row_gradients(const Lookup& lookup,
                                                      const Tensor& grad_output);

}  // namespace understudy::replayer
