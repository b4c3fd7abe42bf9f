#include "et_schema/formats/pytorch_et/comm_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "c10d_calls.h"
#include "et_schema/base/control_characters.h"
#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "et_schema/formats/pytorch_et/process_groups.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::et_schema {
namespace {

[[noreturn]] void fail(const Trace& trace, const Node& node, std::string expected,
                       std::string got) {
  throw bad_input("a collective cannot be read", {.file = trace.file,
                                                  .rank = trace.rank,
                                                  .node = node.id,
                                                  .field = "inputs",
                                                  .expected = std::move(expected),
                                                  .got = std::move(got)});
}

/// Returns true for [seq, isP2P], which replaces seq since August 2024.
bool is_sequence_pair(const Value& value) {
  if (!value.is(ValueKind::kList) && !value.is(ValueKind::kTuple)) {
    return false;
  }
  const std::span<const Value> items = value.items();
  return items.size() == 2 && items[0].is(ValueKind::kInt) && items[1].is(ValueKind::kBool);
}

void read_sequence(CommCall& call, const Value& value) {
  if (value.is(ValueKind::kInt)) {
    call.seq = value.as_int();
  } else if (is_sequence_pair(value)) {
    call.seq = value.items()[0].as_int();
    call.is_p2p = value.items()[1].as_bool();
  }
}

/// Reads (pg_name, pg_desc), or up to torch 2.3 the group's address as an integer.
void read_group(CommCall& call, const Value& value, const RecordedGroups& groups) {
  if (value.is(ValueKind::kInt)) {
    if (value.as_int() == 0) {
      return;  // waits do not name a group
    }
    const std::string address = fmt::format("{}", value.as_int());
    const auto found = groups.name_by_address.find(address);
    call.pg_name = found == groups.name_by_address.end() ? address : found->second;
    return;
  }
  if (!value.is(ValueKind::kTuple) && !value.is(ValueKind::kList)) {
    return;
  }
  const std::span<const Value> items = value.items();
  if (!items.empty() && items[0].is(ValueKind::kString)) {
    call.pg_name = escape_control_characters(items[0].text());  // escaped like the names of groups
  }
  if (items.size() > 1 && items[1].is(ValueKind::kString)) {
    call.pg_desc = escape_control_characters(items[1].text());
  }
}

std::int64_t integer_at(std::span<const Value> values, std::size_t index, std::int64_t otherwise) {
  return index < values.size() && values[index].is(ValueKind::kInt) ? values[index].as_int()
                                                                    : otherwise;
}

/// Reads the inputs after the name: splits, then the world size (1.0.2), or the first global rank,
/// the stride and the world size (from 1.0.3), then whether it is asynchronous (torch 2.12).
void read_after_name(CommCall& call, std::span<const Value> rest) {
  constexpr std::size_t kSplits = 2;
  constexpr std::size_t kWithSize = 3;
  if (rest.size() >= kSplits) {
    call.in_splits = integers_of(rest[0]);
    call.out_splits = integers_of(rest[1]);
  }
  if (!rest.empty() && rest.back().is(ValueKind::kBool)) {
    call.is_async = rest.back().as_bool();
    rest = rest.first(rest.size() - 1);
  }
  if (rest.size() == kWithSize) {
    call.group_size = integer_at(rest, kSplits, 0);
  } else if (rest.size() > kWithSize) {
    call.global_rank_start = integer_at(rest, kSplits, -1);
    call.global_rank_stride = integer_at(rest, kSplits + 1, -1);
    call.group_size = integer_at(rest, kSplits + 2, 0);
  }
}

/// Fills in fields that the inputs of some versions lack from the attributes.
void read_attributes(CommCall& call, const CommAttributes& attributes) {
  const auto fill = [](auto& field, bool is_missing, const auto& told) {
    if (is_missing) {
      field = told;
    }
  };
  fill(call.name, call.name.empty(), attributes.name);
  fill(call.pg_name, call.pg_name.empty(), attributes.group);
  fill(call.pg_desc, call.pg_desc.empty(), attributes.group_description);
  fill(call.group_size, call.group_size == 0, std::max<std::int64_t>(attributes.ranks_in_group, 0));
  fill(call.global_rank_start, call.global_rank_start < 0, attributes.global_rank_start);
  fill(call.global_rank_stride, call.global_rank_stride < 0, attributes.global_rank_stride);
}

/// Repairs calls of torchcomms (also torch 2.15), which records the outputs of all_gather as its
/// inputs, and only the sums of splits: the c10d operator above has them.
void repair_torchcomms(CommCall& call, const Trace& trace, const Node& node) {
  if (call.kind == CommKind::kAllGather && call.inputs.size() > call.outputs.size()) {
    std::swap(call.inputs, call.outputs);
  }
  const bool is_sum =
      call.in_splits.size() == 1 && call.out_splits.size() == 1 && call.group_size > 1;
  if (!is_sum) {
    return;
  }
  call.in_splits.clear();
  call.out_splits.clear();
  if (call.kind == CommKind::kAllToAllV) {
    call.lacks_splits = node.parent == kNoNode || !read_splits(call, trace.nodes[node.parent]);
  }
}

/// Reads a record_param_comms of any version. The name is the only text among the inputs. Inputs
/// before it are counted backwards, since wait, barrier and init lack the leading tensors. Returns
/// nothing for an unknown name.
std::optional<CommCall> read_recorded(const Trace& trace, const Node& node,
                                      const RecordedGroups& groups) {
  CommCall call;
  const std::span<const Value> inputs = node.inputs;
  const auto name = std::find_if(inputs.begin(), inputs.end(),
                                 [](const Value& value) { return value.is(ValueKind::kString); });
  if (name != inputs.end()) {
    const auto position = static_cast<std::size_t>(name - inputs.begin());
    constexpr std::size_t kBeforeName = 3;  // seq, group, rank
    if (position < kBeforeName) {
      fail(trace, node, "[tensors,] seq, group, rank before the name",
           fmt::format("{} inputs before \"{}\"", position, quote(name->text())));
    }
    call.name = name->text();
    call.root_or_peer = integer_at(inputs, position - 1, 0);
    read_group(call, inputs[position - 2], groups);
    read_sequence(call, inputs[position - kBeforeName]);
    for_each_tensor(inputs.first(position - kBeforeName),
                    [&call](const Tensor& tensor) { call.inputs.push_back(&tensor); });
    read_after_name(call, inputs.subspan(position + 1));
  }
  for_each_tensor(node.outputs, [&call](const Tensor& tensor) { call.outputs.push_back(&tensor); });
  if (node.comm != nullptr) {
    read_attributes(call, *node.comm);
  }
  std::optional<CommKind> kind = kind_of_recorded_name(call.name);
  if (!kind) {  // left out, or a name that another release made up
    call.name = name_from_surroundings(trace, node);
    kind = kind_of_recorded_name(call.name);
  }
  if (!kind) {
    return std::nullopt;
  }
  call.kind = *kind;
  repair_torchcomms(call, trace, node);
  if (call.kind == CommKind::kWait) {
    add_waited_tensor(call, trace, node);
  } else if (is_message(call.kind) && call.is_p2p) {
    call.in_batch = false;  // find_batches() may set it
  }
  if (traits(call.kind).reduces) {
    read_reduce_op(call, trace, node);
  }
  // The operator above knows; some backends record each call as asynchronous.
  const std::optional<bool> above =
      node.parent == kNoNode ? std::nullopt : recorded_async(trace.nodes[node.parent]);
  call.is_async = above ? above : call.is_async;
  return call;
}

/// Kinds of nodes below a node.
struct Below {
  bool recorded = false;  ///< a record_param_comms
  bool c10d = false;      ///< a c10d:: operator
};

std::vector<Below> find_below(const Trace& trace) {
  std::vector<Below> below(trace.nodes.size());
  for (std::size_t i = trace.nodes.size(); i-- > 1;) {
    const Node& node = trace.nodes[i];
    Below& parent = below[node.parent];
    parent.recorded =
        parent.recorded || below[i].recorded || classify(node) == NodeClass::kCommunication;
    parent.c10d = parent.c10d || below[i].c10d || node.name.starts_with("c10d::");
  }
  return below;
}

/// Returns true if the node itself is the call. If a functional operator calls a c10d:: operator,
/// the c10d:: operator is the call. A c10d:: operator calls no other one, but may have one below it
/// in Gloo traces, where the observer mixes up parents.
bool is_own_call(const Node& node, const Below& below) {
  return !below.recorded && (node.name.starts_with("c10d::") || !below.c10d);
}

/// Checks splits, which are rows of a tensor's first dimension: none may be negative, and their sum
/// must not overflow.
void check_splits(const Trace& trace, const Node& node, const CommCall& call) {
  for (const std::vector<std::int64_t>* splits : {&call.in_splits, &call.out_splits}) {
    std::int64_t sum = 0;
    for (const std::int64_t split : *splits) {
      if (split < 0 || __builtin_add_overflow(sum, split, &sum)) {
        fail(trace, node, "splits of 0 or more, with a sum below 2^63", fmt::format("{}", split));
      }
    }
  }
}

/// Finds calls that a thread issued as one NCCL group. The calls of a group are consecutive on one
/// process group, and a label or a call of ProcessGroupNCCL (torch 2.15) marks its end. The
/// messages of a batch share a sequence number; up to torch 2.4 and from 2.15 on single messages
/// share it too, and a batch is known only by its mark. From 2.15 on its messages are recorded
/// without number and group, which the mark has. The collectives of a group also share a number,
/// but the group's first collective may have the number before. Then the process group's next
/// collective repeats the group's number.
class Batches {
 public:
  using Calls = std::map<NodeIndex, CommCall>;

