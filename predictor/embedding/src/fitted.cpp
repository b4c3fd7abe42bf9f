#include "predictor/embedding/fitted.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "et_schema/base/error.h"
#include "predictor/fitting/errors_json.h"
#include "predictor/fitting/least_squares.h"

namespace understudy::predictor {
namespace {

constexpr std::size_t kFolds = 5;

double hits_of(const EmbeddingTable& table, double batch, double cache_bytes) {
  const double lookups = batch * table.pooling;
  if (table_bytes(table) <= cache_bytes) {
    return lookups;
  }
  const ReuseShares shares = shares_of(table, batch);
  // The distinct rows cannot exceed the table's. If they would, each row is read more often.
  const double met = std::min(lookups / mean_reuse(shares), static_cast<double>(table.rows));
  const double times = met > 0 ? lookups / (met * mean_reuse(shares)) : 1;
  double left = cache_bytes / table_bytes(table) * static_cast<double>(table.rows);
  double hits = 0;
  for (std::size_t bin = kReuseBins; bin-- > 0 && left > 0;) {
    const double kept = std::min(left, met * shares[bin]);
    hits += kept * (times * bin_times(bin) - 1);  // the first read misses
    left -= kept;
  }
  return std::min(hits, lookups);
}

using Calls = std::vector<const EmbeddingRow*>;

std::vector<double> terms_of_call(const EmbeddingRow& row, double cache_bytes) {
  EmbeddingTerms sum{};
  for (const EmbeddingTable& table : row.call.tables) {
    const EmbeddingTerms terms = terms_of(table, static_cast<double>(row.call.batch), cache_bytes);
    for (std::size_t i = 0; i < kEmbeddingTerms; ++i) {
      sum[i] += terms[i];
    }
  }
  sum[0] = 1;
  return {sum.begin(), sum.end()};
}

double dot(const auto& a, const auto& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Coefficients, and |ln error| of each row.
struct TrimmedFit {
  std::vector<double> ns;
  std::vector<double> scores;
};

/// Minimizes errors relative to predictions. The first ones are the measurements, which alone are
/// biased to short times. Drops the worst tenth of rows, because other load on the machine makes
/// single rows many times longer.
TrimmedFit trimmed_fit(const DesignMatrix& design, const std::vector<double>& times) {
  constexpr int kRounds = 4;
  std::vector<double> predicted = times;
  TrimmedFit fit{{}, std::vector<double>(times.size())};
  for (int round = 0; round < kRounds; ++round) {
    const double worst = conformal_width(fit.scores);
    DesignMatrix kept;
    std::vector<double> shares;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (fit.scores[i] <= worst) {
        kept.push_back(design[i]);
        std::ranges::for_each(kept.back(), [&](double& term) { term /= predicted[i]; });
        shares.push_back(times[i] / predicted[i]);
      }
    }
    fit.ns = nonnegative_least_squares(kept, shares);
    for (std::size_t i = 0; i < times.size(); ++i) {
      predicted[i] = dot(design[i], fit.ns);
      fit.scores[i] = std::abs(std::log(predicted[i] / times[i]));
    }
  }
  return fit;
}

/// Fits the coefficients with the best cache size.
EmbeddingFit fit_calls(const Calls& calls) {
  constexpr int kSmallest = 15;  // 32 KiB, a core's L1 cache
  constexpr int kLargest = 30;   // 1 GiB, larger than any cache
  std::vector<double> times;
  for (const EmbeddingRow* call : calls) {
    times.push_back(call->median_ns);
  }
  EmbeddingFit best;
  double least = std::numeric_limits<double>::infinity();
  for (int log2_bytes = kSmallest; log2_bytes <= kLargest; ++log2_bytes) {
    const double cache_bytes = std::exp2(log2_bytes);
    DesignMatrix design;
    for (const EmbeddingRow* call : calls) {
      design.push_back(terms_of_call(*call, cache_bytes));
    }
    const TrimmedFit fit = trimmed_fit(design, times);
    const double score = std::accumulate(fit.scores.begin(), fit.scores.end(), 0.0);
    if (score < least) {
      least = score;
      std::ranges::copy(fit.ns, best.ns.begin());
      best.cache_bytes = cache_bytes;
    }
  }
  return best;
}

/// Predicts each fifth of the rows from the others, interleaved so that sweeps spread over folds.
void leave_out(const Calls& calls, EmbeddingFit& fit) {
  std::vector<double> residuals;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    Calls kept;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (i % kFolds != fold) {
        kept.push_back(calls[i]);
      }
    }
    const EmbeddingFit fitted = fit_calls(kept);
    for (std::size_t i = fold; i < calls.size(); i += kFolds) {
      const double ns = dot(terms_of_call(*calls[i], fitted.cache_bytes), fitted.ns);
      residuals.push_back(-std::log(ns / calls[i]->median_ns));
    }
  }
  fit.left_out = errors_of(residuals);
  fit.width = conformal_width(residuals);
}

