#include "report_text.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "bodies.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/version.h"
#include "et_schema/formats/report/report_json.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/original_step.h"

namespace understudy::emitter {
namespace {

using et_schema::Instruction;
using et_schema::InstructionKind;
using nlohmann::ordered_json;

constexpr double kMilliOfNano = 1e-6;

std::optional<double> added(const std::optional<double>& sum, const Instruction& instruction) {
  return instruction.timing
             ? sum.value_or(0) + static_cast<double>(instruction.timing->host_ns) * kMilliOfNano
             : sum;
}

bool is_selected(const Instruction& instruction) {
  return instruction.kind != InstructionKind::kAlias &&
         instruction.kind != InstructionKind::kMarker;
}

}  // namespace

et_schema::RankReport rank_report(const et_schema::Program& program,
                                  const std::vector<std::string>& refused) {
  et_schema::RankReport report;
  et_schema::Coverage& coverage = report.coverage;
  std::map<std::string, et_schema::OperatorTime> operators;
  std::set<const Instruction*> dropped;
  for (std::size_t at = 0; at < program.instructions.size(); ++at) {
    const Instruction& instruction = program.instructions[at];
    if (!is_selected(instruction)) {
      continue;
    }
    ++coverage.selected;
    if (!refused[at].empty()) {
      coverage.dropped.push_back({instruction.name, 1, refused[at]});
      dropped.insert(&instruction);
      continue;
    }
    ++coverage.replayed;
    const bool is_operator =
        instruction.kind == InstructionKind::kOp && !means_nothing(instruction.name);
    const auto row = is_operator && instruction.schema
                         ? row_for(program.schemas[*instruction.schema])
                         : std::nullopt;
    if (row) {
      coverage.substituted.push_back({instruction.name, 1, row->row->by()});
    } else {
      ++coverage.exact;
    }
    if (is_operator) {
      et_schema::OperatorTime& times = et_schema::row_named(instruction.name, operators);
      times.op_class = et_schema::op_class(instruction.name);
      ++times.count;
      times.recorded_ms = added(times.recorded_ms, instruction);
    }
  }
  et_schema::set_times(
      program,
      [&dropped](const et_schema::HeldTime& part) {
        return std::string(part.instruction == nullptr          ? part.holder
                           : dropped.contains(part.instruction) ? et_schema::kDropped
                                                                : et_schema::kReplayed);
      },
      coverage);
  report.operators = et_schema::values_of(std::move(operators));
  et_schema::add_recorded_counters(program, report.operators);
  report.original = et_schema::original_step(program, is_selected);
  return report;
}

std::string report_text(const et_schema::Bench& bench, std::vector<et_schema::RankReport> ranks,
                        const std::string& name) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].rank = static_cast<int>(rank);
  }
  et_schema::Environment environment;
  environment.tool_version = et_schema::kToolVersion;
  environment.benchmark = name;
  environment.benchmark_hash = et_schema::benchmark_hash(bench);
  et_schema::Report report =
      et_schema::merge(std::move(ranks), bench.programs.front().selection.filters, environment);
  report.warnings = {
      {"memory", "an emitted project measures times; memory, values and outputs are not checked"}};
  const ordered_json json = et_schema::json_of(report);
  constexpr auto kReplace = ordered_json::error_handler_t::replace;
  return json.dump(1, ' ', false, kReplace) + "\n";
}

}  // namespace understudy::emitter
