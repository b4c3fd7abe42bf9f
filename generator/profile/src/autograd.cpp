#include "autograd.h"

#include <algorithm>

namespace understudy::generator {

Autograd::Autograd(const HostEvents& host, std::span<const Call> calls) : host_(host) {
  std::vector<bool> in_backward(calls.size());
  for (HostIndex i = 0; i < calls.size(); ++i) {
    const HostIndex parent = host.events[i].parent;
    in_backward[i] = calls[i].is_backward || (parent != kNoEvent && in_backward[parent]);
    const et_schema::KinetoEvent& event = host_.source(i);
    if (in_backward[i]) {
      begin_ns_ = std::min(begin_ns_, host.events[i].start_ns);
    }
    if (event.sequence < 0) {
      continue;
    }
    // The counter advances after a node is made: the last operator with a number made the node.
    Node& node = nodes_[event.sequence];
    if (!in_backward[i]) {
      node.forward = i;
    } else if (event.name.starts_with(kEvaluationLabel)) {
      node.label = i;
    }
  }
  for (HostIndex i = 0; i < calls.size(); ++i) {
    const HostIndex parent = host.events[i].parent;
    if (parent != kNoEvent && in_backward[i] &&
        is_addition(host_.source(i).name, host_.source(parent).name)) {
      if (const auto node = nodes_.find(host_.source(parent).sequence); node != nodes_.end()) {
        node->second.additions.push_back(i);
      }
    }
  }
  for (auto& [sequence, node] : nodes_) {
    if (node.label != kNoEvent && node.forward != kNoEvent) {
      of_forward_.emplace(node.forward, &node);
      by_begin_.emplace(host.events[node.label].start_ns, &node);
      node.kept = kept_from(host.events[node.label].behind);
    }
  }
}

HostIndex Autograd::forward_of(std::int64_t sequence) const {
  const auto found = nodes_.find(sequence);
  return found == nodes_.end() ? kNoEvent : found->second.forward;
}

bool Autograd::is_within(HostIndex inner, HostIndex outer) const {
  while (inner != kNoEvent && inner > outer) {
    inner = host_.events[inner].parent;
  }
  return inner == outer;
}

bool Autograd::frees(HostIndex call, std::int64_t freed_ns) const {
  if (call == kNoEvent || freed_ns == kLatestNs) {
    return false;
  }
  auto after = by_begin_.upper_bound(freed_ns);
  if (after == by_begin_.begin()) {
    return false;
  }
  const Node& node = *std::prev(after)->second;
  return freed_ns <= host_.events[node.label].end_ns && is_within(node.forward, call);
}

bool Autograd::goes_back(HostIndex call) const {
  const auto first = of_forward_.lower_bound(call);
  return first != of_forward_.end() && is_within(first->first, call);
}

std::vector<std::span<const std::int64_t>> Autograd::kept_from(HostIndex label) const {
  std::vector<std::span<const std::int64_t>> kept;
  while (label + 1 < host_.events.size() &&
         host_.source(label).name.starts_with(kEvaluationLabel) &&
         host_.source(label).name.ends_with(kKeepsGradient)) {
    const et_schema::KinetoEvent& keeper = host_.source(label + 1);
    if (keeper.name == kKeepsGradient && keeper.arguments.size() == 1 &&
        keeper.arguments[0].layouts.size() == 1) {
      kept.push_back(keeper.arguments[0].layouts[0].sizes);
    }
    label = host_.events[label].behind;
  }
  return kept;
}

bool Autograd::reads_parameter(HostIndex call, std::span<const std::int64_t> sizes) const {
  for (auto at = of_forward_.lower_bound(call);
       at != of_forward_.end() && is_within(at->first, call); ++at) {
    if (std::ranges::any_of(at->second->kept, [sizes](std::span<const std::int64_t> kept) {
          return std::ranges::equal(kept, sizes);
        })) {
      return true;
    }
  }
  return false;
}

std::span<const HostIndex> Autograd::additions(HostIndex call) const {
  const auto found = of_forward_.find(call);
  return found == of_forward_.end() ? std::span<const HostIndex>() : found->second->additions;
}

bool Autograd::is_addition(std::string_view op, std::string_view parent) {
  return (op == "aten::add" || op == "aten::add_") && parent.starts_with(kEvaluationLabel);
}

}  // namespace understudy::generator
