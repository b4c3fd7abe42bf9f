#include "inspect/bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "common/json_csv.h"
#include "common/table.h"
#include "et_schema/model/memory_plan.h"
#include "et_schema/support/error.h"
#include "inspect/bench_page.h"
#include "inspect/render_ops.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;

struct KindName {
  InstructionKind kind;
  const char* name;
};
constexpr std::array kKinds = {KindName{InstructionKind::kOp, "op"},
                               KindName{InstructionKind::kAlias, "alias"},
                               KindName{InstructionKind::kNative, "native"},
                               KindName{InstructionKind::kCollective, "collective"},
                               KindName{InstructionKind::kP2p, "p2p"},
                               KindName{InstructionKind::kWait, "wait"},
                               KindName{InstructionKind::kKernel, "kernel"},
                               KindName{InstructionKind::kMarker, "marker"}};

/// One rank's program in figures; instructions of bodies are not counted.
struct ProgramSummary {
  std::map<std::string, std::uint64_t> kinds;
  std::uint64_t external_bytes = 0;
};

ProgramSummary program_summary(const Program& program) {
  ProgramSummary summary;
  for (const Instruction& instruction : program.instructions) {
    for (const KindName& known : kKinds) {
      if (known.kind == instruction.kind) {
        ++summary.kinds[known.name];
      }
    }
  }
  summary.external_bytes = et_schema::plan_memory(program).external_bytes;
  return summary;
}

std::string schema_of(const Bench& bench, std::size_t rank) {
  return rank < bench.sources.size() ? bench.sources[rank].schema : std::string();
}

Json bench_document(const Bench& bench) {
  Json list = Json::array();
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    const ProgramSummary summary = program_summary(program);
    Json opened = Json::array();
    for (const et_schema::Opened& entry : program.selection.opened) {
      opened.push_back({{"name", entry.name}, {"count", entry.count}, {"reason", entry.reason}});
    }
    list.push_back({{"rank", bench.recorded_rank(rank)},
                    {"schema", schema_of(bench, rank)},
                    {"step", program.selection.step},
                    {"operators", program.selection.operators},
                    {"instructions", program.instructions.size()},
                    {"kinds", summary.kinds},
                    {"slots", program.slots.size()},
                    {"storages", program.storages.size()},
                    {"external_bytes", summary.external_bytes},
                    {"opened", std::move(opened)},
                    {"losses", program.losses.nonzero()}});
  }
  return {{"benchmark",
           {{"tool_version", bench.tool_version},
            {"world_size", bench.world_size()},
            {"recorded_world_size", bench.recorded_world_size()}}},
          {"ranks", std::move(list)}};
}

TextTable rank_table(const Bench& bench) {
  TextTable table({{"rank", Alignment::kRight},
                   {"schema", Alignment::kLeft},
                   {"step", Alignment::kLeft},
                   {"operators", Alignment::kRight},
                   {"instructions", Alignment::kRight},
                   {"slots", Alignment::kRight},
                   {"storages", Alignment::kRight},
                   {"bytes made before the step", Alignment::kRight}});
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    table.add({fmt::format("{}", rank), schema_of(bench, rank), program.selection.step,
               fmt::format("{}", program.selection.operators),
               fmt::format("{}", program.instructions.size()),
               fmt::format("{}", program.slots.size()), fmt::format("{}", program.storages.size()),
               with_commas(program_summary(program).external_bytes)});
  }
  return table;
}

std::string bench_text(const Bench& bench) {
  std::string text = fmt::format("benchmark of {} {}, made by Understudy {}\n", bench.world_size(),
                                 bench.world_size() == 1 ? "rank" : "ranks", bench.tool_version);
  if (bench.partial) {
    text += fmt::format("some of a job's ranks, each to be replayed alone: {} of {}\n",
                        fmt::join(bench.partial->ranks, ", "), bench.partial->world_size);
  }
  text += '\n';
  text += rank_table(bench).to_text();
  TextTable kinds({{"rank", Alignment::kRight},
                   {"instruction", Alignment::kLeft},
                   {"count", Alignment::kRight}});
  TextTable opened({{"rank", Alignment::kRight},
                    {"opened", Alignment::kLeft},
                    {"count", Alignment::kRight},
                    {"reason", Alignment::kLeft}});
  TextTable losses(
      {{"rank", Alignment::kRight}, {"losses", Alignment::kLeft}, {"count", Alignment::kRight}});
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    const std::string id = fmt::format("{}", rank);
    for (const auto& [name, count] : program_summary(program).kinds) {
      kinds.add({id, name, with_commas(count)});
    }
    for (const et_schema::Opened& entry : program.selection.opened) {
      opened.add({id, entry.name, with_commas(entry.count), entry.reason});
    }
    for (const auto& [name, count] : program.losses.nonzero()) {
      losses.add({id, name, with_commas(count)});
    }
  }
  for (const TextTable* table : {&kinds, &opened, &losses}) {
    if (!table->empty()) {
      text += '\n';
      text += table->to_text();
    }
  }
  if (losses.empty()) {
    text += "\nNothing was lost or repaired\n";
  }
  return text;
}

}  // namespace

std::string render_bench(const Bench& bench, Format format, std::optional<GroupBy> by) {
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
  switch (format) {
    case Format::kJson: {
      Json document = bench_document(bench);
      for (std::size_t rank = 0; rank < ops.size(); ++rank) {
        add_ops(document["ranks"][rank], ops[rank], *by);
      }
      return document.dump() + "\n";
    }
    case Format::kCsv:
      return by ? ops_csv(ops, *by) : json_to_csv(bench_document(bench));
    case Format::kText:
      break;
  }
  return bench_text(bench) + (by ? "\n" + ops_text(ops, *by) : "");
}

std::string bench_as_page(const Bench& bench, const std::string& file) {
  return pages::to_html(bench_page(bench, file, bench_document(bench).dump()));
}

}  // namespace understudy::cli
