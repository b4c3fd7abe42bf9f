#include "inspect/op_places.h"

#include "generator/flow/autograd.h"

namespace understudy::cli {
namespace {

using et_schema::kNoNode;
using et_schema::Node;
using et_schema::NodeIndex;
using et_schema::Trace;

/// Empty: that of the node above.
std::string_view phase_told_by(const Node& node) {
  if (node.scope == et_schema::Scope::kBackwardFunction ||
      node.name.starts_with("autograd::engine::evaluate_function")) {
    return "backward";
  }
  if (!node.op_schema.empty()) {
    return "";
  }
  if (node.name.starts_with("Optimizer.")) {
    return "optimizer";
  }
  return node.name.starts_with("enumerate(DataLoader)") ? "data" : "";
}

/// Labels that PyTorch itself makes around everything, or around a communication, name no part of
/// the program.
bool names_a_part(const Node& node) {
  return node.scope == et_schema::Scope::kUserScope && node.op_schema.empty() &&
         !node.name.starts_with("ProfilerStep#") && !node.name.starts_with("[pytorch|profiler|") &&
         !node.name.starts_with("## process_group:") && !node.name.starts_with("nccl:") &&
         !node.name.starts_with("gloo:");
}

/// By node: the one whose module it takes, of labels of a backward pass; else kNoNode.
std::vector<NodeIndex> causes_of(const Trace& trace) {
  const std::vector<NodeIndex> forwards = generator::find_forwards(trace);
  const std::vector<NodeIndex> producers = generator::find_gradient_producers(trace);
  std::vector<NodeIndex> causes(trace.nodes.size(), kNoNode);
  for (NodeIndex node = 0; node < trace.nodes.size(); ++node) {
    const NodeIndex cause = forwards[node] != kNoNode ? forwards[node] : producers[node];
    const NodeIndex label = cause == kNoNode ? node : generator::evaluation_of(trace, node);
    if (cause != kNoNode && cause < label) {
      causes[label] = cause;
    }
  }
  return causes;
}

}  // namespace

std::vector<std::string_view> phases_of(const Trace& trace) {
  std::vector<std::string_view> phases;
  phases.reserve(trace.nodes.size());
  for (const Node& node : trace.nodes) {
    const std::string_view told = phase_told_by(node);
    const std::string_view above = node.parent == kNoNode ? "forward" : phases[node.parent];
    phases.push_back(told.empty() ? above : told);
  }
  return phases;
}

std::vector<std::string> modules_of(const Trace& trace) {
  const std::vector<NodeIndex> causes = causes_of(trace);
  std::vector<std::string> modules(trace.nodes.size());
  for (NodeIndex index = 0; index < trace.nodes.size(); ++index) {
    const Node& node = trace.nodes[index];
    std::string& module = modules[index];
    if (causes[index] != kNoNode) {
      module = modules[causes[index]];
    } else if (node.parent != kNoNode) {
      module = modules[node.parent];
    }
    if (names_a_part(node)) {
      module += (module.empty() ? "" : "/") + std::string(node.name);
    }
  }
  return modules;
}

}  // namespace understudy::cli
