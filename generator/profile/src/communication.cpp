#include <algorithm>
#include <array>

#include "et_schema/model/comm_traits.h"
#include "generator/flow/model_names.h"
#include "recorded_call.h"

namespace understudy::generator {
namespace {

using et_schema::Arena;
using et_schema::DType;

/// Returns `elements` as one flat tensor, or divided evenly among `parts`.
std::vector<Tensor*> flat_tensors(std::int64_t elements, std::int64_t parts, DType dtype,
                                  Arena arena) {
  const bool is_even = parts > 0 && parts <= kMostRanks && elements % parts == 0;
  std::vector<Tensor*> tensors(is_even ? static_cast<std::size_t>(parts) : 1);
  for (Tensor*& tensor : tensors) {
    tensor = arena.make(Tensor{});
    tensor->dtype = dtype;
    tensor->item_bytes = et_schema::item_size(dtype);
    tensor->numel = std::max<std::int64_t>(is_even ? elements / parts : elements, 0);
    tensor->has_strides = true;
    tensor->sizes = {arena.make(tensor->numel), 1};
    tensor->strides = {arena.make(std::int64_t{1}), 1};
  }
  return tensors;
}

/// Returns tensors or numbers as a list.
template <typename Item>
Value list_of(const std::vector<Item>& items, Arena arena) {
  const std::span<Value> values = arena.array<Value>(items.size());
  std::ranges::transform(items, values.begin(), [](Item item) { return Value::of(item); });
  return Value::of_items(ValueKind::kList, values);
}

/// Returns the position of a world rank in the group; -1 if not recorded.
std::int64_t place_in_group(const et_schema::KinetoComm& comm, std::int64_t rank) {
  const std::vector<std::int64_t> ranks = integers_in(comm.ranks);
  const auto found = std::ranges::find(ranks, rank);
  if (found != ranks.end()) {
    return found - ranks.begin();
  }
  const std::int64_t stride = comm.global_rank_stride;
  return stride > 0 && rank >= comm.global_rank_start && comm.global_rank_start >= 0
             ? (rank - comm.global_rank_start) / stride
             : -1;
}

}  // namespace

RecordedCall recorded_communication(const et_schema::KinetoComm& comm, std::int64_t rank,
                                    std::int64_t own_rank, Arena arena) {
  RecordedCall call;
  std::vector<Value> inputs;
  const auto kind = et_schema::kind_of_recorded_name(comm.name);
  if (kind && (comm.in_elements > 0 || comm.out_elements > 0)) {
    using et_schema::CommSizes;
    const DType dtype = et_schema::dtype_from_cpp_name(comm.dtype).value_or(DType::kUInt8);
    const CommSizes sizes = et_schema::traits(*kind).sizes;
    const std::int64_t place = place_in_group(comm, own_rank);
    const bool is_root = place < 0 || place == rank;
    const auto tensors = [&](std::int64_t elements, CommSizes per_rank, CommSizes of_root) {
      const bool has_parts = sizes == per_rank || sizes == of_root;
      return sizes == of_root && !is_root
                 ? std::vector<Tensor*>()
                 : flat_tensors(elements, has_parts ? comm.ranks_in_group : 1, dtype, arena);
    };
    const bool is_in_place = sizes == CommSizes::kPairs && comm.in_elements == comm.out_elements;
    call.tensors = tensors(comm.in_elements, CommSizes::kInputPerRank, CommSizes::kInputsOfRoot);
    inputs.push_back(list_of(call.tensors, arena));
    call.outputs = {arena.make(inputs.front()), 1};
    if (!is_in_place) {
      const std::vector<Tensor*> out =
          tensors(comm.out_elements, CommSizes::kOutputPerRank, CommSizes::kOutputsOfRoot);
      call.tensors.insert(call.tensors.end(), out.begin(), out.end());
      call.outputs = {arena.make(list_of(out, arena)), 1};
    }
  }
  const auto text_of = [&arena](std::string_view text) {
    return Value::of_text(ValueKind::kString, arena.copy(text));
  };
  const std::array<Value, 2> group = {text_of(comm.group), text_of(comm.group_description)};
  inputs.insert(inputs.end(),
                {comm.sequence < 0 ? Value() : Value::of(comm.sequence),
                 Value::of_items(ValueKind::kTuple, arena.copy<Value>(group)), Value::of(rank),
                 text_of(comm.name), list_of(integers_in(comm.in_splits), arena),
                 list_of(integers_in(comm.out_splits), arena), Value::of(comm.global_rank_start),
                 Value::of(comm.global_rank_stride),
                 Value::of(std::max<std::int64_t>(comm.ranks_in_group, 0))});
  call.inputs = arena.copy<Value>(inputs);
  return call;
}

}  // namespace understudy::generator
