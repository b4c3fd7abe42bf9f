#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "predictor/embedding/costs.h"
#include "predictor/embedding/rows.h"
#include "predictor/fitting/errors.h"

namespace understudy::predictor {

/// Terms of a call's time, which is a weighted sum of them: 1 for the call, its tables, bags,
/// lookups, bytes looked up, lookups that miss the cache, and their bytes.
inline constexpr std::size_t kEmbeddingTerms = 7;
using EmbeddingTerms = std::array<double, kEmbeddingTerms>;

/// Model of one direction: coefficients of the terms, all at least 0.
struct EmbeddingFit {
  EmbeddingTerms ns{};
  double cache_bytes = 0;  ///< cache size with the smallest error
  double width = 0;        ///< 90 % quantile of |ln error| on held-out rows
  Errors left_out;         ///< each fifth of the rows predicted by a fit to the others
  bool operator==(const EmbeddingFit&) const = default;
};

/// Fitted times of a platform's embedding tables.
struct EmbeddingModel {
  EmbeddingFit forward;
  EmbeddingFit backward;
  double most_load_ns = 0;  ///< the rows' largest load; larger loads are extrapolated
  bool operator==(const EmbeddingModel&) const = default;
};

/// Returns a table's terms, without the 1 for the call. Assumes that the cache holds the rows that
/// a batch reads most often, according to the table's reuse shares.
[[nodiscard]] EmbeddingTerms terms_of(const EmbeddingTable& table, double batch,
                                      double cache_bytes);

/// Minimum number of rows to fit a direction.
inline constexpr std::size_t kLeastEmbeddingRows = 20;

/// Fits each direction to its rows by least squares of relative errors, without outliers. Throws
/// Error (bad input) if a direction has fewer than kLeastEmbeddingRows rows.
[[nodiscard]] EmbeddingModel fit_embedding(const std::vector<EmbeddingRow>& rows);

/// Returns costs by the model. Loads are nanoseconds of the terms.
[[nodiscard]] EmbeddingCosts embedding_costs(const EmbeddingModel& model);

/// Writes the section `embedding` of a platform file (docs/formats.md): one JSON object.
[[nodiscard]] std::string to_json(const EmbeddingModel& model);

/// Reads the section. Throws Error (bad input) with the field.
[[nodiscard]] EmbeddingModel embedding_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
