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
#include "et_schema/model/report_figures.h"

namespace understudy::et_schema {
namespace {

constexpr std::size_t kMostMismatches = 100;
constexpr std::size_t kMostFindings = 20;

// One figure's values, or one record, of all ranks.
template <typename Value>
using OfRanks = std::vector<const Value*>;

// Keeps the slower rank's value of each sample, for as many samples as all ranks have.
std::vector<double> merged(LargestOfRanks /*rule*/, const OfRanks<std::vector<double>>& ranks) {
  std::vector<double> slowest = *ranks.front();
  for (const std::vector<double>* const samples : ranks) {
    slowest.resize(std::min(slowest.size(), samples->size()));
    std::ranges::transform(slowest, *samples, slowest.begin(), std::ranges::max);
  }
  return slowest;
}

// Sums the rows of equal name and note; the most frequent is first.
std::vector<NamedCount> merged(SumOfRanks /*rule*/, const OfRanks<std::vector<NamedCount>>& ranks) {
  std::map<std::pair<std::string, std::string>, NamedCount> sums;
  for (const std::vector<NamedCount>* const rows : ranks) {
    for (const NamedCount& row : *rows) {
      sums.try_emplace({row.name, row.note}, NamedCount{row.name, 0, row.note})
          .first->second.count += row.count;
    }
  }
  return largest_first(std::move(sums), &NamedCount::count);
}

std::vector<ClassWork> merged(SumOfRanks /*rule*/, const OfRanks<std::vector<ClassWork>>& ranks) {
  std::map<std::pair<std::string, std::string>, ClassWork> sums;
  for (const std::vector<ClassWork>* const rows : ranks) {
    for (const ClassWork& row : *rows) {
      ClassWork& sum =
          sums.try_emplace({row.op_class, row.dtype}, row.op_class, row.dtype).first->second;
      sum.gflop += row.gflop;
      sum.recomputed_gflop += row.recomputed_gflop;
      sum.bytes += row.bytes;
    }
  }
  return largest_first(std::move(sums), &ClassWork::gflop);
}

Counters merged(SumOfRanks /*rule*/, const OfRanks<Counters>& ranks) {
  std::vector<Counters> rows;
  std::ranges::transform(ranks, std::back_inserter(rows), [](const auto* row) { return *row; });
  return combined(rows);
}

using Losses = std::map<std::string, std::uint64_t>;
Losses merged(SumOfRanks /*rule*/, const OfRanks<Losses>& ranks) {
  Losses sums;
  for (const Losses* const losses : ranks) {
    for (const auto& [name, count] : *losses) {
      sums[name] += count;
    }
  }
  return sums;
}

template <typename Row>
std::vector<Row> merged(RowsOfRanks /*rule*/, const OfRanks<std::vector<Row>>& ranks) {
  std::vector<Row> all;
  for (const std::vector<Row>* const rows : ranks) {
    all.insert(all.end(), rows->begin(), rows->end());
  }
  return all;
}

template <typename Number>
Number of_both(SumOfRanks /*rule*/, Number a, Number b) {
  return a + b;
}
template <typename Number>
Number of_both(LargestOfRanks /*rule*/, Number a, Number b) {
  return std::max(a, b);
}
template <typename Number>
Number of_both(SmallestOfRanks /*rule*/, Number a, Number b) {
  return std::min(a, b);
}
double of_both(FarthestOfRanks /*rule*/, double a, double b) {
  return std::abs(b) > std::abs(a) ? b : a;
}
template <typename Rule>
std::optional<double> of_known(Rule rule, const std::optional<double>& a,
                               const std::optional<double>& b) {
  if (a && b) {
    return of_both(rule, *a, *b);
  }
  return std::same_as<Rule, SumOfRanks> ? std::nullopt : a ? a : b;
}

template <typename Rule, typename Value>
Value merged(Rule rule, const OfRanks<Value>& ranks) {
  Value value = *ranks.front();
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if constexpr (std::same_as<Value, std::optional<double>>) {
      value = of_known(rule, value, *ranks[i]);
    } else {
      value = of_both(rule, value, *ranks[i]);
    }
  }
  return value;
}

// The addresses of a record's members, in the order of their description.
class Places : public EachMember<Places> {
 public:
  void operator()(const char* /*key*/, const auto& value, const auto&... /*how*/) {
    places_.push_back(&value);
  }
  template <typename Member>
  [[nodiscard]] const Member* at(std::size_t place) const {
    return static_cast<const Member*>(places_[place]);
  }

 private:
  std::vector<const void*> places_;
};

template <typename T>
concept Record = requires(Places& walk, const T& record) {
  members(walk, record);
};

template <Record Part>
Part merged(const OfRanks<Part>& ranks);

// Merges each member of the records by its rule. Without one the first rank's stays.
class Merger : public EachMember<Merger> {
 public:
  explicit Merger(std::vector<Places> ranks) : ranks_(std::move(ranks)) {}

  template <typename Member, typename... How>
  void operator()(const char* /*key*/, Member& member, const How&... how) {
    OfRanks<Member> of_ranks;
    for (const Places& rank : ranks_) {
      of_ranks.push_back(rank.at<Member>(next_));
    }
    ++next_;
    if constexpr (Record<Member>) {
      member = merged(of_ranks);
    }
    (merge(member, of_ranks, how), ...);
  }

 private:
  static void merge(auto& /*member*/, const auto& /*of_ranks*/, const auto& /*no_rule*/) {}
  static void merge(auto& member, const auto& of_ranks,
                    const std::derived_from<OverRanks> auto& rule) {
    member = merged(rule, of_ranks);
  }
  static void merge(auto& member, const auto& of_ranks, const IfAllKnow& /*rule*/) {
    if (std::ranges::any_of(of_ranks, [](const auto* one) { return !one->has_value(); })) {
      member.reset();
    }
  }

