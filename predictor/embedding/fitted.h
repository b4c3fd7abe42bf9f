#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "predictor/embedding/costs.h"
#include "predictor/embedding/rows.h"
#include "predictor/fitting/errors.h"

namespace understudy::predictor {

/// What a call does, in numbers that its time is a sum over: 1 for the call, its tables, bags,
/// lookups, bytes looked up, lookups that miss the cache, their bytes.
inline constexpr std::size_t kEmbeddingTerms = 7;
using EmbeddingTerms = std::array<double, kEmbeddingTerms>;

/// One direction's times: coefficients of the terms, none below 0.
struct EmbeddingFit {
  EmbeddingTerms ns{};
  double cache_bytes = 0;  ///< that leave the least error
  double width = 0;        ///< |ln error|, 90 %, of rows that were left out
  Errors left_out;         ///< each row predicted by a fit to four fifths without it
  bool operator==(const EmbeddingFit&) const = default;
};

/// Times of a platform's embedding tables, fitted to rows.
struct EmbeddingModel {
  EmbeddingFit forward;
  EmbeddingFit backward;
  double most_load_ns = 0;  ///< of the rows: beyond it is extrapolated
  bool operator==(const EmbeddingModel&) const = default;
};

/// A table's terms but for the call's 1. The rows that a batch meets most often stay in the
/// cache: by the shares of reuse.
[[nodiscard]] EmbeddingTerms terms_of(const EmbeddingTable& table, double batch,
                                      double cache_bytes);

/// Fewer rows of a direction do not make a model.
inline constexpr std::size_t kLeastEmbeddingRows = 20;

/// Fits each direction to its rows, by least squares of relative errors without the outermost of
/// them. Throws Error (bad input): fewer than kLeastEmbeddingRows of a direction.
[[nodiscard]] EmbeddingModel fit_embedding(const std::vector<EmbeddingRow>& rows);

/// Answers by such a model: a load is nanoseconds of the terms.
[[nodiscard]] EmbeddingCosts embedding_costs(const EmbeddingModel& model);

/// The section `embedding` of a platform file (docs/formats.md): one JSON object.
[[nodiscard]] std::string to_json(const EmbeddingModel& model);

/// Reads it back. Throws Error (bad input) with the field.
[[nodiscard]] EmbeddingModel embedding_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
