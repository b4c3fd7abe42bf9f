#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "common/table.h"
#include "inspect/render.h"
#include "inspect/render_ops.h"
#include "inspect/tables.h"

namespace understudy::cli {
namespace {

using et_schema::Node;
using et_schema::Value;
using et_schema::ValueKind;

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
      return fmt::format("\"{}\"", printable(value.text()));
    case ValueKind::kDevice:
      return printable(value.text());
    case ValueKind::kOpaque:
      return fmt::format("<{}>", printable(value.text()));
    case ValueKind::kList:
    case ValueKind::kTuple:
      break;
  }
  std::string text = "[";
  const auto items = value.items();
  for (std::size_t i = 0; i < items.size() && i < kMostItems; ++i) {
    text += i == 0 ? "" : ", ";
    text += value_text(items[i]);
  }
  if (items.size() > kMostItems) {
    text += fmt::format(", … {} in all", items.size());
  }
  return text + "]";
}

std::string values_text(std::span<const Value> values) {
  std::string text;
  for (const Value& value : values) {
    text += text.empty() ? "" : ", ";
    text += value_text(value);
  }
  return text;
}

TextTable rank_table(const std::vector<RankSummary>& ranks) {
  TextTable table({{"rank", Alignment::kRight},
                   {"schema", Alignment::kLeft},
                   {"nodes", Alignment::kRight},
                   {"operators", Alignment::kRight},
                   {"labels", Alignment::kRight},
                   {"collectives", Alignment::kRight},
                   {"steps", Alignment::kRight},
                   {"threads", Alignment::kRight},
                   {"tensors", Alignment::kRight},
                   {"storages", Alignment::kRight},
                   {"devices", Alignment::kLeft}});
  for (const RankSummary& rank : ranks) {
    std::uint64_t calls = 0;
    for (const auto& [name, count] : rank.collectives) {
      calls += count;
    }
    table.add({fmt::format("{}", rank.trace->rank), printable(rank.trace->schema),
               with_commas(rank.trace->nodes.size()), with_commas(rank.operators),
               with_commas(rank.labels), with_commas(calls), with_commas(rank.steps),
               with_commas(rank.threads), with_commas(rank.tensor_ids),
               with_commas(rank.storage_ids), fmt::format("{}", fmt::join(rank.devices, " "))});
  }
  return table;
}

bool all_equal(const std::vector<RankSummary>& ranks,
               const std::map<std::string, std::uint64_t> RankSummary::*counts) {
  return std::all_of(ranks.begin(), ranks.end(), [&](const RankSummary& rank) {
    return rank.*counts == ranks.front().*counts;
  });
}

