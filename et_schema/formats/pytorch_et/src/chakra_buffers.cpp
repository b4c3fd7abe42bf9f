#include "chakra_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "et_schema/base/error.h"

namespace understudy::et_schema {
namespace {

/// Maximum size of a buffer, larger than any memory.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 46U;

[[noreturn]] void refuse_argument(std::string field, std::string expected, std::string got) {
  throw bad_input(
      "a communication node cannot be read",
      {.field = std::move(field), .expected = std::move(expected), .got = std::move(got)});
}

CommKind kind_of(const ChakraNode& node) {
  if (node.type != ChakraNodeType::kCollective) {
    return node.type == ChakraNodeType::kSend ? CommKind::kSend : CommKind::kRecv;
  }
  static constexpr std::array<CommKind, kChakraCollectives> kKinds = {
      CommKind::kAllReduce,         CommKind::kReduce,
      CommKind::kAllGatherBase,     CommKind::kGather,
      CommKind::kScatter,           CommKind::kBroadcast,
      CommKind::kAllToAll,          CommKind::kReduceScatterBase,
      CommKind::kReduceScatterBase, CommKind::kBarrier};
  const std::int64_t type = node.integer("comm_type").value_or(-1);
  if (type < 0 || type >= kChakraCollectives) {
    refuse_argument("comm_type", fmt::format("0 to {}", kChakraCollectives - 1),
                    fmt::format("{}", type));
  }
  return kKinds[static_cast<std::size_t>(type)];
}

Value text(std::string_view text) {
  return Value::of_text(ValueKind::kString, text);
}

}  // namespace

/// A group that is not listed is the world.
void ChakraBuffers::choose_group(std::string_view name) {
  const auto listed = std::ranges::find_if(groups_, [&](const ProcessGroup& group) {
    return group.name == name && std::ranges::find(group.ranks, rank_) != group.ranks.end();
  });
  group_size_ = listed == groups_.end() ? world_size_ : listed->size;
  root_ = listed == groups_.end() ? 0 : listed->ranks.front();
}

std::int64_t ChakraBuffers::times_group(std::int64_t bytes) const {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(bytes, group_size_, &product) || product > kMostBytes) {
    refuse_argument("comm_size", fmt::format("at most {} bytes over all ranks", kMostBytes),
                    fmt::format("{} bytes on each of {}", bytes, group_size_));
  }
  return product;
}

/// Makes a buffer of floats if the size is a multiple of 4 bytes, so that reductions can add them;
/// otherwise of bytes.
Value ChakraBuffers::buffer(std::int64_t bytes) {
  constexpr std::int64_t kFloatBytes = 4;
  const bool is_float = bytes % kFloatBytes == 0;
  Tensor tensor;
  tensor.tensor_id = next_id_++;
  tensor.storage_id = next_id_++;
  tensor.dtype = is_float ? DType::kFloat32 : DType::kUInt8;
  tensor.item_bytes = is_float ? kFloatBytes : 1;
  tensor.numel = bytes / tensor.item_bytes;
  tensor.device = parse_device("cpu");
  const std::span<std::int64_t> sizes = arena_.array<std::int64_t>(1);
  sizes[0] = tensor.numel;
  tensor.sizes = sizes;
  return Value::of(arena_.make(tensor));
}

std::span<const Value> ChakraBuffers::buffers(std::int64_t count, std::int64_t bytes) {
  const std::span<Value> list = arena_.array<Value>(static_cast<std::size_t>(count));
  for (Value& item : list) {
    item = buffer(bytes);
  }
  return list;
}

ChakraBuffers::Buffers ChakraBuffers::buffers_of(CommKind kind, std::int64_t bytes) {
  const std::int64_t part = bytes / group_size_;
  const bool is_root = rank_ == root_;
  switch (kind) {
    case CommKind::kAllGatherBase:
      return {buffers(1, bytes), buffers(1, times_group(bytes))};
    case CommKind::kReduceScatterBase:
      return {buffers(1, times_group(part)), buffers(1, part)};
    case CommKind::kAllToAll:
      return {buffers(1, times_group(part)), buffers(1, times_group(part))};
    case CommKind::kGather:
      return {buffers(1, bytes), buffers(is_root ? group_size_ : 0, bytes)};
    case CommKind::kScatter:
      return {buffers(is_root ? group_size_ : 0, bytes), buffers(1, bytes)};
    case CommKind::kSend:
      return {buffers(1, bytes), {}};
    case CommKind::kRecv:
      return {{}, buffers(1, bytes)};
    case CommKind::kBarrier:
      return {};
    default: {
      const std::span<const Value> both = buffers(1, bytes);
      return {both, both};
    }
  }
}

Node ChakraBuffers::call_of(const ChakraNode& from, Node node) {
  const CommKind kind = kind_of(from);
  const std::int64_t bytes = from.integer("comm_size").value_or(0);
  if (bytes < 0 || bytes > kMostBytes) {
    refuse_argument("comm_size", fmt::format("0 to {} bytes", kMostBytes),
                    fmt::format("{}", bytes));
  }
  const std::string_view end = kind == CommKind::kSend ? "comm_dst" : "comm_src";
  const std::int64_t peer = is_message(kind) ? from.integer(end).value_or(-1) : 0;
  if (is_message(kind) && (peer < 0 || peer >= world_size_)) {
    refuse_argument(std::string(end), fmt::format("a rank from 0 to {}", world_size_ - 1),
                    from.find(end) == nullptr ? "nothing" : fmt::format("{}", peer));
  }
  const std::string_view group = from.text("pg_name").empty() ? "0" : from.text("pg_name");
  choose_group(group);
  const Buffers made = buffers_of(kind, bytes);
  const std::span<Value> names = arena_.array<Value>(2);
  names[0] = text(group);
  names[1] = text("");
  // The inputs of record_param_comms since schema 1.0.3.
  const Value none = Value::of_items(ValueKind::kList, {});
  const std::array<Value, 10> inputs = {Value::of_items(ValueKind::kList, made.inputs),
                                        Value(),
                                        Value::of_items(ValueKind::kTuple, names),
                                        Value::of(peer),
                                        text(to_string(kind)),
                                        none,
                                        none,
                                        Value::of(std::int64_t{group == "0" ? 0 : -1}),
                                        Value::of(std::int64_t{1}),
                                        Value::of(group_size_)};
  node.name = "record_param_comms";
  node.inputs = arena_.copy<Value>(inputs);
  node.outputs = made.outputs;
  return node;
}

}  // namespace understudy::et_schema
