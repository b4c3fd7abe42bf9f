#include "inspect/bench.h"

#include <nlohmann/json.hpp>

#include "common/json_csv.h"
#include "et_schema/model/memory_plan.h"
#include "et_schema/support/error.h"
#include "inspect/bench_page.h"
#include "inspect/render_ops.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::Program;

Json bench_document(const Bench& bench) {
  Json list = Json::array();
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    Json opened = Json::array();
    for (const et_schema::Opened& entry : program.selection.opened) {
      opened.push_back({{"name", entry.name}, {"count", entry.count}, {"reason", entry.reason}});
    }
    list.push_back({{"rank", bench.recorded_rank(rank)},
                    {"schema", schema_of(bench, rank)},
                    {"step", program.selection.step},
                    {"operators", program.selection.operators},
                    {"instructions", program.instructions.size()},
                    {"kinds", instruction_kinds(program)},
                    {"slots", program.slots.size()},
                    {"storages", program.storages.size()},
                    {"external_bytes", et_schema::plan_memory(program).external_bytes},
                    {"opened", std::move(opened)},
                    {"losses", program.losses.nonzero()}});
    for (const MappedOperator& entry : mapped_operators(program)) {
      list.back()["mapped"].push_back(
          {{"name", entry.name}, {"count", entry.count}, {"row", entry.row}, {"by", entry.by}});
    }
  }
  return {{"benchmark",
           {{"tool_version", bench.tool_version},
            {"world_size", bench.world_size()},
            {"recorded_world_size", bench.recorded_world_size()}}},
          {"ranks", std::move(list)}};
}

}  // namespace

std::string render_bench(const Bench& bench, const std::string& file, Format format,
                         std::optional<GroupBy> by) {
  if (by == GroupBy::kModule || by == GroupBy::kPhase) {
    throw et_schema::usage_error("a benchmark does not tell where an operator stood in the program",
                                 {.field = "--by",
                                  .expected = "name, class or shape",
                                  .got = std::string(to_string(*by)),
                                  .hint = "inspect the traces that it was made from"});
  }
  std::vector<RankOps> ops;
  for (std::size_t rank = 0; by && rank < bench.programs.size(); ++rank) {
    ops.push_back(group_operators(bench.programs[rank], bench.recorded_rank(rank), *by));
  }
  Json document = bench_document(bench);
  if (format == Format::kCsv) {
    return by ? ops_csv(ops, *by) : json_to_csv(document);
  }
  for (std::size_t rank = 0; rank < ops.size(); ++rank) {
    add_ops(document["ranks"][rank], ops[rank], *by);
  }
  const std::string json = document.dump() + "\n";
  return format == Format::kJson
             ? json
             : pages::written(bench_page(bench, file, json), format) +
                   (by && format == Format::kText ? "\n" + ops_text(ops, *by) : "");
}

}  // namespace understudy::cli
