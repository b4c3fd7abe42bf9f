#include "generator/flow/autograd.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "generator/flow/model_names.h"

namespace understudy::generator {

std::vector<NodeIndex> find_forwards(const Trace& trace) {
  std::vector<NodeIndex> forwards(trace.nodes.size(), kNoNode);
  std::map<std::pair<std::uint64_t, std::int64_t>, NodeIndex> latest;  // by thread and number
  for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    if (node.seq_id < 0) {
      continue;
    }
    if (node.scope != et_schema::Scope::kBackwardFunction) {
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
  const NodeIndex parent = trace.nodes[backward].parent;
  const bool is_evaluated =
      parent != kNoNode && trace.nodes[parent].name.starts_with(kEvaluationLabel);
  return is_evaluated ? parent : backward;
}

std::vector<NodeIndex> find_gradient_producers(const Trace& trace) {
  std::vector<NodeIndex> producers(trace.nodes.size(), kNoNode);
  std::unordered_map<std::int64_t, NodeIndex> writers;  // by storage: its latest writer so far
  for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    if (node.name == kKeepsGradient) {
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
