#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/common/command_line.h"
#include "cli/pages/bench/bench_document.h"
#include "cli/pages/document/account.h"
#include "cli/pages/document/from_json.h"
#include "cli/pages/document/table.h"
#include "comm_calls.h"
#include "documents.h"
#include "et_schema/base/error.h"
#include "et_schema/base/file_name.h"
#include "et_schema/base/json_record.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/original_step.h"
#include "predictor/work/step_work.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::Instruction;
using et_schema::Program;
using pages::Section;
using pages::Table;

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
    section.blocks.emplace_back(pages::Notes{
        {"Not known: no profile was linked, so that no instruction has a recorded time."}});
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
  section.blocks = {plot};
  return section;
}

std::vector<RankOps> ops_by(const Bench& bench, GroupBy by) {
  std::vector<RankOps> ops;
  for (const Program& program : bench.programs) {
    ops.push_back(group_operators(program, by));
  }
  return ops;
}

/// Adds the operators by class to the document, and in the asked groups. A text shows the latter,
/// if they are asked for.
Section operators_section(const Bench& bench, const InspectOptions& options, Json& document) {
  const RankOps classes = sum_of(ops_by(bench, GroupBy::kClass));
  add_ops(document["by_class"], classes);
  const std::vector<RankOps> ops = ops_by(bench, options.by.value_or(GroupBy::kName));
  add_all_ops(document, ops);
  Table by_class = ops_table(document, "/by_class/ops", classes);
  by_class.shown_in_text = 0;
  const std::size_t drawn = by_class.columns.size() - (classes.step_ns ? 2 : 1);
  by_class.plots = {{.caption = fmt::format("By class of operator, all ranks: {}.",
                                            by_class.columns[drawn].title),
                     .columns = {drawn}}};
  Section section = ops_section(document, ops);
  if (!options.by) {
    std::get<Table>(section.blocks.front()).shown_in_text = 0;
    section.blocks.pop_back();
  }
  section.blocks.insert(section.blocks.begin(), std::move(by_class));
  return section;
}

/// Returns what the ranks work, and at what share of the recorded card's peak in the recorded step.
et_schema::StepWork work_of(const Bench& bench) {
  std::vector<const Program*> ranks;
  std::int64_t step_ns = 0;
  for (const Program& program : bench.programs) {
    ranks.push_back(&program);
    step_ns = std::max(step_ns, et_schema::recorded_step_ns(program));
  }
  return predictor::step_work(ranks, static_cast<double>(step_ns) * 1e-6, nullptr);
}

}  // namespace

pages::Page bench_page(const Bench& bench, const std::string& path, const InspectOptions& options) {
  refuse_if(options.by == GroupBy::kModule || options.by == GroupBy::kPhase,
            "a benchmark does not tell where an operator stood in the program", "--by",
            "name, class or shape", std::string(to_string(options.by.value_or(GroupBy::kName))),
            "inspect the traces that it was made from");
  Json document = pages::bench_json(bench);
  pages::Page page;
  page.title = fmt::format("Benchmark {}", et_schema::file_name(path));
  page.subtitle = fmt::format("made by Understudy {}", bench.tool_version);
  page.verdict.sentence = pages::doubts_of(bench) + pages::bench_verdict(bench);
  if (bench.partial) {
    page.verdict.findings.push_back(
        fmt::format("Some of a job's ranks, each to be replayed alone: {} of {}.",
                    fmt::join(bench.partial->ranks, ", "), bench.partial->world_size));
  }
  page.sections = pages::bench_sections(document, bench);
  document["work"] = et_schema::json_of(work_of(bench));
  page.sections.insert(page.sections.begin(),
                       {timeline_section(bench), operators_section(bench, options, document),
                        pages::work_section(document)});
  if (options.collectives) {
    for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
      document["ranks"][rank]["calls"] = calls_json(bench, rank);
    }
    page.sections.push_back(calls_section(document, CallDetail::kDecided));
  }
  if (options.certificate) {
    page.sections.push_back(add_certificate(bench, path, document));
  }
  return made_by("inspect", std::move(page), document, "benchmark.json");
}

}  // namespace understudy::cli
