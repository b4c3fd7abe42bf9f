#include "inspect/memory_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/table.h"
#include "pages/plots/series.h"

namespace understudy::cli {
namespace {

using et_schema::MemoryPlan;
using pages::CellKind;

pages::Markup curve_of(const RankMemory& memory, const std::string& id) {
  pages::Series plot{.id = id + "-series",
                     .caption =
                         "Bytes of the live tensors while each instruction runs, by their "
                         "lifetimes; what operators allocate inside of themselves is not "
                         "in it.",
                     .unit = "bytes",
                     .place = "instruction"};
  plot.lines = {{"live tensors", {}}};
  for (std::size_t i = 0; i < memory.plan.live_bytes.size(); ++i) {
    plot.lines[0].values.emplace_back(static_cast<double>(memory.plan.live_bytes[i]));
    plot.places.push_back(fmt::format("{} {}", i, memory.program->instructions[i].name));
  }
  if (memory.plan.peak) {
    plot.marks.push_back({*memory.plan.peak, "peak", pages::Tone::kAttention});
  }
  return pages::series(plot);
}

pages::Table largest_of(const RankMemory& memory, const std::string& id) {
  pages::Table table{
      .id = id + "-table",
      .caption = "The largest tensors at the peak",
      .columns = {
          {"tensor"}, {"bytes", CellKind::kBytes}, {"share", CellKind::kShare}, {"made by"}}};
  const double peak = static_cast<double>(std::max<std::uint64_t>(memory.plan.peak_bytes, 1));
  for (const et_schema::LiveTensor& tensor : memory.plan.largest) {
    table.rows.push_back({et_schema::layout_text(memory.program->slots[tensor.slot]), tensor.bytes,
                          pages::cell_of(std::optional(static_cast<double>(tensor.bytes) / peak)),
                          et_schema::maker_text(*memory.program, memory.plan, tensor)});
  }
  return table;
}

}  // namespace

pages::Page memory_page(const std::vector<RankMemory>& ranks, const std::string& json) {
  pages::Page page;
  page.title = "Memory over the step";
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const MemoryPlan& plan = ranks[i].plan;
    most = std::max(most, plan.peak_bytes);
    const std::string id = fmt::format("rank-{}", ranks[i].rank);
    const std::string at = fmt::format("/memory/{}/", i);
    const auto fact = [&](const char* name, const char* key, std::uint64_t bytes) {
      return pages::Fact{name, bytes, CellKind::kBytes, "", at + key};
    };
    page.sections.push_back({id,
                             fmt::format("Rank {}", ranks[i].rank),
                             {pages::Facts{fact("at the peak", "peak_bytes", plan.peak_bytes),
                                           fact("made before the step, live throughout",
                                                "external_bytes", plan.external_bytes),
                                           fact("of these held by the program, used by none",
                                                "untouched_bytes", plan.untouched_bytes)},
                              curve_of(ranks[i], id), largest_of(ranks[i], id)}});
  }
  page.verdict = fmt::format("Live tensors need {} at their peak{}.", with_bytes(most),
                             ranks.size() > 1 ? ", on the rank that needs most" : "");
  page.data = json;
  page.data_name = "memory.json";
  page.footer = "Made by Understudy's inspect.";
  return page;
}

}  // namespace understudy::cli