  void add(Calls::value_type& entry) {
    CommCall& call = entry.second;
    if (!calls_.empty() && !can_follow(last(), call)) {
      calls_.clear();
    }
    if (is_unissued(call) || (call.seq && (is_message(call.kind) || is_collective(call)))) {
      calls_.push_back(&entry);
    }
    if (calls_.size() > 1 && call.is_p2p.value_or(false)) {
      mark(0);
    }
  }
  /// Ends a batch at a label; `later` is the first call after the label. Returns the batch's last
  /// call, if any.
  NodeIndex end(Calls::const_iterator later, Calls::const_iterator end_of_calls) {
    if (calls_.empty()) {
      return kNoNode;
    }
    const CommCall& call = last();
    std::size_t first = calls_.size() - 1;
    while (first > 0 && calls_[first - 1]->second.seq == call.seq) {
      --first;
    }
    if (is_message(call.kind)) {
      mark(first);
    } else {
      const bool are_several = first + 1 < calls_.size();
      if (first > 0 && are_in_turn(calls_[first - 1]->second, call) &&
          is_first_apart(call, are_several, later, end_of_calls)) {
        --first;
      }
      if (first + 1 < calls_.size()) {
        mark(first);
      }
    }
    return take_last();
  }
  /// Ends a batch at the call that issues its messages.
  NodeIndex issue(const CommCall& issuer) {
    if (calls_.empty() || !is_unissued(last())) {
      return kNoNode;
    }
    for (Calls::value_type* entry : calls_) {
      CommCall& call = entry->second;
      call.seq = issuer.seq;
      call.is_p2p = issuer.is_p2p;
      call.pg_name = issuer.pg_name;
      call.pg_desc = issuer.pg_desc;
      call.group_size = issuer.group_size;
      call.global_rank_start = issuer.global_rank_start;
      call.global_rank_stride = issuer.global_rank_stride;
    }
    mark(0);
    return take_last();
  }

