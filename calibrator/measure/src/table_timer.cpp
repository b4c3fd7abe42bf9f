#include "calibrator/measure/table_timer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "et_schema/support/assert.h"

namespace understudy::calibrator {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kUntimed = 2;
constexpr std::size_t kTimed = 7;

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

std::vector<et_schema::Repeat> repeats_of(std::vector<std::int64_t> rows) {
  std::ranges::sort(rows);
  std::map<std::int64_t, std::int64_t> numbers;
  for (auto row = rows.begin(); row != rows.end();) {
    const auto next = std::upper_bound(row, rows.end(), *row);
    ++numbers[next - row];
    row = next;
  }
  std::vector<et_schema::Repeat> repeats;
  for (const auto& [times, number] : numbers) {
    repeats.push_back({times, number});
  }
  return repeats;
}

/// A table, and one repetition's lookups, sums and gradient.
class Bags {
 public:
  Bags(const DrawnTable& table, std::int64_t batch)
      : table_(table),
        // Filled with anything: pages that nobody wrote would all be one.
        weight_(at::full({table.rows, table.dim}, 0.5)),
        offsets_(at::arange(batch) * table.pooling),
        gradient_(at::ones({batch, table.dim})) {}

  void look_up(const std::vector<std::int64_t>& rows) {
    indices_ = at::tensor(rows, at::kLong);
    forward_ = {};
  }
  void forward() { forward_ = at::_embedding_bag(weight_, indices_, offsets_, false, kSum, true); }
  void backward() {
    constexpr double kRate = -0.01;
    const auto& [sums, offset_to_bag, bag_sizes, most] = forward_;
    weight_.add_(at::_embedding_bag_sparse_backward(gradient_, indices_, offsets_, offset_to_bag,
                                                    bag_sizes, table_.rows, false, kSum, {}, -1),
                 kRate);
  }

 private:
  static constexpr std::int64_t kSum = 0;  // embedding_bag's mode
  const DrawnTable& table_;
  at::Tensor weight_;
  at::Tensor offsets_;
  at::Tensor gradient_;
  at::Tensor indices_;
  std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> forward_;
};

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
        times.reuse.push_back(repeats_of(rows));
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
