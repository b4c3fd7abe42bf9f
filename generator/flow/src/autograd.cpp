#include "generator/flow/autograd.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

using et_schema::Scope;

struct Sequence {
  std::uint64_t thread = 0;
  std::int64_t number = 0;
  bool operator==(const Sequence&) const = default;
};

struct SequenceHash {
  std::size_t operator()(const Sequence& sequence) const {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;  // spreads threads over the numbers
    return static_cast<std::size_t>(sequence.thread * kOdd +
                                    static_cast<std::uint64_t>(sequence.number));
  }
};

}  // namespace

std::vector<NodeIndex> find_forwards(const Trace& trace) {
  std::vector<NodeIndex> forwards(trace.nodes.size(), kNoNode);
  std::unordered_map<Sequence, NodeIndex, SequenceHash> latest;
  for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    if (node.seq_id < 0) {
      continue;
    }
    if (node.scope != Scope::kBackwardFunction) {
      latest[{node.tid, node.seq_id}] = index;
      continue;
    }
    const std::uint64_t thread = node.fw_tid == 0 ? node.tid : node.fw_tid;
    if (const auto found = latest.find({thread, node.seq_id}); found != latest.end()) {
      forwards[index] = found->second;
    }
  }
  return forwards;
}

NodeIndex evaluation_of(const Trace& trace, NodeIndex backward) {
  constexpr std::string_view kEvaluation = "autograd::engine::evaluate_function";
  const NodeIndex parent = trace.nodes[backward].parent;
  const bool is_evaluated = parent != kNoNode && trace.nodes[parent].name.starts_with(kEvaluation);
  return is_evaluated ? parent : backward;
}

std::vector<NodeIndex> find_gradient_producers(const Trace& trace) {
  constexpr std::string_view kAccumulation = "torch::autograd::AccumulateGrad";
  std::vector<NodeIndex> producers(trace.nodes.size(), kNoNode);
  std::unordered_map<std::int64_t, NodeIndex> writers;  // by storage: its latest writer so far
  for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    if (node.name == kAccumulation) {
      et_schema::for_each_tensor(node.inputs, [&](const Tensor& gradient) {
        const auto writer = writers.find(gradient.storage_id);
        if (gradient.has_storage() && writer != writers.end()) {
          producers[index] = writer->second;
        }
      });
    }
    et_schema::for_each_tensor(node.outputs, [&](const Tensor& output) {
      if (output.has_storage()) {
        writers[output.storage_id] = index;
      }
    });
  }
  return producers;
}

}  // namespace understudy::generator
