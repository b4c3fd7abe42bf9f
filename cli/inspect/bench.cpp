#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/compile/world_options.h"
#include "cli/pages/document/from_json.h"
#include "cli/pages/document/table.h"
#include "comm_calls.h"
#include "documents.h"
#include "et_schema/base/error.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/file_name.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/model/memory_plan.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/original_step.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using pages::counts, pages::figures, pages::ids, pages::losses_at, pages::summed, pages::table_at,
    pages::texts;
using pages::Notes;
using pages::Section;
using pages::Table;

constexpr double kNsPerMs = 1e6;

std::string class_of(const Instruction& instruction) {
  return instruction.comm ? "communication" : std::string(et_schema::op_class(instruction.name));
}

std::vector<std::string> kinds_of(const Bench& bench) {
  std::map<std::string, double> sums;
  for (const Program& program : bench.programs) {
    for (const Instruction& instruction : program.instructions) {
      if (instruction.timing) {
        sums[class_of(instruction)] += static_cast<double>(instruction.timing->host_ns);
      }
    }
  }
  return pages::longest_kinds(sums, "other");
}

/// Adds a lane for each thread, and one for communication.
void add_lanes(pages::Timeline& plot, const Program& program, const std::string& group,
               const std::vector<std::string>& kinds, pages::TextNumbers& names) {
  std::map<std::uint64_t, pages::TimelineLane> threads;
  pages::TimelineLane communication{group, "communication"};
  for (const Instruction& instruction : program.instructions) {
    if (!instruction.timing) {
      continue;
    }
    const pages::TimelineEvent event{instruction.timing->start_ns, instruction.timing->host_ns,
                                     names.number_of(instruction.name),
                                     pages::kind_number(kinds, class_of(instruction))};
    threads
        .try_emplace(instruction.thread,
                     pages::TimelineLane{group, fmt::format("thread {}", instruction.thread)})
        .first->second.events.push_back(event);
    if (instruction.comm) {
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
  const std::vector<std::string> kinds = kinds_of(bench);
  Section section{"timeline", "Timeline of the recorded step", {}};
  if (kinds.empty()) {
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
                       .kinds = kinds,
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
  section.blocks = {plot, lanes_table(plot)};
  return section;
}

std::vector<RankOps> ops_by(const Bench& bench, GroupBy by) {
  std::vector<RankOps> ops;
  for (const Program& program : bench.programs) {
    ops.push_back(group_operators(program, by));
  }
  return ops;
}

/// Shows the operators, on HTML pages only. Text and data have them with `inspect --ops`.
Section operators_section(const Bench& bench) {
  Section section{"operators", "Operators", {}};
  for (const auto& [by, id] :
       {std::pair(GroupBy::kClass, "class-table"), {GroupBy::kName, "operator-table"}}) {
    const RankOps sum = sum_of(ops_by(bench, by));
    Table table{.id = id,
                .caption = "Recorded times, all ranks; a call with all below it",
                .columns = {{by == GroupBy::kName ? "operator" : "class"},
                            counts("calls"),
                            counts("with a time"),
                            figures("host ms"),
                            figures("device ms")},
                .shown_in_text = 0};
    for (const OpRow& row : sum.rows) {
      const auto ms = [&row](std::int64_t ns) {
        return row.timed == 0 ? pages::Cell() : pages::Cell(static_cast<double>(ns) / kNsPerMs);
      };
      table.rows.push_back({row.name, row.count, row.timed, ms(row.self_ns), ms(row.device_ns)});
    }
    if (by == GroupBy::kClass) {
      table.plots = {{.caption = "Recorded host time by class of operator, all ranks.",
                      .columns = {3},
                      .unit = "ms"}};
    }
    section.blocks.emplace_back(std::move(table));
  }
  return section;
}

Section holdings_section(const Json& document) {
  return {"ranks",
          "What it holds",
          {table_at(document, "/ranks", "Ranks",
                    {ids("rank"), texts("schema"), texts("step"), counts("operators"),
                     counts("instructions"), counts("slots"), counts("storages"),
                     counts("bytes made before the step", "external_bytes"),
                     figures("recorded step ms", "step_ns", 1 / kNsPerMs), texts("profile")}),
           table_at(document, "/ranks/*/kinds", "Instructions",
                    {texts("instruction", "name"), summed(counts("count", "value"))}),
           table_at(document, "/ranks/*/opened",
                    "Operators that were opened: their children are replayed in their place",
                    {texts("operator", "name"), summed(counts("count")), texts("reason")}),
           table_at(document, "/ranks/*/mapped", "Custom operators that the operator map knows",
                    {texts("operator", "name"), summed(counts("count")), texts("row"),
                     texts("replayed by", "by")})}};
}

std::string bench_verdict(const Bench& bench) {
  std::uint64_t operators = 0;
  std::uint64_t losses = 0;
  std::int64_t step_ns = 0;
  for (const Program& program : bench.programs) {
    operators += program.selection.operators;
    step_ns = std::max(step_ns, et_schema::recorded_step_ns(program));
    for (const auto& [name, count] : program.losses.nonzero()) {
      losses += count;
    }
  }
  const std::string disturbed = et_schema::disturbance_text(bench.programs);
  const std::string recorded =
      step_ns == 0 ? "no profile is linked: nothing is known of the original's times"
                   : fmt::format("the recorded step took {} ms{}{}",
                                 et_schema::figure_text(static_cast<double>(step_ns) / kNsPerMs),
                                 disturbed.empty() ? "" : "; ", disturbed);
  const std::string lost = losses == 0 ? "nothing was"
                                       : fmt::format("{} {}", et_schema::with_commas(losses),
                                                     losses == 1 ? "thing was" : "things were");
  return fmt::format("{} operators on {}; {}; {} lost, assumed or repaired.",
                     et_schema::with_commas(operators),
                     et_schema::counted(bench.world_size(), "rank"), recorded, lost);
}

std::map<std::string, std::uint64_t> instruction_kinds(const Program& program) {
  std::map<std::string, std::uint64_t> kinds;
  for (const Instruction& instruction : program.instructions) {
    ++kinds[std::string(to_string(instruction.kind))];
  }
  return kinds;
}

/// Custom operators of a program, with the rows of the operator map that name them.
struct MappedOperator {
  std::string name;
  std::uint64_t count = 0;
  std::string row;  ///< "row 3 of the built-in operator map", or why none matches
  std::string by;   ///< MapRow::by(); empty: no match
};

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

Json bench_document(const Bench& bench) {
  Json list = Json::array();
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    const auto& profile = program.profile;
    Json opened = Json::array();
    for (const et_schema::Opened& entry : program.selection.opened) {
      opened.push_back({{"name", entry.name}, {"count", entry.count}, {"reason", entry.reason}});
    }
    list.push_back(
        {{"rank", bench.recorded_rank(rank)},
         {"schema", rank < bench.sources.size() ? bench.sources[rank].schema : std::string()},
         {"step", program.selection.step},
         {"operators", program.selection.operators},
         {"instructions", program.instructions.size()},
         {"kinds", instruction_kinds(program)},
         {"slots", program.slots.size()},
         {"storages", program.storages.size()},
         {"external_bytes", et_schema::plan_memory(program).external_bytes},
         {"step_ns", profile ? Json(et_schema::recorded_step_ns(program)) : Json()},
         {"profile", profile ? Json(profile->file) : Json()},
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

pages::Page bench_page(const Bench& bench, const std::string& path, const InspectOptions& options) {
  if (options.ops && (options.by == GroupBy::kModule || options.by == GroupBy::kPhase)) {
    throw et_schema::usage_error("a benchmark does not tell where an operator stood in the program",
                                 {.field = "--by",
                                  .expected = "name, class or shape",
                                  .got = std::string(to_string(options.by)),
                                  .hint = "inspect the traces that it was made from"});
  }
  Json document = bench_document(bench);
  pages::Page page;
  page.title = fmt::format("Benchmark {}", et_schema::file_name(path));
  page.subtitle = fmt::format("made by Understudy {}", bench.tool_version);
  page.verdict.sentence = bench_verdict(bench);
  if (bench.partial) {
    page.verdict.findings.push_back(
        fmt::format("Some of a job's ranks, each to be replayed alone: {} of {}.",
                    fmt::join(bench.partial->ranks, ", "), bench.partial->world_size));
  }
  const Table losses = losses_at(document, "/ranks/*/losses");
  page.sections = {timeline_section(bench),
                   operators_section(bench),
                   holdings_section(document),
                   {"losses",
                    "Losses",
                    {losses.rows.empty() ? pages::Block(Notes{{"Nothing was lost or repaired."}})
                                         : pages::Block(losses)}}};
  if (bench.scaled) {
    document["scaled"] = scaled_json(*bench.scaled);
    page.sections.push_back(scaled_section(document, *bench.scaled));
  }
  if (options.collectives) {
    for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
      document["ranks"][rank]["calls"] = calls_json(bench, rank);
    }
    page.sections.push_back(calls_section(document, CallDetail::kDecided));
  }
  if (options.ops) {
    const std::vector<RankOps> ops = ops_by(bench, options.by);
    add_all_ops(document, ops);
    page.sections.push_back(ops_section(document, ops));
  }
  if (options.certificate) {
    document["certificate"] = certificate_json(bench, path);
    page.sections.push_back(certificate_section(document));
  }
  return made_by("inspect", std::move(page), document, "benchmark.json");
}

}  // namespace understudy::cli
