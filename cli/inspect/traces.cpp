#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "comm_calls.h"
#include "documents.h"
#include "et_schema/base/figures.h"
#include "et_schema/formats/pytorch_et/comm_calls.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Node;
using et_schema::NodeClass;
using et_schema::Tensor;
using et_schema::Trace;
using et_schema::Value;
using et_schema::ValueKind;
using pages::counts, pages::ids, pages::losses_at, pages::table_at, pages::texts;

/// The tensors of a trace by device and element type, as its nodes name them.
class TensorCounts {
 public:
  explicit TensorCounts(const Trace& trace) {
    const auto add_one = [this](const Tensor& tensor) { add(tensor); };
    for (const Node& node : trace.nodes) {
      for_each_tensor(node.inputs, add_one);
      for_each_tensor(node.outputs, add_one);
    }
  }

  [[nodiscard]] std::size_t ids() const { return ids_.size(); }
  [[nodiscard]] std::size_t storages() const { return storages_.size(); }

  [[nodiscard]] std::set<std::string> devices() const {
    std::set<std::string> devices;
    for (const auto& [key, kind] : kinds_) {
      if (!key.first.empty()) {
        devices.insert(key.first);
      }
    }
    return devices;
  }

  [[nodiscard]] Json json() const {
    Json list = Json::array();
    for (const auto& [key, kind] : kinds_) {
      list.push_back({{"device", key.first},
                      {"dtype", key.second},
                      {"occurrences", kind.occurrences},
                      {"tensors", kind.ids.size()},
                      {"storages", kind.storages.size()},
                      {"largest_bytes", kind.largest_bytes}});
    }
    return list;
  }

 private:
  void add(const Tensor& tensor) {
    ids_.insert(tensor.tensor_id);
    storages_.insert(tensor.storage_id);
    Kind& kind = kinds_[{to_string(tensor.device), std::string(to_string(tensor.dtype))}];
    ++kind.occurrences;
    kind.ids.insert(tensor.tensor_id);
    kind.storages.insert(tensor.storage_id);
    kind.largest_bytes = std::max(kind.largest_bytes, tensor_bytes(tensor));
  }

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

/// Number of nodes by kind; communications are counted from the calls.
struct NodeCounts {
  std::uint64_t operators = 0;
  std::uint64_t labels = 0;
  std::uint64_t triton_kernels = 0;
  std::uint64_t steps = 0;
  std::set<std::uint64_t> threads;

  void add(const Node& node) {
    if (node.parent != et_schema::kNoNode) {
      threads.insert(node.tid);
    }
    const NodeClass kind = classify(node);
    operators += kind == NodeClass::kOperator || kind == NodeClass::kKernel ? 1U : 0U;
    triton_kernels += kind == NodeClass::kKernel && node.kernel_backend == "triton" ? 1U : 0U;
    labels += kind == NodeClass::kLabel ? 1U : 0U;
    steps += kind == NodeClass::kLabel && node.name.starts_with("ProfilerStep#") ? 1U : 0U;
  }
};

Json tree_json(const Trace& trace) {
  Json list = Json::array();
  for (const Node& node : trace.nodes) {
    list.push_back(
        {{"id", node.id},
         {"parent", node.parent == et_schema::kNoNode ? Json() : Json(trace.nodes[node.parent].id)},
         {"name", node.name}});
  }
  return list;
}

Json rank_json(const Trace& trace, const InspectOptions& options) {
  NodeCounts counts;
  for (const Node& node : trace.nodes) {
    counts.add(node);
  }
  const TensorCounts tensors(trace);
  const auto calls = et_schema::communication_calls(trace);
  const auto collectives = et_schema::count_collectives(calls);
  for (const auto& [name, count] : collectives) {
    counts.operators += count;
  }
  Json groups = Json::array();
  for (const et_schema::ProcessGroup& group : trace.process_groups) {
    groups.push_back({{"name", group.name},
                      {"description", group.description},
                      {"backend", group.backend},
                      {"ranks", group.ranks},
                      {"size", group.size}});
  }
  Json rank = {{"rank", trace.rank},
               {"schema", trace.schema},
               {"nodes", trace.nodes.size()},
               {"operators", counts.operators},
               {"collectives", collectives},
               {"losses", trace.losses.nonzero()},
               {"file", trace.file},
               {"bytes", trace.content_bytes},
               {"labels", counts.labels},
               {"triton_kernels", counts.triton_kernels},
               {"threads", counts.threads.size()},
               {"steps", counts.steps},
               {"tensors", tensors.ids()},
               {"storages", tensors.storages()},
               {"devices", tensors.devices()},
               {"process_groups", std::move(groups)}};
  if (options.collectives) {
    rank["calls"] = Json::array();
    std::size_t batches = 0;
    for (const auto& [index, call] : calls) {
      rank["calls"].push_back(call_json(trace.nodes[index], call, batches));
    }
  }
  rank["tensor_kinds"] = tensors.json();
  if (options.tree) {
    rank["tree"] = tree_json(trace);
  }
  return rank;
}

std::string values_text(std::span<const Value> values);

std::string value_text(const Value& value) {
  constexpr std::size_t kMostItems = 4;
  switch (value.kind()) {
    case ValueKind::kNone:
      return "None";
    case ValueKind::kTensor:
      return tensor_text(value.tensor());
    case ValueKind::kBool:
      return value.as_bool() ? "True" : "False";
    case ValueKind::kInt:
      return fmt::format("{}", value.as_int());
    case ValueKind::kDouble:
      return fmt::format("{}", value.as_double());
    case ValueKind::kString:
      return fmt::format("\"{}\"", value.text());
    case ValueKind::kDevice:
      return std::string(value.text());
    case ValueKind::kOpaque:
      return fmt::format("<{}>", value.text());
    case ValueKind::kList:
    case ValueKind::kTuple:
      break;
  }
  const std::span<const Value> items = value.items();
  return items.size() <= kMostItems
             ? fmt::format("[{}]", values_text(items))
             : fmt::format("[{}, … {} in all]", values_text(items.first(kMostItems)), items.size());
}

std::string values_text(std::span<const Value> values) {
  std::string text;
  for (const Value& value : values) {
    text += (text.empty() ? "" : ", ") + value_text(value);
  }
  return text;
}

/// Returns "aten::mm (float32[8,4], float32[4,2]) -> float32[8,2]".
std::string node_text(const Node& node) {
  std::string text(node.name);
  if (!node.inputs.empty()) {
    text += fmt::format(" ({})", values_text(node.inputs));
  }
  if (!node.outputs.empty()) {
    text += fmt::format(" -> {}", values_text(node.outputs));
  }
  return text;
}

/// Lists the nodes depth first. Their ids are in another order if threads interleave.
pages::Table tree_table(const Trace& trace) {
  pages::Table table{.id = fmt::format("tree-{}", trace.rank),
                     .caption = fmt::format("Nodes of rank {}", trace.rank),
                     .columns = {texts("node"), ids("id")}};
  std::vector<std::pair<et_schema::NodeIndex, std::size_t>> waiting = {{0, 0}};
  while (!waiting.empty()) {
    const auto [index, depth] = waiting.back();
    waiting.pop_back();
    const Node& node = trace.nodes[index];
    table.rows.push_back({std::string(2 * depth, ' ') + node_text(node), node.id});
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      waiting.emplace_back(*child, depth + 1);
    }
  }
  return table;
}