EmbeddingFit fit_direction(const std::vector<EmbeddingRow>& rows, Direction direction) {
  Calls calls;
  for (const EmbeddingRow& row : rows) {
    if (row.call.direction == direction) {
      calls.push_back(&row);
    }
  }
  if (calls.size() < kLeastEmbeddingRows) {
    const bool is_forward = direction == Direction::kForward;
    throw et_schema::bad_input("too few rows of embedding tables",
                               {.field = is_forward ? "forward" : "backward",
                                .expected = std::to_string(kLeastEmbeddingRows) + " rows or more",
                                .got = std::to_string(calls.size()),
                                .hint = "give more rows (docs/formats.md, \"Embedding rows\")"});
  }
  EmbeddingFit fit = fit_calls(calls);
  leave_out(calls, fit);
  return fit;
}

}  // namespace

EmbeddingTerms terms_of(const EmbeddingTable& table, double batch, double cache_bytes) {
  const double lookups = batch * table.pooling;
  const double row_bytes = table_bytes(table) / static_cast<double>(table.rows);
  const double misses = lookups - hits_of(table, batch, cache_bytes);
  return {0, 1, batch, lookups, lookups * row_bytes, misses, misses * row_bytes};
}

EmbeddingModel fit_embedding(const std::vector<EmbeddingRow>& rows) {
  EmbeddingModel model;
  model.forward = fit_direction(rows, Direction::kForward);
  model.backward = fit_direction(rows, Direction::kBackward);
  for (const EmbeddingRow& row : rows) {
    model.most_load_ns = std::max(model.most_load_ns, row.median_ns);
  }
  return model;
}

EmbeddingCosts embedding_costs(const EmbeddingModel& model) {
  const auto load = [model](const EmbeddingTable& table, double batch, Direction direction) {
    const EmbeddingFit& fit = direction == Direction::kForward ? model.forward : model.backward;
    return dot(terms_of(table, batch, fit.cache_bytes), fit.ns);
  };
  const auto time = [model](double load, Direction direction) -> Estimate {
    if (!(load > 0)) {
      return {};
    }
    const EmbeddingFit& fit = direction == Direction::kForward ? model.forward : model.backward;
    const bool is_beyond = load > model.most_load_ns;
    constexpr double kBeyond = 1.5;
    Estimate time =
        within(fit.ns[0] + load, fit.width * (is_beyond ? kBeyond : 1), "embedding by reuse");
    time.extrapolated = is_beyond;
    return time;
  };
  return {load, time};
}

using et_schema::JsonField;
using et_schema::kNotNegative;
using et_schema::SameAs;

void members(auto& json, SameAs<EmbeddingFit> auto& fit) {
  constexpr std::array<const char*, kEmbeddingTerms> kTerms = {
      "call", "table", "bag", "lookup", "looked_up_byte", "miss", "missed_byte"};
  json.object("ns", [&fit, &kTerms](auto& ns) {
    for (std::size_t i = 0; i < kTerms.size(); ++i) {
      ns(kTerms[i], fit.ns[i], kNotNegative);
    }
  });
  json("cache_bytes", fit.cache_bytes, kNotNegative);
  json("width", fit.width, kNotNegative);
  json("left_out", fit.left_out);
}

static void check_record(const JsonField& field, EmbeddingFit& fit) {
  if (fit.ns == EmbeddingTerms{}) {
    field.at("ns").fail("a coefficient above 0", "none");
  }
}

void members(auto& json, SameAs<EmbeddingModel> auto& model) {
  json("forward", model.forward);
  json("backward", model.backward);
  json("most_load_ns", model.most_load_ns, kNotNegative);
}

std::string to_json(const EmbeddingModel& model) {
  return et_schema::json_of(model).dump();
}

EmbeddingModel embedding_from_json(const JsonField& section) {
  return et_schema::read_json<EmbeddingModel>(section);
}

}  // namespace understudy::predictor
