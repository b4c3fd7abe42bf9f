#pragma once

// fbgemm's operators of recommendation models, by LibTorch's own, for where fbgemm is not loaded.

#include <ATen/TensorOperators.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/_embedding_bag.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/repeat_interleave.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operators.h"

namespace bench {

/// A call's arguments by the names of the recorded schema.
class Arguments {
 public:
  Arguments(const c10::FunctionSchema& schema, const std::vector<c10::IValue>& given)
      : schema_(schema), given_(given) {}

  /// The first of these names that was recorded; undefined if none was, or None was given.
  [[nodiscard]] at::Tensor tensor(const char* name, const char* other = "") const {
    const c10::IValue* value = find(name);
    value = value != nullptr ? value : find(other);
    return value != nullptr && !value->isNone() ? value->toTensor() : at::Tensor();
  }
  [[nodiscard]] std::int64_t integer(const char* name) const {
    const c10::IValue* value = find(name);
    return value != nullptr && !value->isNone() ? value->toInt() : 0;
  }

 private:
  [[nodiscard]] const c10::IValue* find(const std::string& name) const {
    for (std::size_t i = 0; i < schema_.arguments().size(); ++i) {
      if (schema_.arguments()[i].name() == name)
        return &given_.at(i);
    }
    return nullptr;
  }

  const c10::FunctionSchema& schema_;
  const std::vector<c10::IValue>& given_;
};

inline at::Tensor running_sum(const at::Tensor& lengths) {
  return at::cumsum(lengths, -1, lengths.scalar_type());
}

/// Segments are rows of the lengths in 2D, single lengths in 1D.
inline std::vector<c10::IValue> permute_sparse_data(const Arguments& in) {
  const at::Tensor order = in.tensor("permute").to(at::kLong);
  const at::Tensor lengths = in.tensor("lengths");
  const at::Tensor values = in.tensor("values");
  const at::Tensor weights = in.tensor("weights");
  const at::Tensor segments =
      lengths.dim() == 1 ? lengths.to(at::kLong) : lengths.to(at::kLong).flatten(1).sum(1);
  TORCH_CHECK(segments.sum().item<std::int64_t>() == values.numel(),
              "lengths do not add up to the values");
  const at::Tensor moved = segments.index_select(0, order);
  const at::Tensor starts = (running_sum(segments) - segments).index_select(0, order);
  const at::Tensor shift = at::repeat_interleave(starts - (running_sum(moved) - moved), moved, 0);
  const at::Tensor from = shift + at::arange(shift.numel(), shift.options());
  return {lengths.index_select(0, order), values.index_select(0, from),
          weights.defined() ? weights.index_select(0, from) : at::Tensor()};
}

inline std::vector<c10::IValue> complete_cumsum(const Arguments& in) {
  return {at::constant_pad_nd(running_sum(in.tensor("t_in")), {1, 0})};
}
inline std::vector<c10::IValue> inclusive_cumsum(const Arguments& in) {
  return {running_sum(in.tensor("t_in"))};
}
inline std::vector<c10::IValue> exclusive_cumsum(const Arguments& in) {
  const at::Tensor lengths = in.tensor("t_in");
  return {running_sum(lengths) - lengths};
}

/// Indices outside of their table become 0 and are counted; offsets are held within the indices.
inline std::vector<c10::IValue> bounds_check_indices(const Arguments& in) {
  const at::Tensor rows_per_table = in.tensor("rows_per_table");
  const at::Tensor indices = in.tensor("indices");
  const at::Tensor offsets = in.tensor("offsets");
  const std::int64_t tables = rows_per_table.numel();
  TORCH_CHECK(tables > 0 && (offsets.numel() - 1) % tables == 0, "offsets do not fit the tables");
  const std::int64_t batch = (offsets.numel() - 1) / tables;
  offsets.clamp_(0, indices.numel());
  offsets.narrow(0, 0, 1).zero_();
  offsets.narrow(0, offsets.numel() - 1, 1).fill_(indices.numel());
  if (batch == 0 || indices.numel() == 0)
    return {};
  const at::Tensor ends = offsets.slice(0, 0, std::nullopt, batch).to(at::kLong);
  const at::Tensor rows = at::repeat_interleave(rows_per_table, ends.diff(), 0);
  const at::Tensor outside = (indices < -1).logical_or(indices >= rows);
  constexpr std::int64_t kFatal = 0;
  TORCH_CHECK(in.integer("bounds_check_mode") != kFatal || !outside.any().item<bool>(),
              "an index is outside of its table");
  indices.masked_fill_(outside, 0);
  if (const at::Tensor warning = in.tensor("warning"); warning.defined())
    warning.add_(outside.sum());
  return {};
}

inline std::vector<std::int64_t> to_host(const at::Tensor& integers) {
  const at::Tensor copy = integers.to(at::kCPU, at::kLong).contiguous();
  const auto* data = copy.const_data_ptr<std::int64_t>();
  return {data, data + copy.numel()};
}

/// A lookup in tables that lie one after the other in one tensor: the forward pass alone.
inline std::vector<c10::IValue> look_up(const Arguments& in) {
  constexpr std::int64_t kSum = 0, kMean = 1, kNone = 2;
  at::Tensor weights = in.tensor("dev_weights", "host_weights");
  if (const at::Tensor unified = in.tensor("uvm_weights");
      weights.numel() == 0 && unified.defined())
    weights = unified;
  const std::vector<std::int64_t> starts = to_host(in.tensor("weights_offsets"));
  const std::vector<std::int64_t> columns = to_host(in.tensor("D_offsets"));
  const at::Tensor indices = in.tensor("indices");
  const at::Tensor offsets = in.tensor("offsets");
  const std::int64_t pooling = in.integer("pooling_mode");
  const std::int64_t number = in.integer("output_dtype");  // fbgemm's SparseType
  TORCH_CHECK(number == 0 || number == 1 || number == 5, "output_dtype ", number);
  const at::ScalarType type = number == 0 ? at::kFloat : number == 1 ? at::kHalf : at::kBFloat16;
  const auto features = static_cast<std::int64_t>(starts.size());
  TORCH_CHECK(
      features > 0 && columns.size() == starts.size() + 1 && (offsets.numel() - 1) % features == 0,
      "offsets do not fit the features");
  const std::int64_t batch = (offsets.numel() - 1) / features;
  const std::vector<std::int64_t> bounds = to_host(offsets);
  TORCH_CHECK(std::is_sorted(bounds.begin(), bounds.end()) && bounds.front() == 0 &&
                  bounds.back() <= indices.numel(),
              "offsets do not rise from 0 to the number of indices");
  const std::set<std::int64_t> ordered(starts.begin(), starts.end());
  const at::Tensor output = pooling == kNone
                                ? at::Tensor()
                                : at::empty({batch, columns.back()}, weights.options().dtype(type));
  std::vector<at::Tensor> parts;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t dim = columns[i + 1] - columns[i];
    const auto next = ordered.upper_bound(starts[i]);  // a table ends where the next one begins
    const std::int64_t end = next == ordered.end() ? weights.numel() : *next;
    const std::int64_t rows = (end - starts[i]) / dim;
    const at::Tensor table = weights.narrow(0, starts[i], rows * dim).view({rows, dim});
    const std::int64_t first = bounds[i * static_cast<std::size_t>(batch)];
    const std::int64_t count = bounds[(i + 1) * static_cast<std::size_t>(batch)] - first;
    const at::Tensor each = indices.narrow(0, first, count);
    if (pooling == kNone) {
      parts.push_back(at::embedding(table, each));
      continue;
    }
    const at::Tensor bags =
        offsets.narrow(0, static_cast<std::int64_t>(i) * batch, batch + 1) - first;
    at::Tensor scale = in.tensor("indice_weights");
    if (scale.defined())
      scale = scale.narrow(0, first, count);
    if (pooling == kMean) {
      const at::Tensor lengths = bags.diff();
      const at::Tensor mean = at::repeat_interleave(1 / lengths.to(at::kFloat), lengths, 0);
      scale = scale.defined() ? scale * mean : mean;
    }
    output.narrow(1, columns[i], dim)
        .copy_(std::get<0>(at::_embedding_bag(
            table, each, bags, false, kSum, false,
            scale.defined() ? std::optional(scale.to(table.scalar_type())) : std::nullopt, true)));
  }
  return {pooling == kNone ? at::cat(parts).to(type) : output};
}

