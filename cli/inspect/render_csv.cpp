#include <fmt/format.h>

#include "common/json_csv.h"
#include "common/table.h"
#include "inspect/render.h"
#include "inspect/render_ops.h"
#include "inspect/tables.h"

namespace understudy::cli {
namespace {

using et_schema::Node;

std::string csv_number(std::uint64_t value) {
  return fmt::format("{}", value);
}

TextTable tree_table(const std::vector<RankSummary>& ranks) {
  TextTable table({{"rank"}, {"id"}, {"parent"}, {"name"}});
  for (const RankSummary& rank : ranks) {
    for (const Node& node : rank.trace->nodes) {
      const bool is_root = node.parent == et_schema::kNoNode;
      table.add({fmt::format("{}", rank.trace->rank), csv_number(node.id),
                 is_root ? std::string() : csv_number(rank.trace->nodes[node.parent].id),
                 std::string(node.name)});
    }
  }
  return table;
}

}  // namespace

std::string to_csv(const et_schema::TraceSet& set, const std::vector<RankSummary>& ranks,
                   const InspectOptions& options) {
  if (options.ops) {
    return ops_csv(ops_of(ranks), options.by);
  }
  if (options.collectives) {
    return calls_table(ranks).to_csv();
  }
  if (options.tensors) {
    return tensors_table(ranks).to_csv();
  }
  if (options.tree) {
    return tree_table(ranks).to_csv();
  }
  return json_to_csv(document_of(set, ranks, options));
}

}  // namespace understudy::cli
