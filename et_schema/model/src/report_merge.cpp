#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/report.h"
#include "et_schema/model/report_fields.h"

namespace understudy::et_schema {
namespace {

constexpr std::size_t kMostMismatches = 100;
constexpr std::size_t kMostFindings = 20;

// Keeps the slower rank's value of each sample, for as many samples as both ranks have.
void slow_down(std::vector<double>& samples, const std::vector<double>& others) {
  samples.resize(std::min(samples.size(), others.size()));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = std::max(samples[i], others[i]);
  }
}

std::vector<double> slowest_samples(const std::vector<RankReport>& ranks) {
  std::vector<double> slowest = ranks.front().iteration_ms.samples;
  for (const RankReport& rank : ranks) {
    slow_down(slowest, rank.iteration_ms.samples);
  }
  return slowest;
}

// Sums the rows of equal name and note; the most frequent is first.
template <typename Rows>
std::vector<NamedCount> merge_rows(const std::vector<RankReport>& ranks, Rows rows_of) {
  std::map<std::pair<std::string, std::string>, NamedCount> sums;
  for (const RankReport& rank : ranks) {
    for (const NamedCount& row : rows_of(rank)) {
      sums.try_emplace({row.name, row.note}, NamedCount{row.name, 0, row.note})
          .first->second.count += row.count;
    }
  }
  return largest_first(std::move(sums), &NamedCount::count);
}

Coverage merge_coverage(const std::vector<RankReport>& ranks) {
  Coverage total;
  total.time = ranks.front().coverage.time;
  total.substituted_time = ranks.front().coverage.substituted_time;
  total.dropped_time = ranks.front().coverage.dropped_time;
  total.other_time = ranks.front().coverage.other_time;
  std::vector<std::vector<DeviceTime>> device_times;
  for (const RankReport& rank : ranks) {
    device_times.push_back(rank.coverage.device_time);
  }
  total.device_time = sum_of(device_times);
  for (const RankReport& rank : ranks) {
    total.selected += rank.coverage.selected;
    total.replayed += rank.coverage.replayed;
    total.exact += rank.coverage.exact;
    const bool both_known = total.time && rank.coverage.time;
    if (!both_known) {
      total.other_time.clear();
    } else if (*rank.coverage.time < *total.time) {
      total.other_time = rank.coverage.other_time;
    }
    total.time = both_known ? std::min(total.time, rank.coverage.time) : std::nullopt;
    for (const auto share : {&Coverage::substituted_time, &Coverage::dropped_time}) {
      const bool is_known = total.*share && rank.coverage.*share;
      total.*share = is_known ? std::max(total.*share, rank.coverage.*share) : std::nullopt;
    }
  }
  if (total.selected != 0) {
    total.count = static_cast<double>(total.replayed) / static_cast<double>(total.selected);
  }
  for (const CoverageList& list : kCoverageLists) {
    total.*list.rows = merge_rows(
        ranks, [&list](const RankReport& rank) -> const auto& { return rank.coverage.*list.rows; });
  }
  return total;
}

std::vector<OperatorTime> merge_operators(const std::vector<RankReport>& ranks) {
  std::map<std::pair<std::string, std::string>, OperatorTime> rows;
  for (const RankReport& rank : ranks) {
    for (const OperatorTime& row : rank.operators) {
      const auto [place, is_new] = rows.try_emplace({row.name, row.op_class}, row);
      if (is_new) {
        continue;
      }
      OperatorTime& merged = place->second;
      merged.count += row.count;
      merged.ms = std::max(merged.ms, row.ms);
      slow_down(merged.samples_ms, row.samples_ms);
      slow_down(merged.device_samples_ms, row.device_samples_ms);
      merged.recorded_ms = std::max(merged.recorded_ms, row.recorded_ms);
      merged.device_ms = std::max(merged.device_ms, row.device_ms);
      merged.recorded_device_ms = std::max(merged.recorded_device_ms, row.recorded_device_ms);
      merged.counters = combined({{merged.counters, row.counters}});
      merged.recorded_counters = combined({{merged.recorded_counters, row.recorded_counters}});
    }
  }
  return largest_first(std::move(rows), &OperatorTime::ms);
}

// Returns true for collectives whose sizes differ from rank to rank by design.
bool has_uneven_parts(const std::string& name) {
  return name == "all_to_allv" || name == "all_gatherv" || name == "reduce_scatterv";
}

// Returns true if the duration of a call on its last rank is the time to move its bytes.
bool ends_together(std::string_view name) {
  const std::optional<CommKind> kind = kind_of_recorded_name(name);
  return kind && traits(*kind).in_step;
}

// One collective's rows, one per rank.
using RankRows = std::vector<const CollectiveTime*>;

// Returns true if sample i of each rank is the same call in the same pass.
bool has_the_same_calls(const RankRows& rows) {
  const CollectiveTime& first = *rows.front();
  return rows.size() == static_cast<std::size_t>(first.group_size) && rows.size() > 1 &&
         !first.samples_us.empty() && std::ranges::all_of(rows, [&](const CollectiveTime* row) {
           return row->samples_us.size() == first.samples_us.size();
         });
}

// Splits the time of calls into waiting and moving bytes. The last rank to join does not wait: its
// call is the shortest, and moves bytes throughout.
void tell_waiting_apart(const RankRows& rows, CollectiveTime& merged) {
  if (!ends_together(merged.name) || !has_the_same_calls(rows)) {
    return;
  }
  std::vector<double> waiting_us;
  for (std::size_t i = 0; i < rows.front()->samples_us.size(); ++i) {
    const auto [last, first] = std::ranges::minmax(
        rows, {}, [i](const CollectiveTime* row) { return row->samples_us[i]; });
    merged.moving_samples_us.push_back(last->samples_us[i]);
    waiting_us.push_back(first->samples_us[i] - last->samples_us[i]);
  }
  merged.moving_us = iteration_stats(merged.moving_samples_us).median;
  merged.waiting_us = iteration_stats(std::move(waiting_us)).median;
}

// Merges arrivals without comparing the ranks' clocks: each rank reports its arrival relative to
// the iteration's common begin.
void tell_arrivals(const std::vector<int>& ranks, const RankRows& rows, CollectiveTime& merged) {
  merged.exposed_us = merged.in_flight_us = merged.arrival_us = std::nullopt;
  const bool all_tell = std::ranges::all_of(
      rows, [](const CollectiveTime* row) { return row->arrival_us.has_value(); });
  for (const CollectiveTime* row : rows) {
    merged.exposed_us = std::max(merged.exposed_us, row->exposed_us);
    merged.in_flight_us = std::max(merged.in_flight_us, row->in_flight_us);
  }
  if (all_tell && rows.size() == static_cast<std::size_t>(merged.group_size) && rows.size() > 1) {
    const auto [first, last] = std::ranges::minmax_element(
        rows, {}, [](const CollectiveTime* row) { return row->arrival_us; });
    merged.arrival_spread_us = *(*last)->arrival_us - *(*first)->arrival_us;
    merged.last_rank = ranks[static_cast<std::size_t>(last - rows.begin())];
  }
}

CollectiveTime merge_calls(const std::vector<int>& ranks, const RankRows& rows) {
  CollectiveTime merged = *rows.front();
  merged.count = 0;
  double slowest_bytes = static_cast<double>(merged.bytes);
  for (const CollectiveTime* row : rows) {
    merged.count += row->count;
    merged.bytes = std::max(merged.bytes, row->bytes);
    if (row->median_us && (!merged.median_us || *row->median_us > *merged.median_us)) {
      merged.median_us = row->median_us;
      merged.algbw_gb_per_s = row->algbw_gb_per_s;
      merged.busbw_gb_per_s = row->busbw_gb_per_s;
      merged.samples_us = row->samples_us;
      slowest_bytes = static_cast<double>(row->bytes);
    }
  }
  // Bandwidths must be of the job's bytes, not of the slowest rank's part.
  const double larger = slowest_bytes > 0 ? static_cast<double>(merged.bytes) / slowest_bytes : 1;
  for (std::optional<double>* bandwidth : {&merged.algbw_gb_per_s, &merged.busbw_gb_per_s}) {
    if (*bandwidth) {
      **bandwidth *= larger;
    }
  }
  tell_waiting_apart(rows, merged);
  tell_arrivals(ranks, rows, merged);
  return merged;
}

using Key = std::tuple<std::string, std::string, int>;  // name, group, its size
Key key_of(const CollectiveTime& row) {
  return {row.name, row.group, row.group_size};
}

// Returns the uneven collectives whose rows can be paired over ranks, although the size of a call
// differs by rank. If all ranks have equally many rows with equal counts, rows are paired in order
// of their size. Otherwise they cannot be paired, and each size remains a row.
std::set<Key> paired_by_rank_of_size(const std::vector<RankReport>& ranks) {
  std::map<Key, std::set<std::vector<std::uint64_t>>> counts;
  for (const RankReport& rank : ranks) {
    std::map<Key, std::map<std::uint64_t, std::uint64_t>> own;
    for (const CollectiveTime& row : rank.collectives) {
      own[key_of(row)][row.bytes] += row.count;
    }
    for (const auto& [key, sizes] : own) {
      std::vector<std::uint64_t> of_sizes;
      for (const auto& [bytes, count] : sizes) {
        of_sizes.push_back(count);
      }
      counts[key].insert(std::move(of_sizes));
    }
  }
  std::set<Key> paired;
  for (const auto& [key, lists] : counts) {
    if (has_uneven_parts(std::get<0>(key)) && lists.size() == 1) {
      paired.insert(key);
    }
  }
  return paired;
}

/// Merges the rows of one collective, group and size over all ranks; uneven rows of a group become
/// one row with the largest size. Splits times into waiting and moving bytes if all ranks of the
/// group have the row.
std::vector<CollectiveTime> merge_collectives(const std::vector<RankReport>& ranks) {
  const std::set<Key> paired = paired_by_rank_of_size(ranks);
  struct OfRanks {
    std::vector<int> ranks;
    RankRows rows;
  };
  std::map<std::tuple<std::string, std::string, std::uint64_t, int>, OfRanks> rows;
  for (const RankReport& rank : ranks) {
    std::map<Key, std::set<std::uint64_t>> sizes;
    for (const CollectiveTime& row : rank.collectives) {
      sizes[key_of(row)].insert(row.bytes);
    }
    for (const CollectiveTime& row : rank.collectives) {
      const std::set<std::uint64_t>& own = sizes[key_of(row)];
      const auto place =
          static_cast<std::uint64_t>(std::distance(own.begin(), own.find(row.bytes)));
      const std::uint64_t which = paired.contains(key_of(row)) ? place : row.bytes;
      OfRanks& alike = rows[{row.name, row.group, which, row.group_size}];
      alike.ranks.push_back(rank.rank);
      alike.rows.push_back(&row);
    }
  }
  std::vector<CollectiveTime> merged;
  merged.reserve(rows.size());
  for (const auto& [key, of_ranks] : rows) {
    merged.push_back(merge_calls(of_ranks.ranks, of_ranks.rows));
  }
  return merged;
}

std::uint64_t of_both(OverRanks rule, std::uint64_t a, std::uint64_t b) {
  switch (rule) {
    case OverRanks::kSum:
      return a + b;
    case OverRanks::kSmallest:
      return std::min(a, b);
    case OverRanks::kLargest:
    case OverRanks::kFarthest:
      break;
  }
  return std::max(a, b);
}

std::optional<double> of_both(OverRanks rule, const std::optional<double>& a,
                              const std::optional<double>& b) {
  if (!a || !b) {
    const std::optional<double>& known = a ? a : b;
    return rule == OverRanks::kSum ? std::nullopt : known;
  }
  switch (rule) {
    case OverRanks::kSum:
      return *a + *b;
    case OverRanks::kSmallest:
      return std::min(*a, *b);
    case OverRanks::kFarthest:
      return std::abs(*b) > std::abs(*a) ? b : a;
    case OverRanks::kLargest:
      break;
  }
  return std::max(*a, *b);
}

template <typename Part, typename Rows>
void add_rows(Part& total, const Part& rank, const Rows& rows) {
  for (const auto& row : rows) {
    total.*row.value = of_both(row.over_ranks, total.*row.value, rank.*row.value);
  }
}

/// Merges a part of the report: each figure by its row, the rest from the first rank.
template <typename Part, typename... Tables>
Part merge_part(const std::vector<RankReport>& ranks, Part RunFigures::*part,
                const Tables&... tables) {
  Part total = ranks.front().*part;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    (add_rows(total, ranks[i].*part, tables), ...);
  }
  return total;
}

