#include <nlohmann/json.hpp>

#include "inspect/render.h"
#include "inspect/render_ops.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;

Json counts_json(const std::map<std::string, std::uint64_t>& counts) {
  Json object = Json::object();
  for (const auto& [name, count] : counts) {
    object[name] = count;
  }
  return object;
}

Json calls_json(const RankSummary& rank) {
  Json list = Json::array();
  for (const CallSummary& call : rank.calls) {
    Json entry;
    entry["node"] = call.node;
    entry["name"] = call.name;
    entry["group"] = call.group.empty() ? Json() : Json(call.group);
    entry["group_size"] = call.group_size == 0 ? Json() : Json(call.group_size);
    entry["seq"] = call.seq.empty() ? Json() : Json(std::stoll(call.seq));
    entry["dtype"] = call.dtype.empty() ? Json() : Json(call.dtype);
    entry["in_bytes"] = call.in_bytes;
    entry["out_bytes"] = call.out_bytes;
    list.push_back(std::move(entry));
  }
  return list;
}

Json tensors_json(const RankSummary& rank) {
  Json list = Json::array();
  for (const TensorSummary& kind : rank.tensors) {
    list.push_back({{"device", kind.device},
                    {"dtype", kind.dtype},
                    {"occurrences", kind.occurrences},
                    {"tensors", kind.ids},
                    {"storages", kind.storages},
                    {"largest_bytes", kind.largest_bytes}});
  }
  return list;
}

Json tree_json(const RankSummary& rank) {
  Json list = Json::array();
  for (const et_schema::Node& node : rank.trace->nodes) {
    const bool is_root = node.parent == et_schema::kNoNode;
    Json entry;
    entry["id"] = node.id;
    entry["parent"] = is_root ? Json() : Json(rank.trace->nodes[node.parent].id);
    entry["name"] = node.name;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

nlohmann::ordered_json document_of(const et_schema::TraceSet& set,
                                   const std::vector<RankSummary>& ranks,
                                   const InspectOptions& options) {
  Json list = Json::array();
  for (const RankSummary& rank : ranks) {
    Json entry;
    entry["rank"] = rank.trace->rank;
    entry["schema"] = rank.trace->schema;
    entry["nodes"] = rank.trace->nodes.size();
    entry["operators"] = rank.operators;
    entry["collectives"] = counts_json(rank.collectives);
    entry["losses"] = counts_json(rank.losses);
    entry["file"] = rank.trace->file;
    entry["bytes"] = rank.trace->content_bytes;
    entry["labels"] = rank.labels;
    entry["triton_kernels"] = rank.triton_kernels;
    entry["threads"] = rank.threads;
    entry["steps"] = rank.steps;
    entry["tensors"] = rank.tensor_ids;
    entry["storages"] = rank.storage_ids;
    entry["devices"] = rank.devices;
    Json groups = Json::array();
    for (const et_schema::ProcessGroup& group : rank.trace->process_groups) {
      groups.push_back({{"name", group.name},
                        {"description", group.description},
                        {"backend", group.backend},
                        {"ranks", group.ranks},
                        {"size", group.size}});
    }
    entry["process_groups"] = std::move(groups);
    if (rank.ops) {
      add_ops(entry, *rank.ops, options.by);
    }
    if (options.collectives) {
      entry["calls"] = calls_json(rank);
    }
    if (options.tensors) {
      entry["tensor_kinds"] = tensors_json(rank);
    }
    if (options.tree) {
      entry["tree"] = tree_json(rank);
    }
    list.push_back(std::move(entry));
  }
  Json document;
  document["ranks"] = std::move(list);
  document["left_out"] = {{"kineto", set.kineto}, {"others", set.others}};
  return document;
}

std::string to_json(const et_schema::TraceSet& set, const std::vector<RankSummary>& ranks,
                    const InspectOptions& options) {
  return document_of(set, ranks, options).dump() + "\n";
}

}  // namespace understudy::cli
