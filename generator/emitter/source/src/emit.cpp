#include "generator/emitter/source/emit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "bodies.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/model/open_comms.h"
#include "foreign_text.h"
#include "project_text.h"
#include "report_text.h"
#include "step_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Bench;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;

bool counts(const Instruction& instruction) {
  return instruction.kind != InstructionKind::kAlias &&
         instruction.kind != InstructionKind::kMarker;
}

std::int64_t recorded_ns(const Instruction& instruction) {
  return instruction.timing ? std::max(instruction.timing->host_ns, instruction.timing->device_ns)
                            : 0;
}

class Emitter {
 public:
  Emitter(const Bench& bench, const std::string& name, const WhyFailing& why_failing)
      : bench_(bench), why_failing_(why_failing) {
    parts_.name = name;
  }

  Project emit() {
    for (std::size_t rank = 0; rank < bench_.programs.size(); ++rank) {
      add_rank(rank);
    }
    for (const et_schema::ProcessGroup& group : bench_.groups) {
      parts_.groups.push_back(fmt::format("[{}]", fmt::join(group.ranks, ", ")));
    }
    parts_.report = report_text(bench_, std::move(reports_), parts_.name);
    project_.files.merge(project_files(parts_));
    project_.missing = rows(missing_);
    project_.mapped = rows(mapped_);
    project_.foreign = rows(foreign_);
    return std::move(project_);
  }

 private:
  void add_rank(std::size_t rank) {
    const Program program = with_bodies(bench_.programs.of(rank), why_failing_);
    std::vector<std::string> failing;
    for (const Instruction& instruction : program.instructions) {
      failing.push_back(why_failing_ ? why_failing_(program, instruction) : "");
    }
    const StepText step = write_step(program, std::move(failing));
    parts_.communicates = parts_.communicates ||
                          std::ranges::any_of(program.instructions, et_schema::is_communication);
    count_missing(program, step);
    reports_.push_back(rank_report(program, step.refused));
    parts_.source_of.push_back(rank < bench_.sources.size() ? bench_.sources[rank].file
                                                            : "a benchmark");
    // Ranks with the same text share a file.
    const auto [found, added] =
        known_.try_emplace(step.body, fmt::format("step_rank{}", bench_.recorded_rank(rank)));
    parts_.step_of.push_back(found->second);
    if (added) {
      project_.files[found->second + ".py"] = file_text(program, rank, step);
    }
  }

  [[nodiscard]] std::string file_text(const Program& program, std::size_t rank,
                                      const StepText& step) const {
    const std::string& chosen = program.selection.step;
    const std::string origin = fmt::format(
        "{}{}{}: {} operators", commented(parts_.source_of[rank]), chosen.empty() ? "" : ", ",
        chosen.empty() ? "" : commented(chosen), program.selection.operators);
    return fmt::format("# {}.\n\nimport bench\nimport torch\n\n{}", origin, step.body);
  }

  void count_missing(const Program& program, const StepText& step) {
    et_schema::add_step(
        program,
        [&](const et_schema::HeldTime& part) {
          const bool is_missing = part.instruction != nullptr &&
                                  !step.refused[static_cast<std::size_t>(
                                                    part.instruction - program.instructions.data())]
                                       .empty();
          return is_missing ? std::string("missing") : in_no_instruction(part);
        },
        project_.account);
    for (std::size_t at = 0; at < program.instructions.size(); ++at) {
      const Instruction& instruction = program.instructions[at];
      if (!counts(instruction)) {
        continue;
      }
      ++project_.operators;
      all_ns_ += recorded_ns(instruction);
      if (!step.refused[at].empty()) {
        add(missing_, instruction, step.refused[at]);
      } else if (instruction.kind == InstructionKind::kOp && !means_nothing(instruction.name) &&
                 !is_found(instruction.name)) {
        const auto call = row_for(schema_of(program, instruction));
        if (call) {
          add(mapped_, instruction, call->row->by());
        } else {
          add(foreign_, instruction, why_foreign(program, instruction));
        }
      }
    }
  }

  static std::string_view schema_of(const Program& program, const Instruction& instruction) {
    return instruction.schema ? program.schemas[*instruction.schema] : instruction.name;
  }

  static std::string why_foreign(const Program& program, const Instruction& instruction) {
    const std::string why =
        instruction.body.empty()
            ? "not of LibTorch, and the trace shows no operators below it"
            : "not of LibTorch, and what ran below it does not make its results";
    const et_schema::MapMatch found =
        et_schema::operator_map().find(schema_of(program, instruction));
    return found.call
               ? fmt::format(
                     "{}; {} is the benchmark's: with --op-library ROWS.json it would stand here",
                     why, found.call->row->place())
               : why;
  }

  using Key = std::pair<std::string, std::string>;
  struct Sum {
    std::uint64_t count = 0;
    std::int64_t ns = 0;
  };
  using Sums = std::map<Key, Sum>;

  static void add(Sums& sums, const Instruction& instruction, const std::string& reason) {
    Sum& sum = sums[{instruction.name, reason}];
    ++sum.count;
    sum.ns += recorded_ns(instruction);
  }

  [[nodiscard]] std::vector<Missing> rows(const Sums& sums) const {
    std::vector<Missing> rows;
    for (const auto& [key, sum] : sums) {
      const auto share =
          static_cast<double>(sum.ns) / static_cast<double>(std::max<std::int64_t>(all_ns_, 1));
      rows.push_back({key.first, key.second, sum.count,
                      all_ns_ > 0 ? std::optional<double>(share) : std::nullopt});
    }
    return rows;
  }

  const Bench& bench_;
  const WhyFailing& why_failing_;
  ProjectParts parts_;
  std::vector<et_schema::RankReport> reports_;
  Project project_;
  std::map<std::string, std::string> known_;  ///< text → name of the step
  Sums missing_;
  Sums mapped_;
  Sums foreign_;
  std::int64_t all_ns_ = 0;
};

}  // namespace

Project emit_project(const Bench& bench, const std::string& name, const WhyFailing& why_failing) {
  return Emitter(bench, name, why_failing).emit();
}

}  // namespace understudy::emitter