 private:
  [[nodiscard]] const CommCall& last() const { return calls_.back()->second; }
  NodeIndex take_last() {
    const NodeIndex node = calls_.back()->first;
    calls_.clear();
    return node;
  }
  static bool is_unissued(const CommCall& call) {
    return is_message(call.kind) && !call.seq && call.pg_name.empty();
  }
  static bool is_collective(const CommCall& call) {
    return !is_message(call.kind) && call.kind != CommKind::kWait && call.kind != CommKind::kInit;
  }
  static bool are_in_turn(const CommCall& call, const CommCall& next) {
    return call.seq &&
           static_cast<std::uint64_t>(*next.seq) - static_cast<std::uint64_t>(*call.seq) == 1;
  }
  /// Returns true if the first call of the group that ends with `last` has the number before that
  /// of `last`. The next collective decides: it repeats the number of `last` then. Without a next
  /// collective, the wait decides: it has the first call's number.
  static bool is_first_apart(const CommCall& last, bool are_several, Calls::const_iterator later,
                             Calls::const_iterator end_of_calls) {
    bool is_waited_for_before = false;
    bool is_waited_for = false;
    for (; later != end_of_calls; ++later) {
      const CommCall& call = later->second;
      if (is_collective(call) && call.pg_name == last.pg_name) {
        return call.seq == last.seq;
      }
      if (call.kind == CommKind::kWait && !call.is_p2p.value_or(false)) {
        is_waited_for |= call.seq == last.seq;
        is_waited_for_before |= are_in_turn(call, last);
      }
    }
    return !is_waited_for && (are_several || is_waited_for_before);
  }
  static bool can_follow(const CommCall& before, const CommCall& call) {
    if (!is_message(before.kind)) {
      return call.seq && call.pg_name == before.pg_name && is_collective(call);
    }
    return is_message(call.kind) && call.seq == before.seq && call.pg_name == before.pg_name &&
           call.is_p2p.value_or(true);
  }
  /// Marks the calls from `first` on as a batch with the first call's number, which the wait has.
  void mark(std::size_t first) const {
    for (std::size_t i = first; i < calls_.size(); ++i) {
      CommCall& call = calls_[i]->second;
      call.in_batch = true;
      call.joins_batch = i != first;
      call.seq = calls_[first]->second.seq;
    }
  }

