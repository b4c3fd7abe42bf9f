#include "replayer/calibrator/measure/table_timer.h"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "bags.h"
#include "et_schema/base/assert.h"

namespace understudy::calibrator {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kUntimed = 2;
constexpr std::size_t kTimed = 7;

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

/// Counts the lookups per row. Which rows are frequent does not matter here, so all rows are one
/// bin.
et_schema::Reuse reuse_of(std::vector<std::int64_t> rows, std::int64_t table_rows) {
  std::ranges::sort(rows);
  std::map<std::int64_t, std::int64_t> numbers;
  for (auto row = rows.begin(); row != rows.end();) {
    const auto next = std::upper_bound(row, rows.end(), *row);
    ++numbers[next - row];
    row = next;
  }
  et_schema::ReuseBin all{.low = 0, .high = table_rows, .repeats = {}};
  for (const auto& [times, number] : numbers) {
    all.repeats.push_back({times, number});
  }
  return {.bins = {std::move(all)}};
}

et_schema::TimeStats stats(std::vector<double> samples_ns) {
  const std::optional<et_schema::TimeStats> stats = et_schema::time_stats(std::move(samples_ns));
  UNDERSTUDY_ASSERT(stats.has_value());
  return *stats;
}

}  // namespace

TableTimes time_tables(const TableCall& call, int threads, std::uint64_t seed) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  at::set_num_threads(threads);
  std::vector<Bags> bags;
  bags.reserve(call.tables.size());
  for (const DrawnTable& table : call.tables) {
    bags.emplace_back(table, call.batch);
  }
  TableTimes times;
  std::vector<double> forward_ns;
  std::vector<double> backward_ns;
  for (std::size_t repetition = 0; repetition < kUntimed + kTimed; ++repetition) {
    for (std::size_t i = 0; i < bags.size(); ++i) {
      const std::vector<std::int64_t> rows =
          draw_lookups(call.tables[i], call.batch, seed + repetition * bags.size() + i);
      bags[i].look_up(rows);
      if (repetition == kUntimed) {
        times.reuse.push_back(reuse_of(rows, call.tables[i].rows));
      }
    }
    const Clock::time_point begin = Clock::now();
    std::ranges::for_each(bags, &Bags::forward);
    const double forward = ns_since(begin);
    const Clock::time_point middle = Clock::now();
    std::ranges::for_each(bags, &Bags::backward);
    const double backward = ns_since(middle);
    if (repetition >= kUntimed) {
      forward_ns.push_back(forward);
      backward_ns.push_back(backward);
    }
  }
  times.forward = stats(std::move(forward_ns));
  times.backward = stats(std::move(backward_ns));
  return times;
}

}  // namespace understudy::calibrator