/// Names down, ranks across; one column where all ranks agree.
/// By falling count, then by name.
std::vector<std::pair<std::string, std::uint64_t>> by_count(
    const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::string counts_text(const std::vector<RankSummary>& ranks, std::string title,
                        const std::map<std::string, std::uint64_t> RankSummary::*counts) {
  const std::size_t columns = all_equal(ranks, counts) ? 1 : ranks.size();
  std::vector<TableColumn> heads = {{std::move(title), Alignment::kLeft}};
  std::map<std::string, std::uint64_t> names;
  for (std::size_t i = 0; i < columns; ++i) {
    heads.push_back({ranks.size() == 1 ? "count"
                     : columns == 1    ? "each rank"
                                       : fmt::format("rank {}", ranks[i].trace->rank),
                     Alignment::kRight});
    for (const auto& [name, count] : ranks[i].*counts) {
      names[name] += count;
    }
  }
  TextTable table(heads);
  for (const auto& [name, sum] : by_count(names)) {
    std::vector<std::string> cells = {printable(name)};
    for (std::size_t i = 0; i < columns; ++i) {
      const auto found = (ranks[i].*counts).find(name);
      cells.push_back(found == (ranks[i].*counts).end() ? "-" : with_commas(found->second));
    }
    table.add(std::move(cells));
  }
  return table.empty() ? std::string() : "\n" + table.to_text();
}

std::string groups_text(const std::vector<RankSummary>& ranks) {
  TextTable table({{"rank", Alignment::kRight},
                   {"process group", Alignment::kLeft},
                   {"description", Alignment::kLeft},
                   {"backend", Alignment::kLeft},
                   {"size", Alignment::kRight},
                   {"ranks", Alignment::kLeft}});
  for (const RankSummary& rank : ranks) {
    for (const et_schema::ProcessGroup& group : rank.trace->process_groups) {
      table.add({fmt::format("{}", rank.trace->rank), printable(group.name),
                 printable(group.description), printable(group.backend),
                 fmt::format("{}", group.size),
                 group.ranks.empty() ? "all" : fmt::format("{}", fmt::join(group.ranks, " "))});
    }
  }
  return table.empty() ? std::string() : "\n" + table.to_text();
}

std::string losses_text(const std::vector<RankSummary>& ranks) {
  std::map<std::string, std::uint64_t> sums;
  for (const RankSummary& rank : ranks) {
    for (const auto& [name, count] : rank.losses) {
      sums[name] += count;
    }
  }
  TextTable table(
      {{"losses", Alignment::kLeft}, {"count", Alignment::kRight}, {"meaning", Alignment::kLeft}});
  for (std::size_t i = 0; i < et_schema::kLossCount; ++i) {
    const et_schema::LossInfo& entry = info(static_cast<et_schema::Loss>(i));
    const auto found = sums.find(std::string(entry.name));
    if (found != sums.end()) {
      table.add({found->first, with_commas(found->second), std::string(entry.meaning)});
    }
  }
  return table.empty() ? std::string() : "\n" + table.to_text();
}

/// How many nodes stand above each.
std::vector<std::size_t> depths_of(const et_schema::Trace& trace) {
  std::vector<std::size_t> depths(trace.nodes.size(), 0);
  for (std::size_t i = 1; i < trace.nodes.size(); ++i) {
    depths[i] = depths[trace.nodes[i].parent] + 1;
  }
  return depths;
}

/// A node's line in the tree: "aten::mm (float32[8,4], float32[4,2]) -> float32[8,2]".
std::string node_text(const Node& node) {
  std::string text = printable(node.name);
  if (!node.inputs.empty()) {
    text += fmt::format(" ({})", values_text(node.inputs));
  }
  if (!node.outputs.empty()) {
    text += fmt::format(" -> {}", values_text(node.outputs));
  }
  return text;
}

/// The tree in depth-first order, which is not the order of ids where threads interleave.
std::string tree_text(const RankSummary& rank) {
  const et_schema::Trace& trace = *rank.trace;
  const std::vector<std::size_t> depths = depths_of(trace);
  std::string text = fmt::format("\nrank {}\n", trace.rank);
  std::vector<et_schema::NodeIndex> waiting = {0};
  while (!waiting.empty()) {
    const et_schema::NodeIndex index = waiting.back();
    waiting.pop_back();
    const Node& node = trace.nodes[index];
    fmt::format_to(std::back_inserter(text), "{:>8}  {:{}}{}\n", node.id, "", 2 * depths[index],
                   node_text(node));
    waiting.insert(waiting.end(), node.children.rbegin(), node.children.rend());
  }
  return text;
}

}  // namespace

std::string to_text(const et_schema::TraceSet& set, const std::vector<RankSummary>& ranks,
                    const InspectOptions& options) {
  std::string text;
  std::uint64_t bytes = 0;
  for (const RankSummary& rank : ranks) {
    bytes += rank.trace->content_bytes;
  }
  fmt::format_to(std::back_inserter(text), "{} {}, {} of traces\n\n", ranks.size(),
                 ranks.size() == 1 ? "rank" : "ranks", with_bytes(bytes));
  text += rank_table(ranks).to_text();
  text += counts_text(ranks, "collective", &RankSummary::collectives);
  text += groups_text(ranks);
  text += losses_text(ranks);
  if (!set.kineto.empty() || !set.others.empty()) {
    fmt::format_to(
        std::back_inserter(text),
        "\n  beside them: {} Kineto files (profiles: generate takes times from them), {} "
        "other JSON files\n",
        set.kineto.size(), set.others.size());
  }
  if (options.ops) {
    text += "\n" + ops_text(ops_of(ranks), options.by);
  }
  if (options.collectives) {
    text += "\n" + calls_table(ranks).to_text();
  }
  if (options.tensors) {
    text += "\n" + tensors_table(ranks).to_text();
  }
  if (options.tree) {
    for (const RankSummary& rank : ranks) {
      text += tree_text(rank);
    }
  }
  return text;
}

}  // namespace understudy::cli
