#include "inspect/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/json_csv.h"
#include "common/table.h"
#include "et_schema/model/memory_plan.h"
#include "et_schema/support/error.h"
#include "inspect/memory_curve.h"
#include "inspect/memory_page.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::Instruction;
using et_schema::LiveTensor;
using et_schema::MemoryPlan;
using et_schema::Program;

constexpr std::size_t kColumns = 72;
constexpr std::size_t kRows = 6;

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

/// All figures of the JSON; the curve by name and place of the instructions.
std::string memory_csv(const std::vector<RankMemory>& ranks) {
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
  return json_to_csv(Json{{"ranks", std::move(list)}});
}

std::string peak_text(const RankMemory& memory) {
  if (!memory.plan.peak) {
    return "no instructions";
  }
  const Instruction& peak = memory.program->instructions[*memory.plan.peak];
  return fmt::format("at instruction {} of {}: {}, node {}", *memory.plan.peak,
                     memory.program->instructions.size(), peak.name, peak.node_id);
}

std::string memory_text(const RankMemory& memory) {
  const MemoryPlan& plan = memory.plan;
  TextTable figures({{"", Alignment::kRight}, {""}});
  figures.add({with_commas(plan.peak_bytes), "bytes at the peak, " + peak_text(memory)});
  figures.add({with_commas(plan.external_bytes), "bytes made before the step, live throughout"});
  if (plan.untouched_bytes > 0) {
    figures.add({with_commas(plan.untouched_bytes), "of these held by the program, used by none"});
  }
  std::string text = fmt::format("rank {}: live tensors by their lifetimes\n", memory.rank);
  text += figures.to_text() + "\n" + draw_curve(plan.live_bytes, kColumns, kRows);

  TextTable largest({{"bytes", Alignment::kRight},
                     {"share", Alignment::kRight},
                     {"largest at the peak", Alignment::kLeft},
                     {"made by", Alignment::kLeft}});
  for (const LiveTensor& tensor : plan.largest) {
    const double share = static_cast<double>(tensor.bytes) /
                         static_cast<double>(std::max<std::uint64_t>(plan.peak_bytes, 1));
    largest.add({with_commas(tensor.bytes), fmt::format("{:.1f} %", 100 * share),
                 et_schema::layout_text(memory.program->slots[tensor.slot]),
                 et_schema::maker_text(*memory.program, plan, tensor)});
  }
  return largest.empty() ? text : text + "\n" + largest.to_text();
}

std::string memory_text(const std::vector<RankMemory>& ranks) {
  std::string text;
  for (const RankMemory& memory : ranks) {
    text += (text.empty() ? "" : "\n") + memory_text(memory);
  }
  return text;
}

std::vector<RankMemory> memory_of(const Bench& bench, std::optional<int> rank) {
  if (rank && (*rank < 0 || *rank >= bench.world_size())) {
    throw et_schema::usage_error(
        "there is no such rank",
        {.field = "--rank",
         .expected = bench.world_size() == 1 ? "0, the only one"
                                             : fmt::format("0 to {}", bench.world_size() - 1),
         .got = fmt::format("{}", *rank)});
  }
  std::vector<RankMemory> ranks;
  for (std::size_t i = 0; i < bench.programs.size(); ++i) {
    if (!rank || static_cast<std::size_t>(*rank) == i) {
      ranks.push_back({i, &bench.programs[i], et_schema::plan_memory(bench.programs[i])});
    }
  }
  return ranks;
}

}  // namespace

std::string render_memory(const Bench& bench, std::optional<int> rank, Format format) {
  const std::vector<RankMemory> ranks = memory_of(bench, rank);
  const Json document = memory_document(ranks);
  if (format == Format::kHtml) {
    return pages::to_html(memory_page(ranks, document.dump()));
  }
  return format == Format::kCsv ? memory_csv(ranks)
                                : as_asked(format, document, [&] { return memory_text(ranks); });
}

}  // namespace understudy::cli
