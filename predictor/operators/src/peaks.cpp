#include <fmt/ranges.h>

#include <algorithm>

#include "kernel_load.h"
#include "predictor/operators/features.h"
#include "predictor/work/work.h"

namespace understudy::predictor {
namespace {

constexpr double kMebi = 1024.0 * 1024.0;

/// Returns the 99th percentile: a single row with too short a time must not decide.
double fast_rate(std::vector<double> rates, double otherwise) {
  constexpr double kShare = 0.99;
  std::ranges::sort(rates);
  if (rates.empty()) {
    return otherwise;
  }
  return rates[static_cast<std::size_t>(kShare * static_cast<double>(rates.size() - 1))];
}

}  // namespace

Card with_measured_peaks(Card card, const std::vector<const MeasuredCall*>& calls) {
  constexpr double kUnknownCacheBytes = 32 * kMebi;
  constexpr double kFlopsPerClock = 16;  // two products of eight floats, if nothing was measured
  constexpr double kBytesPerFlop = 0.1;
  std::vector<std::string> found;
  if (card.l2_bytes <= 0) {
    card.l2_bytes = kUnknownCacheBytes;
    found.emplace_back("cache");
  }
  if (card.processors <= 0) {
    card.processors = 1;
    found.emplace_back("processors");
  }
  std::vector<double> flops;
  std::vector<double> cold;
  std::vector<double> any;
  for (const MeasuredCall* call : calls) {
    const Work work = measured_work(call->call, call->counters);
    if (work.is_product && work.flops > 0) {
      flops.push_back(work.flops / call->time().median_ns * kNsPerS);
    } else if (bytes_of(work) > 0) {
      const double rate = bytes_of(work) / call->time().median_ns * kNsPerS;
      any.push_back(rate);
      if (bytes_of(work) > card.l2_bytes) {
        cold.push_back(rate);
      }
    }
  }
  if (card.flops <= 0) {
    const double guess = std::max(card.processors * card.clock_hz * kFlopsPerClock, 1e9);
    card.flops = fast_rate(flops, guess);
    found.emplace_back(flops.empty() ? "FLOPs guessed" : "FLOPs");
  }
  if (card.bandwidth_bytes_per_s <= 0) {
    const bool is_known = !cold.empty() || !any.empty();
    card.bandwidth_bytes_per_s =
        is_known ? fast_rate(cold.empty() ? any : cold, 0) : card.flops * kBytesPerFlop;
    found.emplace_back(is_known ? "bandwidth" : "bandwidth guessed");
  }
  if (!found.empty()) {
    card.source += fmt::format("{}{} from measured calls", card.source.empty() ? "" : "; ",
                               fmt::join(found, ", "));
  }
  return card;
}

}  // namespace understudy::predictor