/// Adds the counters of all ranks. A source's state is the first rank's that could not count.
void merge_counters(const std::vector<RankReport>& ranks, RunFigures& total) {
  const auto of_ranks = [&ranks](auto counters_of) {
    std::vector<Counters> rows;
    std::ranges::transform(ranks, std::back_inserter(rows), counters_of);
    return combined(rows);
  };
  total.counters = of_ranks([](const RankReport& rank) { return rank.counters; });
  total.counter_spreads = of_ranks([](const RankReport& rank) { return rank.counter_spreads; });
  total.original.counters = of_ranks([](const RankReport& rank) { return rank.original.counters; });
  for (const RankReport& rank : ranks) {
    for (const auto& [source, state] : rank.counter_sources) {
      const auto [known, is_new] = total.counter_sources.try_emplace(source, state);
      if (!is_new && known->second == kCounted && state != kCounted) {
        known->second = fmt::format("rank {}: {}", rank.rank, state);
      }
    }
  }
}

void add_rank(RunFigures& total, const RankReport& rank) {
  const RunFigures& figures = rank;
  add_rows(total, figures, kOutputCounts);
  add_rows(total, figures, kOverheadFigures);
  add_rows(total, figures, kStartFigures);
  for (const OutputMismatch& mismatch : rank.mismatches) {
    if (total.mismatches.size() < kMostMismatches) {
      total.mismatches.push_back(mismatch);
    }
  }
  for (const ValueFinding& finding : rank.value_findings) {
    if (total.value_findings.size() < kMostFindings) {
      total.value_findings.push_back(finding);
    }
  }
  total.complete = total.complete && rank.complete;
  for (const auto& [name, count] : rank.losses) {
    total.losses[name] += count;
  }
}

}  // namespace

