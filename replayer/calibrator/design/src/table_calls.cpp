#include "replayer/calibrator/design/table_calls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <random>
#include <utility>

#include "et_schema/model/slot_extent.h"
#include "replayer/calibrator/design/call.h"

namespace understudy::calibrator {
namespace {

constexpr std::int64_t kMostBytesOfATable = std::int64_t{256} << 20U;
/// Limit for all tables of a call, so that a call takes milliseconds.
constexpr double kMostGatheredBytes = 32.0 * (1U << 20U);
constexpr double kNumberBytes = sizeof(float);

/// Own distributions: those of the standard library differ between implementations.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  /// In [0, 1).
  double unit() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * unit(); }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  template <typename T, std::size_t N>
  T one_of(const std::array<T, N>& values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(N)))];
  }

 private:
  std::mt19937_64 random_;
};

DrawnTable draw_table(Draws& draws) {
  constexpr std::array<std::int64_t, 5> kDims = {8, 16, 32, 64, 128};
  constexpr std::array<double, 6> kSkews = {0, 0, 0.6, 0.9, 1.1, 1.3};
  DrawnTable table;
  table.dim = draws.one_of(kDims);
  const double most = static_cast<double>(kMostBytesOfATable / table.dim) / kNumberBytes;
  table.rows = static_cast<std::int64_t>(std::min(std::pow(10.0, draws.between(2.5, 6.5)), most));
  table.pooling = static_cast<std::int64_t>(std::exp2(draws.between(0, 6)));
  table.skew = draws.one_of(kSkews);
  return table;
}

double bytes_of(const DrawnTable& table) {
  return static_cast<double>(table.rows * table.dim) * kNumberBytes;
}

}  // namespace

TableCall draw_table_call(std::uint64_t number) {
  constexpr std::int64_t kMostTables = 8;
  constexpr std::int64_t kLeastBatch = 8;
  Draws draws(number);
  TableCall call;
  const double batch = std::exp2(draws.between(5, 11));
  const std::int64_t tables = 1 + draws.below(kMostTables);
  double bytes = 0;
  double gathered = 0;
  for (std::int64_t i = 0; i < tables; ++i) {
    call.tables.push_back(draw_table(draws));
    const DrawnTable& table = call.tables.back();
    bytes += bytes_of(table);
    gathered += batch * static_cast<double>(table.pooling * table.dim) * kNumberBytes;
  }
  const double shrink = std::min(1.0, static_cast<double>(kMostTableBytes) / bytes);
  for (DrawnTable& table : call.tables) {
    table.rows = std::max(std::int64_t{1},
                          static_cast<std::int64_t>(static_cast<double>(table.rows) * shrink));
  }
  call.batch = std::max(
      kLeastBatch, static_cast<std::int64_t>(batch * std::min(1.0, kMostGatheredBytes / gathered)));
  return call;
}

namespace {

using et_schema::Argument, et_schema::DType, et_schema::SlotId, et_schema::ValueRule;

/// One table's tensors.
class TableSlots {
 public:
  TableSlots(et_schema::Program& program, const DrawnTable& table, std::int64_t batch,
             const et_schema::Reuse& reuse)
      : program_(program),
        rows_(table.rows),
        weight_(external(DType::kFloat32, {table.rows, table.dim}, {ValueRule::Constant{0.5}})),
        indices_(external(DType::kInt64, {batch * table.pooling},
                          {ValueRule::ReusedIntegers{0, table.rows, reuse}})),
        offsets_(external(DType::kInt64, {batch}, {ValueRule::Arange{0, table.pooling}})),
        gradient_(external(DType::kFloat32, {batch, table.dim}, {ValueRule::Constant{1}})),
        results_{result(DType::kFloat32, {batch, table.dim}), result(DType::kInt64, {0}),
                 result(DType::kInt64, {batch}), result(DType::kInt64, {batch})},
        sparse_(result(DType::kFloat32, {table.rows, table.dim})) {
    program_.slots[sparse_].sparse = true;
  }

  void look_up() {
    et_schema::Instruction& call = add_call(
        program_,
        "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
        "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
        "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
        {at(weight_), at(indices_), at(offsets_), {false}, {kSum}, {true}, {}, {false}, {kNone}});
    std::ranges::transform(results_, std::back_inserter(call.results), at);
  }
  /// The gradient is computed with the operator that autograd calls.
  /// _embedding_bag_sparse_backward needs the bag of each lookup, which the forward pass does not
  /// always compute.
  void update() {
    add_call(program_,
             "aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor "
             "offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool "
             "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int "
             "padding_idx=-1) -> Tensor",
             {at(gradient_),
              at(indices_),
              at(offsets_),
              at(results_[1]),
              at(results_[2]),
              at(results_[3]),
              {rows_},
              {false},
              {kSum},
              {true},
              {},
              {kNone}})
        .results = {at(sparse_)};
    constexpr double kRate = -0.01;
    add_call(program_,
             "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
             {at(weight_), at(sparse_), {kRate}})
        .results = {at(weight_)};
  }

 private:
  static constexpr std::int64_t kSum = 0;    // embedding_bag's mode
  static constexpr std::int64_t kNone = -1;  // no row is padding

  static Argument at(SlotId slot) { return {Argument::SlotRef{slot}}; }
  SlotId result(DType dtype, const std::vector<std::int64_t>& sizes) {
    et_schema::Slot slot;
    slot.dtype = dtype;
    slot.sizes = sizes;
    slot.strides = et_schema::contiguous_strides(sizes);
    return add_tensor(program_, std::move(slot));
  }
  SlotId external(DType dtype, const std::vector<std::int64_t>& sizes, const ValueRule& rule) {
    const SlotId slot = result(dtype, sizes);
    program_.slots[slot].value = rule;
    program_.slots[slot].external = true;
    program_.storages.back().external = true;
    return slot;
  }

  et_schema::Program& program_;
  std::int64_t rows_;
  SlotId weight_;
  SlotId indices_;
  SlotId offsets_;
  SlotId gradient_;
  std::vector<SlotId> results_;
  SlotId sparse_;
};

}  // namespace

et_schema::Program make_program(const TableCall& call, const std::vector<et_schema::Reuse>& reuse) {
  et_schema::Program program;
  std::vector<TableSlots> tables;
  for (std::size_t i = 0; i < call.tables.size(); ++i) {
    tables.emplace_back(program, call.tables[i], call.batch, reuse[i]);
  }
  std::ranges::for_each(tables, &TableSlots::look_up);
  std::ranges::for_each(tables, &TableSlots::update);
  return program;
}

}  // namespace understudy::calibrator
