#include "communication.h"

#include <algorithm>
#include <array>
#include <utility>

#include "et_schema/model/comm_traits.h"

namespace understudy::generator {
namespace {

using et_schema::Arena;
using et_schema::DType;
using et_schema::Tensor;
using et_schema::Value;
using et_schema::ValueKind;

/// c10::toString(ScalarType), in c10/core/ScalarType.h.
DType dtype_of_name(std::string_view name) {
  constexpr auto kNames = std::to_array<std::pair<std::string_view, DType>>({
      {"Byte", DType::kUInt8},
      {"Char", DType::kInt8},
      {"Short", DType::kInt16},
      {"Int", DType::kInt32},
      {"Long", DType::kInt64},
      {"Half", DType::kFloat16},
      {"Float", DType::kFloat32},
      {"Double", DType::kFloat64},
      {"ComplexFloat", DType::kComplexFloat32},
      {"ComplexDouble", DType::kComplexFloat64},
      {"Bool", DType::kBool},
      {"BFloat16", DType::kBFloat16},
      {"Float8_e5m2", DType::kFloat8E5M2},
      {"Float8_e4m3fn", DType::kFloat8E4M3Fn},
  });
  const auto* const found =
      std::ranges::find(kNames, name, [](const auto& row) { return row.first; });
  return found == kNames.end() ? DType::kUInt8 : found->second;
}

class CommMaker {
 public:
  explicit CommMaker(Arena arena) : arena_(arena) {}

  Tensor* tensor(std::int64_t elements, DType dtype) {
    Tensor* tensor = arena_.make(Tensor{});
    tensor->dtype = dtype;
    tensor->item_bytes = et_schema::item_size(dtype);
    tensor->numel = std::max<std::int64_t>(elements, 0);
    tensor->has_strides = true;
    tensor->sizes = one(tensor->numel);
    tensor->strides = one(1);
    return tensor;
  }

  Value list(std::span<const Value> items, ValueKind kind = ValueKind::kList) {
    return Value::of_items(kind, values(items));
  }

  Value text(std::string_view text) {
    return Value::of_text(ValueKind::kString, arena_.copy(text));
  }

  /// "[1, 2]" → its numbers.
  Value splits(std::string_view text) {
    std::vector<Value> numbers;
    for (const std::int64_t number : integers_in(text)) {
      numbers.push_back(Value::of(number));
    }
    return list(numbers);
  }

  /// `elements` as one tensor, or shared evenly among `parts`.
  std::vector<Tensor*> tensors(std::int64_t elements, std::int64_t parts, DType dtype) {
    const bool is_even = parts > 0 && parts <= kMostRanks && elements % parts == 0;
    std::vector<Tensor*> made(is_even ? static_cast<std::size_t>(parts) : 1);
    for (Tensor*& each : made) {
      each = tensor(is_even ? elements / parts : elements, dtype);
    }
    return made;
  }

  Value list(std::span<Tensor* const> tensors) {
    std::vector<Value> items;
    for (Tensor* const tensor : tensors) {
      items.push_back(Value::of(tensor));
    }
    return list(items);
  }

  std::span<Value> values(std::span<const Value> values) { return arena_.copy(values); }

 private:
  std::span<const std::int64_t> one(std::int64_t number) {
    const std::span<std::int64_t> placed = arena_.array<std::int64_t>(1);
    placed[0] = number;
    return placed;
  }

  Arena arena_;
};

/// The place of a rank of the world in the group; -1: it is not told.
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

RecordedComm recorded_communication(const et_schema::KinetoComm& comm, std::int64_t rank,
                                    std::int64_t own_rank, Arena arena) {
  CommMaker make(arena);
  RecordedComm recorded;
  std::vector<Value> inputs;
  const auto kind = et_schema::kind_of_recorded_name(comm.name);
  const bool moves = kind && (comm.in_elements > 0 || comm.out_elements > 0);
  if (moves) {
    using et_schema::CommSizes;
    const DType dtype = dtype_of_name(comm.dtype);
    const CommSizes sizes = et_schema::traits(*kind).sizes;
    const std::int64_t place = place_in_group(comm, own_rank);
    const bool is_root = place < 0 || place == rank;
    const bool has_parts_in =
        sizes == CommSizes::kInputPerRank || sizes == CommSizes::kInputsOfRoot;
    const bool has_parts_out =
        sizes == CommSizes::kOutputPerRank || sizes == CommSizes::kOutputsOfRoot;
    std::vector<Tensor*> in =
        make.tensors(comm.in_elements, has_parts_in ? comm.ranks_in_group : 1, dtype);
    std::vector<Tensor*> out =
        sizes == CommSizes::kPairs && comm.in_elements == comm.out_elements
            ? in
            : make.tensors(comm.out_elements, has_parts_out ? comm.ranks_in_group : 1, dtype);
    if (sizes == CommSizes::kInputsOfRoot && !is_root) {
      in.clear();
    }
    if (sizes == CommSizes::kOutputsOfRoot && !is_root) {
      out.clear();
    }
    recorded.call.tensors = in;
    if (out != in) {
      recorded.call.tensors.insert(recorded.call.tensors.end(), out.begin(), out.end());
    }
    inputs.push_back(make.list(in));
    const Value outputs = make.list(out);
    recorded.outputs = make.values({&outputs, 1});
  }
  const std::array<Value, 2> group = {make.text(comm.group), make.text(comm.group_description)};
  inputs.insert(inputs.end(),
                {comm.sequence < 0 ? Value() : Value::of(comm.sequence),
                 make.list(group, ValueKind::kTuple), Value::of(rank), make.text(comm.name),
                 make.splits(comm.in_splits), make.splits(comm.out_splits),
                 Value::of(comm.global_rank_start), Value::of(comm.global_rank_stride),
                 Value::of(std::max<std::int64_t>(comm.ranks_in_group, 0))});
  recorded.call.inputs = make.values(inputs);
  return recorded;
}

}  // namespace understudy::generator