IterationStats iteration_stats(std::vector<double> samples_ms) {
  std::vector<double> sorted;
  sorted.reserve(samples_ms.size());
  std::copy_if(samples_ms.begin(), samples_ms.end(), std::back_inserter(sorted),
               [](double sample) { return std::isfinite(sample); });
  std::sort(sorted.begin(), sorted.end());
  IterationStats stats;
  stats.min = percentile(sorted, 0.0);
  stats.median = percentile(sorted, 0.5);
  stats.p10 = percentile(sorted, 0.1);
  stats.p90 = percentile(sorted, 0.9);
  stats.p99 = percentile(sorted, 0.99);
  if (const std::optional<MedianInterval> interval = median_interval(sorted)) {
    stats.median_low = interval->low;
    stats.median_high = interval->high;
  }
  stats.samples = std::move(samples_ms);
  return stats;
}

Report merge(std::vector<RankReport> ranks, std::vector<std::string> filters,
             Environment environment) {
  UNDERSTUDY_ASSERT(!ranks.empty());
  std::ranges::stable_sort(ranks, {}, &RankReport::rank);
  Report report;
  report.world_size = static_cast<int>(ranks.size());
  report.total.iteration_ms = iteration_stats(slowest_samples(ranks));
  report.total.coverage = merge_coverage(ranks);
  for (const RankReport& rank : ranks) {
    add_rank(report.total, rank);
  }
  report.total.values = merge_part(ranks, &RunFigures::values, kValueCounts);
  report.total.memory = merge_part(ranks, &RunFigures::memory, kMemoryCounts);
  report.total.pace = merge_part(ranks, &RunFigures::pace, kPaceCounts, kPaceFigures);
  report.total.waits = merge_part(ranks, &RunFigures::waits, kWaitCounts);
  report.total.graphs = merge_part(ranks, &RunFigures::graphs, kGraphCounts, kGraphFigures);
  report.total.graphs.prevented = merge_rows(
      ranks, [](const RankReport& rank) -> const auto& { return rank.graphs.prevented; });
  report.total.measurement = merge_part(ranks, &RunFigures::measurement, kMeasurementCounts);
  report.total.original = merge_part(ranks, &RunFigures::original, kOriginalFigures);
  merge_counters(ranks, report.total);
  report.total.communication = merge_part(ranks, &RunFigures::communication, kCommunicationFigures);
  for (auto samples : {&RunFigures::gap_samples_ms, &RunFigures::speed_probe_samples_ms,
                       &RunFigures::iteration_speed_probe_samples_ms}) {
    report.total.*samples = ranks.front().*samples;
    for (const RankReport& rank : ranks) {
      slow_down(report.total.*samples, rank.*samples);
    }
  }
  report.total.operators = merge_operators(ranks);
  report.total.collectives = merge_collectives(ranks);
  report.ranks = std::move(ranks);
  report.filters = std::move(filters);
  report.environment = std::move(environment);
  report.total.measurement.foreign_cpus = foreign_cpus(report);
  report.warnings = measurement_warnings(report);
  report.counters_against_original = counter_resemblance(report);
  return report;
}

}  // namespace understudy::et_schema
