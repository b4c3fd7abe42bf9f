#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/pages/document/from_json.h"
#include "cli/pages/document/table.h"
#include "documents.h"
#include "et_schema/base/figures.h"
#include "et_schema/model/memory_plan.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::Instruction;
using et_schema::LiveTensor;
using et_schema::MemoryPlan;
using et_schema::Program;
using pages::byte_counts, pages::facts_at, pages::shares, pages::texts, pages::verdicts;

/// A rank's program with its memory plan.
struct RankMemory {
  std::size_t rank = 0;
  const Program* program = nullptr;
  MemoryPlan plan;
};

Json instruction_json(const Program& program, std::size_t index) {
  const Instruction& instruction = program.instructions[index];
  return {{"instruction", index}, {"node", instruction.node_id}, {"name", instruction.name}};
}

Json tensor_json(const Program& program, const LiveTensor& tensor) {
  const et_schema::Slot& slot = program.slots[tensor.slot];
  return {{"slot", tensor.slot},
          {"dtype", to_string(slot.dtype)},
          {"sizes", slot.sizes},
          {"bytes", tensor.bytes},
          {"external", tensor.external},
          {"made_by", tensor.maker ? instruction_json(program, *tensor.maker) : Json(nullptr)}};
}

Json memory_document(const std::vector<RankMemory>& ranks) {
  Json list = Json::array();
  for (const RankMemory& memory : ranks) {
    const MemoryPlan& plan = memory.plan;
    Json largest = Json::array();
    for (const LiveTensor& tensor : plan.largest) {
      largest.push_back(tensor_json(*memory.program, tensor));
    }
    list.push_back(
        {{"rank", memory.rank},
         {"instructions", plan.live_bytes.size()},
         {"external_bytes", plan.external_bytes},
         {"untouched_bytes", plan.untouched_bytes},
         {"peak_bytes", plan.peak_bytes},
         {"peak", plan.peak ? instruction_json(*memory.program, *plan.peak) : Json(nullptr)},
         {"largest", std::move(largest)},
         {"live_bytes", plan.live_bytes}});
  }
  return {{"memory", std::move(list)}};
}

/// Returns the document for csv: the curve by name and index of the instructions.
Json document_for_csv(const std::vector<RankMemory>& ranks) {
  Json list = memory_document(ranks)["memory"];
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    Json curve = Json::array();
    for (std::size_t i = 0; i < ranks[rank].plan.live_bytes.size(); ++i) {
      const Instruction& instruction = ranks[rank].program->instructions[i];
      curve.push_back({{"name", instruction.name},
                       {"place", fmt::format("instruction {}, node {}", i, instruction.node_id)},
                       {"bytes", ranks[rank].plan.live_bytes[i]}});
    }
    list[rank]["live_bytes"] = std::move(curve);
  }
  return Json{{"ranks", std::move(list)}};
}

std::string peak_text(const RankMemory& memory) {
  if (!memory.plan.peak) {
    return "no instructions";
  }
  const Instruction& peak = memory.program->instructions[*memory.plan.peak];
  return fmt::format("instruction {} of {}: {}, node {}", *memory.plan.peak,
                     memory.program->instructions.size(), peak.name, peak.node_id);
}

pages::Table curve_of(const RankMemory& memory, const std::string& id) {
  pages::Table table{
      .id = id + "-curve",
      .columns = {texts("instruction"), byte_counts("live tensors"), verdicts("mark")}};
  for (std::size_t i = 0; i < memory.plan.live_bytes.size(); ++i) {
    table.rows.push_back({fmt::format("{} {}", i, memory.program->instructions[i].name),
                          memory.plan.live_bytes[i],
                          memory.plan.peak == i ? pages::Cell("peak") : pages::Cell()});
  }
  return drawn(std::move(table),
               {.draw = pages::Draw::kSeries,
                .caption = "Bytes of the live tensors while each instruction runs, by their "
                           "lifetimes; what operators allocate inside of themselves is not in it.",
                .columns = {1},
                .words = 2});
}

pages::Table largest_of(const RankMemory& memory, const std::string& id) {
  pages::Table table{
      .id = id + "-table",
      .caption = "The largest tensors at the peak",
      .columns = {texts("tensor"), byte_counts("bytes"), shares("share"), texts("made by")}};
  const double peak = static_cast<double>(std::max<std::uint64_t>(memory.plan.peak_bytes, 1));
  for (const et_schema::LiveTensor& tensor : memory.plan.largest) {
    table.rows.push_back({et_schema::layout_text(memory.program->slots[tensor.slot]), tensor.bytes,
                          pages::cell_of(std::optional(static_cast<double>(tensor.bytes) / peak)),
                          et_schema::maker_text(*memory.program, memory.plan, tensor)});
  }
  return table;
}

std::vector<RankMemory> memory_of(const Bench& bench) {
  std::vector<RankMemory> ranks;
  for (std::size_t i = 0; i < bench.programs.size(); ++i) {
    ranks.push_back({i, &bench.programs[i], et_schema::plan_step_memory(bench.programs[i])});
  }
  return ranks;
}

pages::Section memory_section(const Json& document, const RankMemory& memory, std::size_t place) {
  const std::string id = fmt::format("rank-{}", memory.rank);
  pages::Facts facts =
      facts_at(document, fmt::format("/memory/{}", place),
               {byte_counts("at the peak", "peak_bytes"),
                byte_counts("made before the step, live throughout", "external_bytes"),
                byte_counts("of these held by the program, used by none", "untouched_bytes")});
  facts.push_back({"peak at", peak_text(memory)});
  return {id,
          fmt::format("Rank {}: live tensors by their lifetimes", memory.rank),
          {std::move(facts), curve_of(memory, id), largest_of(memory, id)}};
}

}  // namespace

pages::Page memory_page(const Bench& bench, Format format) {
  const std::vector<RankMemory> ranks = memory_of(bench);
  const Json document = memory_document(ranks);
  pages::Page page;
  page.title = "Memory over the step";
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    most = std::max(most, ranks[i].plan.peak_bytes);
    page.sections.push_back(memory_section(document, ranks[i], i));
  }
  page.verdict.sentence =
      fmt::format("Live tensors need {} at their peak{}.", et_schema::with_bytes(most),
                  ranks.size() > 1 ? ", on the rank that needs most" : "");
  return made_by("inspect", std::move(page),
                 format == Format::kCsv ? document_for_csv(ranks) : document, "memory.json");
}

}  // namespace understudy::cli
