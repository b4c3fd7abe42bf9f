#include "inspect/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace understudy::cli {
namespace {

using et_schema::CommCall;
using et_schema::Node;
using et_schema::NodeClass;
using et_schema::Tensor;

std::uint64_t bytes_of(const std::vector<const Tensor*>& tensors) {
  std::uint64_t bytes = 0;
  for (const Tensor* tensor : tensors) {
    bytes +=
        static_cast<std::uint64_t>(tensor->numel) * static_cast<std::uint64_t>(tensor->item_bytes);
  }
  return bytes;
}

CallSummary summarise_call(const Node& node, const CommCall& call) {
  CallSummary summary;
  summary.node = node.id;
  summary.name = call.name;
  summary.group = call.pg_name;
  summary.group_size = call.group_size;
  summary.seq = call.seq ? fmt::format("{}", *call.seq) : std::string();
  summary.in_bytes = bytes_of(call.inputs);
  summary.out_bytes = bytes_of(call.outputs);
  const Tensor* first = !call.inputs.empty()    ? call.inputs.front()
                        : !call.outputs.empty() ? call.outputs.front()
                                                : nullptr;
  summary.dtype = first == nullptr ? std::string() : std::string(to_string(first->dtype));
  return summary;
}

/// Collects the tensors of a trace by device and element type.
class TensorCounts {
 public:
  void add(const Tensor& tensor) {
    ids_.insert(tensor.tensor_id);
    storages_.insert(tensor.storage_id);
    Kind& kind = kinds_[{to_string(tensor.device), std::string(to_string(tensor.dtype))}];
    ++kind.occurrences;
    kind.ids.insert(tensor.tensor_id);
    kind.storages.insert(tensor.storage_id);
    kind.largest_bytes =
        std::max(kind.largest_bytes, static_cast<std::uint64_t>(tensor.numel) *
                                         static_cast<std::uint64_t>(tensor.item_bytes));
  }

  void finish(RankSummary& summary) const {
    summary.tensor_ids = ids_.size();
    summary.storage_ids = storages_.size();
    for (const auto& [key, kind] : kinds_) {
      const auto& [device, dtype] = key;
      if (!device.empty()) {
        summary.devices.insert(device);
      }
      summary.tensors.push_back({.device = device,
                                 .dtype = dtype,
                                 .occurrences = kind.occurrences,
                                 .ids = kind.ids.size(),
                                 .storages = kind.storages.size(),
                                 .largest_bytes = kind.largest_bytes});
    }
  }

 private:
  struct Kind {
    std::uint64_t occurrences = 0;
    std::uint64_t largest_bytes = 0;
    std::unordered_set<std::int64_t> ids;
    std::unordered_set<std::int64_t> storages;
  };
  std::unordered_set<std::int64_t> ids_;
  std::unordered_set<std::int64_t> storages_;
  std::map<std::pair<std::string, std::string>, Kind> kinds_;
};

void count_node(RankSummary& summary, const Node& node) {
  switch (classify(node)) {
    case NodeClass::kOperator:
      ++summary.operators;
      break;
    case NodeClass::kKernel:
      ++summary.operators;
      summary.triton_kernels += node.kernel_backend == "triton" ? 1U : 0U;
      break;
    case NodeClass::kLabel:
      ++summary.labels;
      summary.steps += node.name.starts_with("ProfilerStep#") ? 1U : 0U;
      break;
    case NodeClass::kC10d:
    case NodeClass::kCommunication:
      break;  // counted from the calls
  }
}

}  // namespace

RankSummary summarise(const et_schema::Trace& trace) {
  RankSummary summary;
  summary.trace = &trace;
  TensorCounts counts;
  std::set<std::uint64_t> threads;
  for (const Node& node : trace.nodes) {
    count_node(summary, node);
    if (node.parent != et_schema::kNoNode) {
      threads.insert(node.tid);
    }
    const auto add = [&counts](const Tensor& tensor) { counts.add(tensor); };
    for_each_tensor(node.inputs, add);
    for_each_tensor(node.outputs, add);
  }
  counts.finish(summary);
  summary.threads = threads.size();
  const auto calls = et_schema::communication_calls(trace);
  summary.collectives = et_schema::count_collectives(calls);
  for (const auto& [name, count] : summary.collectives) {
    summary.operators += count;
  }
  for (const auto& [index, call] : calls) {
    summary.calls.push_back(summarise_call(trace.nodes[index], call));
  }
  summary.losses = trace.losses.nonzero();
  return summary;
}

std::vector<RankOps> ops_of(const std::vector<RankSummary>& ranks) {
  std::vector<RankOps> ops;
  for (const RankSummary& rank : ranks) {
    if (rank.ops) {
      ops.push_back(*rank.ops);
    }
  }
  return ops;
}

std::string tensor_text(const Tensor& tensor) {
  if (!tensor.defined()) {
    return "undefined";
  }
  return fmt::format("{}[{}]", to_string(tensor.dtype), fmt::join(tensor.sizes, ","));
}

}  // namespace understudy::cli
