#include "inspect/bench.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "common/table.h"
#include "et_schema/lifetimes.h"

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

ProgramSummary summarise(const Program& program) {
  ProgramSummary summary;
  for (const Instruction& instruction : program.instructions) {
    for (const KindName& known : kKinds) {
      if (known.kind == instruction.kind) {
        ++summary.kinds[known.name];
      }
    }
  }
  for (const et_schema::Storage& storage : program.storages) {
    summary.external_bytes += storage.external ? et_schema::memory_bytes(storage) : 0;
  }
  return summary;
}

std::string schema_of(const Bench& bench, std::size_t rank) {
  return rank < bench.sources.size() ? bench.sources[rank].schema : std::string();
}

Json to_json(const Bench& bench) {
  Json list = Json::array();
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    const ProgramSummary summary = summarise(program);
    Json opened = Json::array();
    for (const et_schema::Opened& entry : program.selection.opened) {
      opened.push_back({{"name", entry.name}, {"count", entry.count}, {"reason", entry.reason}});
    }
    list.push_back({{"rank", rank},
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
  const Json document = {
      {"benchmark", {{"tool_version", bench.tool_version}, {"world_size", bench.world_size()}}},
      {"ranks", std::move(list)}};
  return document.dump() + "\n";
}

TextTable rank_table(const Bench& bench) {
  TextTable table({{"rank", Alignment::kRight},
                   {"schema", Alignment::kLeft},
                   {"step", Alignment::kLeft},
                   {"operators", Alignment::kRight},
                   {"instructions", Alignment::kRight},
                   {"slots", Alignment::kRight},
                   {"storages", Alignment::kRight},
                   {"external bytes", Alignment::kRight}});
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    table.add({fmt::format("{}", rank), schema_of(bench, rank), program.selection.step,
               fmt::format("{}", program.selection.operators),
               fmt::format("{}", program.instructions.size()),
               fmt::format("{}", program.slots.size()), fmt::format("{}", program.storages.size()),
               fmt::format("{}", summarise(program).external_bytes)});
  }
  return table;
}

std::string to_text(const Bench& bench) {
  std::string text =
      fmt::format("benchmark of {} {}, made by Understudy {}\n\n", bench.world_size(),
                  bench.world_size() == 1 ? "rank" : "ranks", bench.tool_version);
  text += rank_table(bench).to_text();
  TextTable kinds({{"rank", Alignment::kRight},
                   {"instruction", Alignment::kLeft},
                   {"count", Alignment::kRight}});
  TextTable opened({{"rank", Alignment::kRight},
                    {"opened", Alignment::kLeft},
                    {"count", Alignment::kRight},
                    {"reason", Alignment::kLeft}});
  TextTable losses({{"rank", Alignment::kRight},
                    {"not as in the program", Alignment::kLeft},
                    {"count", Alignment::kRight}});
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    const std::string id = fmt::format("{}", rank);
    for (const auto& [name, count] : summarise(program).kinds) {
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
  return text;
}

}  // namespace

std::string render_bench(const Bench& bench, Format format) {
  switch (format) {
    case Format::kJson:
      return to_json(bench);
    case Format::kCsv:
      return rank_table(bench).to_csv();
    case Format::kText:
      break;
  }
  return to_text(bench);
}

}  // namespace understudy::cli