  std::vector<Places> ranks_;
  std::size_t next_ = 0;
};

template <Record Part>
Part merged(const OfRanks<Part>& ranks) {
  std::vector<Places> places(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    members(places[i], *ranks[i]);
  }
  Part total = *ranks.front();
  Merger merger(std::move(places));
  members(merger, total);
  return total;
}

// Adds what the ranks' figures of coverage alone do not tell.
void complete_coverage(const std::vector<RankReport>& ranks, Coverage& total) {
  std::vector<std::vector<DeviceTime>> device_times;
  for (const RankReport& rank : ranks) {
    device_times.push_back(rank.coverage.device_time);
  }
  total.device_time = sum_of(device_times);
  const auto lowest = std::ranges::min_element(
      ranks, {}, [](const RankReport& rank) { return rank.coverage.time; });
  total.other_time = total.time ? lowest->coverage.other_time : std::vector<TimeShare>();
  total.count = total.selected == 0 ? std::nullopt
                                    : std::optional(static_cast<double>(total.replayed) /
                                                    static_cast<double>(total.selected));
}

std::vector<OperatorTime> merge_operators(const std::vector<RankReport>& ranks) {
  std::map<std::pair<std::string, std::string>, OfRanks<OperatorTime>> alike;
  for (const RankReport& rank : ranks) {
    for (const OperatorTime& row : rank.operators) {
      alike[{row.name, row.op_class}].push_back(&row);
    }
  }
  std::map<std::pair<std::string, std::string>, OperatorTime> rows;
  for (const auto& [key, of_ranks] : alike) {
    rows.emplace(key, merged(of_ranks));
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
using RankRows = OfRanks<CollectiveTime>;

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
  merged.arrival_us = std::nullopt;
  const bool all_tell = std::ranges::all_of(
      rows, [](const CollectiveTime* row) { return row->arrival_us.has_value(); });
  if (all_tell && rows.size() == static_cast<std::size_t>(merged.group_size) && rows.size() > 1) {
    const auto [first, last] = std::ranges::minmax_element(
        rows, {}, [](const CollectiveTime* row) { return row->arrival_us; });
    merged.arrival_spread_us = *(*last)->arrival_us - *(*first)->arrival_us;
    merged.last_rank = ranks[static_cast<std::size_t>(last - rows.begin())];
  }
}

CollectiveTime merge_calls(const std::vector<int>& ranks, const RankRows& rows) {
  CollectiveTime all = merged(rows);
  const CollectiveTime& slowest = **std::ranges::max_element(
      rows, {}, [](const CollectiveTime* row) { return row->median_us; });
  all.median_us = slowest.median_us;
  all.samples_us = slowest.samples_us;
  // Bandwidths must be of the job's bytes, not of the slowest rank's part.
  const double larger =
      slowest.bytes > 0 ? static_cast<double>(all.bytes) / static_cast<double>(slowest.bytes) : 1;
  for (const auto bandwidth : {&CollectiveTime::algbw_gb_per_s, &CollectiveTime::busbw_gb_per_s}) {
    all.*bandwidth = slowest.*bandwidth;
    if (all.*bandwidth) {
      *(all.*bandwidth) *= larger;
    }
  }
  tell_waiting_apart(rows, all);
  tell_arrivals(ranks, rows, all);
  return all;
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
  struct Alike {
    std::vector<int> ranks;
    RankRows rows;
  };
  std::map<std::tuple<std::string, std::string, std::uint64_t, int>, Alike> rows;
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
      Alike& alike = rows[{row.name, row.group, which, row.group_size}];
      alike.ranks.push_back(rank.rank);
      alike.rows.push_back(&row);
    }
  }
  std::vector<CollectiveTime> all;
  all.reserve(rows.size());
  for (const auto& [key, alike] : rows) {
    all.push_back(merge_calls(alike.ranks, alike.rows));
  }
  return all;
}

// The state of a source of counters is the first rank's that could not count.
std::map<std::string, std::string> counter_sources_of(const std::vector<RankReport>& ranks) {
  std::map<std::string, std::string> sources;
  for (const RankReport& rank : ranks) {
    for (const auto& [source, state] : rank.counter_sources) {
      const auto [known, is_new] = sources.try_emplace(source, state);
      if (!is_new && known->second == kCounted && state != kCounted) {
        known->second = fmt::format("rank {}: {}", rank.rank, state);
      }
    }
  }
  return sources;
}

template <typename Row>
void keep_first(std::vector<Row>& rows, std::size_t most) {
  rows.resize(std::min(rows.size(), most));
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
  RunFigures& total = report.total;
  OfRanks<RunFigures> of_ranks;
  std::ranges::transform(ranks, std::back_inserter(of_ranks),
                         [](const RankReport& rank) { return &rank; });
  total = merged(of_ranks);
  total.iteration_ms = iteration_stats(std::move(total.iteration_ms.samples));
  complete_coverage(ranks, total.coverage);
  total.counter_sources = counter_sources_of(ranks);
  keep_first(total.mismatches, kMostMismatches);
  keep_first(total.value_findings, kMostFindings);
  total.operators = merge_operators(ranks);
  total.collectives = merge_collectives(ranks);
  report.ranks = std::move(ranks);
  report.filters = std::move(filters);
  report.environment = std::move(environment);
  total.measurement.foreign_cpus = foreign_cpus(report);
  report.warnings = measurement_warnings(report);
  report.counters_against_original = counter_resemblance(report);
  return report;
}

}  // namespace understudy::et_schema