pages::Section ranks_section(const Json& document) {
  return {
      "ranks",
      "Ranks",
      {table_at(document, "/ranks", "Ranks",
                {ids("rank"), texts("schema"), counts("nodes"), counts("operators"),
                 counts("labels"), counts("steps"), counts("threads"), counts("tensors"),
                 counts("storages"), texts("devices")}),
       table_at(document, "/ranks/*/collectives", "Communication",
                {texts("collective", "name"), counts("count", "value"), ids("rank")}),
       table_at(document, "/ranks/*/process_groups", "Process groups",
                {texts("name"), counts("size"), ids("rank"),
                 texts("its ranks", "ranks", "none: all"), texts("description"), texts("backend")}),
       losses_at(document, "/ranks/*/losses")}};
}

pages::Section tensors_section(const Json& document) {
  return {"tensors",
          "Tensors",
          {table_at(document, "/ranks/*/tensor_kinds", "Tensors by device and element type",
                    {texts("dtype"), texts("device"), counts("occurrences"), counts("tensors"),
                     counts("storages"), counts("largest bytes", "largest_bytes"), ids("rank")})}};
}

}  // namespace

pages::Page traces_page(const et_schema::TraceSet& set, const std::vector<RankOps>& ops,
                        const InspectOptions& options) {
  Json document = {{"ranks", Json::array()}};
  std::uint64_t bytes = 0;
  et_schema::Losses losses;
  for (const Trace& trace : set.traces) {
    document["ranks"].push_back(rank_json(trace, options));
    bytes += trace.content_bytes;
    losses += trace.losses;
  }
  document["left_out"] = {{"kineto", set.kineto}, {"others", set.others}};
  add_all_ops(document, ops);
  pages::Page page;
  page.title = fmt::format("{}, {} of traces", et_schema::counted(set.traces.size(), "rank"),
                           et_schema::with_bytes(bytes));
  page.verdict.sentence =
      losses.nonzero().empty()
          ? "Nothing of them is missing or repaired."
          : et_schema::counted(losses.nonzero().size(), "kind") + " of losses and repairs: below.";
  page.sections = {ranks_section(document)};
  if (!set.kineto.empty() || !set.others.empty()) {
    page.sections.front().blocks.emplace_back(pages::Notes{{fmt::format(
        "Beside them: {} Kineto files (profiles: generate takes times from them), {} other JSON "
        "files",
        set.kineto.size(), set.others.size())}});
  }
  if (options.by) {
    page.sections.push_back(ops_section(document, ops));
  }
  page.sections.push_back(calls_section(document, CallDetail::kRecorded));
  page.sections.push_back(tensors_section(document));
  if (options.tree) {
    pages::Section tree{"tree", "Nodes", {}};
    for (const Trace& trace : set.traces) {
      tree.blocks.emplace_back(tree_table(trace));
    }
    page.sections.push_back(std::move(tree));
  }
  return made_by("inspect", std::move(page), document, "traces.json");
}

}  // namespace understudy::cli
