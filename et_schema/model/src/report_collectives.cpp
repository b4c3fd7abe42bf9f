#include "report_collectives.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "et_schema/model/comm_traits.h"

namespace understudy::et_schema {
namespace {

// Collectives whose sizes differ from rank to rank by their nature.
bool has_uneven_parts(const std::string& name) {
  return name == "all_to_allv" || name == "all_gatherv" || name == "reduce_scatterv";
}

// Whether the time of a call on its last rank tells what moving its bytes takes.
bool ends_together(std::string_view name) {
  const std::optional<CommKind> kind = kind_of_recorded_name(name);
  return kind && traits(*kind).in_step;
}

// One collective's rows, one a rank.
using RankRows = std::vector<const CollectiveTime*>;

// Sample i of each rank is the same call in the same pass.
bool has_the_same_calls(const RankRows& rows) {
  const CollectiveTime& first = *rows.front();
  return rows.size() == static_cast<std::size_t>(first.group_size) && rows.size() > 1 &&
         !first.samples_us.empty() && std::ranges::all_of(rows, [&](const CollectiveTime* row) {
           return row->samples_us.size() == first.samples_us.size();
         });
}

// The last rank to come waits for nobody: its call is the shortest, and all of it moves bytes.
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

// Ranks' clocks are not compared: each rank tells when after the iteration's common begin it came.
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

CollectiveTime merge_rows(const std::vector<int>& ranks, const RankRows& rows) {
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
  // Of the job's bytes, not of the slowest rank's part of them.
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

// Where parts are uneven, a call has another size on each rank: the ranks' rows from the smallest
// to the largest are the same calls, if there are as many of them and of each as many calls.
// Otherwise nothing tells which belong together, and each size is a row.
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

}  // namespace

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
    merged.push_back(merge_rows(of_ranks.ranks, of_ranks.rows));
  }
  return merged;
}

}  // namespace understudy::et_schema