  std::vector<Calls::value_type*> calls_;
};

void find_batches(const Trace& trace, Communication& found) {
  constexpr std::string_view kIssues = "batch_op_issue";  // below no c10d operator
  std::map<std::uint64_t, Batches> by_thread;
  auto next = found.calls.begin();
  for (NodeIndex i = 0; i < trace.nodes.size() && !found.calls.empty(); ++i) {
    const Node& node = trace.nodes[i];
    NodeIndex last = kNoNode;
    if (next != found.calls.end() && next->first == i) {
      Batches& batches = by_thread[node.tid];
      if (next->second.name == kIssues) {
        last = batches.issue(next->second);
      } else {
        batches.add(*next);
      }
      ++next;
    } else if (node.name == "nccl:coalesced") {
      last = by_thread[node.tid].end(next, found.calls.end());
    }
    if (last != kNoNode) {
      found.issued.emplace(i, last);
    }
  }
  // From torch 2.15 on, no message is marked as one.
  const bool marks_messages = std::ranges::none_of(found.calls, [](const auto& entry) {
    return is_message(entry.second.kind) && !entry.second.is_p2p.value_or(true);
  });
  for (auto& [index, call] : found.calls) {
    if (call.kind != CommKind::kWait || !marks_messages) {
      call.is_p2p.reset();
    }
  }
}

}  // namespace

Communication read_communication(const Trace& trace) {
  Communication found;
  const RecordedGroups groups = read_process_groups(trace);
  const std::vector<Below> below = find_below(trace);
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const Node& node = trace.nodes[i];
    const NodeClass node_class = classify(node);
    std::optional<CommCall> call;
    if (node_class == NodeClass::kCommunication) {
      call = read_recorded(trace, node, groups);
    } else if (node_class == NodeClass::kC10d && is_own_call(node, below[i])) {
      call = read_c10d_call(trace, node);
    } else {
      continue;
    }
    const auto index = static_cast<NodeIndex>(i);
    if (!call) {
      found.unknown.push_back(index);
      continue;
    }
    check_splits(trace, node, *call);
    found.calls.emplace_hint(found.calls.end(), index, *std::move(call));
  }
  find_batches(trace, found);
  return found;
}

std::map<NodeIndex, CommCall> communication_calls(const Trace& trace) {
  return read_communication(trace).calls;
}

std::map<std::string, std::uint64_t> count_collectives(const std::map<NodeIndex, CommCall>& calls) {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [index, call] : calls) {
    if (call.kind != CommKind::kInit) {
      ++counts[call.name];
    }
  }
  return counts;
}

}  // namespace understudy::et_schema