/// Whether an operator of this name is here, and which.
inline StandIn find_fbgemm(const std::string& name) {
  using Run = std::vector<c10::IValue> (*)(const Arguments&);
  static const std::map<std::string, Run> known = {
      {"fbgemm::permute_2D_sparse_data", permute_sparse_data},
      {"fbgemm::permute_1D_sparse_data", permute_sparse_data},
      {"fbgemm::permute_sparse_data", permute_sparse_data},
      {"fbgemm::asynchronous_complete_cumsum", complete_cumsum},
      {"fbgemm::asynchronous_inclusive_cumsum", inclusive_cumsum},
      {"fbgemm::asynchronous_exclusive_cumsum", exclusive_cumsum},
      {"fbgemm::bounds_check_indices", bounds_check_indices},
      {"fbgemm::dense_embedding_codegen_lookup_function", look_up}};
  const auto found = known.find(name);
  const bool is_lookup = name.rfind("fbgemm::split_embedding_codegen_lookup_", 0) == 0;
  if (found == known.end() && !is_lookup)
    return nullptr;
  return [run = is_lookup ? look_up : found->second](const c10::FunctionSchema& schema,
                                                     const std::vector<c10::IValue>& given) {
    return run(Arguments(schema, given));
  };
}

/// Makes them known to the operators that are called by name.
inline const bool has_fbgemm = (stand_in_finder() = find_fbgemm, true);

}  // namespace bench
