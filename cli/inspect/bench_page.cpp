#include "inspect/bench_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "common/figures.h"
#include "common/table.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/memory_plan.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/operator_map.h"
#include "inspect/op_times.h"
#include "pages/plots/plots.h"
#include "pages/timeline/timeline.h"

namespace understudy::cli {
namespace {

using et_schema::Bench;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using pages::Cell;
using pages::CellKind;
using pages::Notes;
using pages::Section;
using pages::Table;

constexpr double kNsPerMs = 1e6;

const char* name_of(InstructionKind kind) {
  switch (kind) {
    case InstructionKind::kOp:
      return "op";
    case InstructionKind::kAlias:
      return "alias";
    case InstructionKind::kNative:
      return "native";
    case InstructionKind::kCollective:
      return "collective";
    case InstructionKind::kP2p:
      return "p2p";
    case InstructionKind::kWait:
      return "wait";
    case InstructionKind::kKernel:
      return "kernel";
    case InstructionKind::kMarker:
      break;
  }
  return "marker";
}

bool is_communication(const Instruction& instruction) {
  return instruction.kind == InstructionKind::kCollective ||
         instruction.kind == InstructionKind::kP2p || instruction.kind == InstructionKind::kWait;
}

std::string class_of(const Instruction& instruction) {
  return is_communication(instruction) ? "communication"
                                       : std::string(et_schema::op_class(instruction.name));
}

/// The classes that take most time, the longest first; those without a colour of their own become
/// "other".
class Kinds {
 public:
  explicit Kinds(const Bench& bench) {
    std::map<std::string, std::int64_t> sums;
    for (const Program& program : bench.programs) {
      for (const Instruction& instruction : program.instructions) {
        if (instruction.timing) {
          sums[class_of(instruction)] += instruction.timing->host_ns;
        }
      }
    }
    std::vector<std::pair<std::string, std::int64_t>> order(sums.begin(), sums.end());
    std::ranges::stable_sort(order,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    constexpr std::size_t kMost = 9;
    for (std::size_t i = 0; i < std::min(order.size(), kMost); ++i) {
      names_.push_back(order[i].first);
    }
    if (order.size() > kMost) {
      names_.emplace_back("other");
    }
  }

  [[nodiscard]] std::size_t number_of(const std::string& name) const {
    const auto found = std::ranges::find(names_, name);
    return std::min<std::size_t>(static_cast<std::size_t>(found - names_.begin()),
                                 names_.size() - 1);
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

/// A lane a thread, and one for the calls of communications.
void add_lanes(pages::Timeline& plot, const Program& program, const std::string& group,
               const Kinds& kinds, pages::TextNumbers& names) {
  std::map<std::uint64_t, pages::TimelineLane> threads;
  pages::TimelineLane communication{group, "communication"};
  for (const Instruction& instruction : program.instructions) {
    if (!instruction.timing) {
      continue;
    }
    const pages::TimelineEvent event{instruction.timing->start_ns, instruction.timing->host_ns,
                                     names.number_of(instruction.name),
                                     kinds.number_of(class_of(instruction))};
    threads
        .try_emplace(instruction.thread,
                     pages::TimelineLane{group, fmt::format("thread {}", instruction.thread)})
        .first->second.events.push_back(event);
    if (is_communication(instruction)) {
      communication.events.push_back(event);
    }
  }
  for (auto& [thread, lane] : threads) {
    plot.lanes.push_back(std::move(lane));
  }
  if (!communication.events.empty()) {
    plot.lanes.push_back(std::move(communication));
  }
}

Section timeline_section(const Bench& bench) {
  const Kinds kinds(bench);
  Section section{"timeline", "Timeline of the recorded step", {}};
  if (kinds.names().empty()) {
    section.blocks.emplace_back(
        Notes{{"Not known: no profile was linked, so that no instruction has a recorded time."}});
    return section;
  }
  pages::Timeline plot{.id = "step-timeline",
                       .caption =
                           "When each instruction was issued in the original and how long "
                           "its call took on the host: medians over the profiled steps. "
                           "Calls of communications stand in a lane of their own again. A "
                           "benchmark does not hold when work ran on a device.",
                       .names = {},
                       .kinds = kinds.names(),
                       .lanes = {}};
  pages::TextNumbers names;
  constexpr std::size_t kMostRanks = 16;
  for (std::size_t rank = 0; rank < std::min(bench.programs.size(), kMostRanks); ++rank) {
    add_lanes(plot, bench.programs[rank], fmt::format("rank {}", bench.recorded_rank(rank)), kinds,
              names);
  }
  if (bench.programs.size() > kMostRanks) {
    plot.caption += fmt::format(" The first {} of {} ranks.", kMostRanks, bench.programs.size());
  }
  plot.names = names.texts();
  section.blocks.emplace_back(pages::timeline(plot));
  return section;
}

/// All ranks' operators of a group, by falling time.
std::vector<OpRow> rows_of(const Bench& bench, GroupBy by) {
  std::map<std::string, OpRow> sums;
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    for (const OpRow& row :
         group_operators(bench.programs[rank], static_cast<int>(rank), by).rows) {
      OpRow& sum = sums[row.name];
      sum.name = row.name;
      sum.count += row.count;
      sum.timed += row.timed;
      sum.self_ns += row.self_ns;
      sum.device_ns += row.device_ns;
    }
  }
  std::vector<OpRow> rows;
  for (auto& [name, row] : sums) {
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, [](const OpRow& a, const OpRow& b) {
    return std::pair(a.device_ns, a.self_ns) > std::pair(b.device_ns, b.self_ns);
  });
  return rows;
}

Cell ms_cell(std::uint64_t timed, std::int64_t ns) {
  return timed == 0 ? Cell() : pages::cell_of(std::optional(static_cast<double>(ns) / kNsPerMs));
}

/// Of no text: `inspect --ops` prints these.
Table ops_table(const std::vector<OpRow>& rows, const std::string& id, const char* title) {
  Table table{.id = id,
              .caption = "Recorded times, all ranks; a call with all below it",
              .columns = {{title},
                          {"calls", CellKind::kCount},
                          {"with a time", CellKind::kCount},
                          {"host ms", CellKind::kFigure},
                          {"device ms", CellKind::kFigure}},
              .shown_in_text = 0};
  for (const OpRow& row : rows) {
    table.rows.push_back({row.name, row.count, row.timed, ms_cell(row.timed, row.self_ns),
                          ms_cell(row.timed, row.device_ns)});
  }
  return table;
}

Section operators_section(const Bench& bench) {
  const std::vector<OpRow> classes = rows_of(bench, GroupBy::kClass);
  pages::Bars plot{"Recorded host time by class of operator, all ranks.", "ms", {"recorded"}, {}};
  for (const OpRow& row : classes) {
    plot.rows.push_back({row.name, {static_cast<double>(row.self_ns) / kNsPerMs}});
  }
  return {"operators",
          "Operators",
          {pages::bars(plot), ops_table(classes, "class-table", "class"),
           ops_table(rows_of(bench, GroupBy::kName), "operator-table", "operator")}};
}

Section ranks_section(const Bench& bench) {
  Table ranks{.id = "rank-table",
              .caption = "Ranks",
              .columns = {{"rank", CellKind::kCount},
                          {"schema"},
                          {"step"},
                          {"operators", CellKind::kCount},
                          {"instructions", CellKind::kCount},
                          {"slots", CellKind::kCount},
                          {"storages", CellKind::kCount},
                          {"bytes made before the step", CellKind::kCount},
                          {"recorded step ms", CellKind::kFigure},
                          {"profile"}}};
  Table kinds{
      .id = "kind-table",
      .caption = "Instructions",
      .columns = {{"instruction"}, {"rank", CellKind::kCount}, {"count", CellKind::kCount}}};
  Table opened{
      .id = "opened-table",
      .caption = "Operators that were opened: their children are replayed in their place",
      .columns = {
          {"operator"}, {"rank", CellKind::kCount}, {"count", CellKind::kCount}, {"reason"}}};
  Table mapped{.id = "mapped-table",
               .caption = "Custom operators that the operator map knows",
               .columns = {{"operator"},
                           {"rank", CellKind::kCount},
                           {"count", CellKind::kCount},
                           {"row"},
                           {"replayed by"}}};
  for (std::size_t i = 0; i < bench.programs.size(); ++i) {
    const Program& program = bench.programs[i];
    const auto rank = static_cast<std::uint64_t>(bench.recorded_rank(i));
    const auto& profile = program.profile;
    ranks.rows.push_back(
        {rank, schema_of(bench, i), program.selection.step, program.selection.operators,
         program.instructions.size(), program.slots.size(), program.storages.size(),
         et_schema::plan_memory(program).external_bytes,
         profile ? ms_cell(1, profile->step_ns) : Cell(), profile ? Cell(profile->file) : Cell()});
    for (const auto& [name, count] : instruction_kinds(program)) {
      kinds.rows.push_back({name, rank, count});
    }
    for (const et_schema::Opened& entry : program.selection.opened) {
      opened.rows.push_back({entry.name, rank, entry.count, entry.reason});
    }
    for (const MappedOperator& entry : mapped_operators(program)) {
      mapped.rows.push_back({entry.name, rank, entry.count, entry.row, entry.by});
    }
  }
  Section section{"ranks", "What it holds", {ranks, kinds, opened}};
  if (!mapped.rows.empty()) {
    section.blocks.emplace_back(mapped);
  }
  return section;
}

Section losses_section(const Bench& bench) {
  Table table{.id = "loss-table",
              .caption = "What was lost, assumed or repaired on the way from the trace",
              .columns = {{"loss"}, {"rank", CellKind::kCount}, {"count", CellKind::kCount}}};
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    for (const auto& [name, count] : bench.programs[rank].losses.nonzero()) {
      table.rows.push_back({name, static_cast<std::uint64_t>(bench.recorded_rank(rank)), count});
    }
  }
  Notes none;
  if (table.rows.empty()) {
    none.texts.emplace_back("Nothing was lost or repaired.");
  }
  return {"losses", "Losses", {table, none}};
}

std::string verdict_of(const Bench& bench) {
  std::uint64_t operators = 0;
  std::uint64_t losses = 0;
  std::int64_t step_ns = 0;
  for (const Program& program : bench.programs) {
    operators += program.selection.operators;
    step_ns = std::max(step_ns, program.profile ? program.profile->step_ns : 0);
    for (const auto& [name, count] : program.losses.nonzero()) {
      losses += count;
    }
  }
  const std::string recorded =
      step_ns == 0 ? "no profile is linked: nothing is known of the original's times"
                   : fmt::format("the recorded step took {} ms",
                                 figure_text(static_cast<double>(step_ns) / kNsPerMs));
  const std::string lost = losses == 0 ? "nothing was"
                                       : fmt::format("{} {}", with_commas(losses),
                                                     losses == 1 ? "thing was" : "things were");
  return fmt::format("{} operators on {} {}; {}; {} lost, assumed or repaired.",
                     with_commas(operators), bench.world_size(),
                     bench.world_size() == 1 ? "rank" : "ranks", recorded, lost);
}

}  // namespace

std::map<std::string, std::uint64_t> instruction_kinds(const Program& program) {
  std::map<std::string, std::uint64_t> kinds;
  for (const Instruction& instruction : program.instructions) {
    ++kinds[name_of(instruction.kind)];
  }
  return kinds;
}

std::vector<MappedOperator> mapped_operators(const Program& program) {
  std::map<std::string, MappedOperator> found;  // by schema
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != InstructionKind::kOp || !instruction.schema ||
        instruction.name.starts_with("aten::")) {
      continue;
    }
    const std::string& schema = program.schemas[*instruction.schema];
    const auto [known, is_new] = found.try_emplace(schema);
    ++known->second.count;
    if (is_new) {
      const et_schema::MapMatch match = et_schema::operator_map().find(schema);
      known->second.name = instruction.name;
      known->second.row = match.call ? match.call->row->place() : match.why_not;
      known->second.by = match.call ? match.call->row->by() : "";
    }
  }
  std::vector<MappedOperator> rows;
  for (auto& [schema, row] : found) {
    if (!row.row.empty()) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string schema_of(const Bench& bench, std::size_t rank) {
  return rank < bench.sources.size() ? bench.sources[rank].schema : std::string();
}

pages::Page bench_page(const Bench& bench, const std::string& file, const std::string& json) {
  pages::Page page;
  page.title = "Benchmark " + file;
  page.subtitle = fmt::format("made by Understudy {}", bench.tool_version);
  page.verdict = verdict_of(bench);
  if (bench.partial) {
    page.findings.push_back(
        fmt::format("Some of a job's ranks, each to be replayed alone: {} of {}.",
                    fmt::join(bench.partial->ranks, ", "), bench.partial->world_size));
  }
  page.sections = {timeline_section(bench), operators_section(bench), ranks_section(bench),
                   losses_section(bench)};
  page.data = json;
  page.data_name = "benchmark.json";
  page.footer = "Made by Understudy's inspect.";
  return page;
}

}  // namespace understudy::cli
