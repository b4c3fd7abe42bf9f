#include "predictor/what_if/what_if.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/regular_expression.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/open_comms.h"
#include "predictor/calls/call.h"

namespace understudy::predictor {
namespace {

constexpr double kLargestFactor = 1e6;
constexpr std::size_t kLongestText = 200;

[[noreturn]] void refuse_what_if(std::string_view text, std::string expected, std::string got) {
  throw et_schema::usage_error(
      "a what-if that cannot be read",
      {.field = fmt::format("--what-if '{}'", text),
       .expected = std::move(expected),
       .got = std::move(got),
       .hint = "for example 'matmul x0.5', 'network x2', 'host x0', '^aten::add x1.1', 'rank 3 "
               "x1.2', 'ranks even', 'node 2 network x0.5'"});
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

double read_factor(std::string_view text, std::string_view factor) {
  const auto value = factor.starts_with('x') ? number_of(factor.substr(1)) : std::nullopt;
  if (!value || !(*value >= 0 && *value <= kLargestFactor)) {
    refuse_what_if(text, "TARGET xFACTOR, a factor of the time from x0 to x1e6",
                   std::string(factor));
  }
  return *value;
}

/// Returns true, and sets the target, if it is `ranks`, `rank N` or `node N network`.
bool is_of_ranks(WhatIf& question) {
  static const std::regex kRanks("ranks|rank +([0-9]{1,6})|node +([0-9]{1,6}) +network");
  std::smatch found;
  if (!std::regex_match(question.name, found, kRanks)) {
    return false;
  }
  question.target = found[1].matched   ? WhatIfTarget::kRank
                    : found[2].matched ? WhatIfTarget::kNode
                                       : WhatIfTarget::kRanks;
  if (question.target != WhatIfTarget::kRanks) {
    question.number = std::stoi(found[1].matched ? found[1] : found[2]);
  }
  return true;
}

void read_target(WhatIf& question, std::string_view target) {
  question.name = target;
  if (is_of_ranks(question)) {
    return;
  }
  if (target == "network" || target == "communication") {
    question.target = WhatIfTarget::kNetwork;
  } else if (target == "host") {
    question.target = WhatIfTarget::kHost;
  } else if (std::ranges::find(et_schema::op_classes(), target) != et_schema::op_classes().end()) {
    question.target = WhatIfTarget::kClass;
  } else if (et_schema::kind_of_recorded_name(target)) {
    question.target = WhatIfTarget::kCollective;
    question.name = et_schema::to_string(*et_schema::kind_of_recorded_name(target));
  } else {
    question.target = WhatIfTarget::kOperator;
    try {
      question.pattern.emplace(et_schema::regular_expression(question.name));
    } catch (const std::regex_error& error) {
      refuse_what_if(question.text, "a class, a kind of communication, or a regular expression",
                     error.what());
    }
  }
}

bool is_about_operator(const WhatIf& question, const Instruction& instruction) {
  if (communicates(instruction) || instruction.kind == InstructionKind::kMarker) {
    return false;
  }
  switch (question.target) {
    case WhatIfTarget::kClass:
      return et_schema::op_class(instruction.name) == question.name;
    case WhatIfTarget::kOperator:
      return std::regex_search(instruction.name, *question.pattern);
    case WhatIfTarget::kNetwork:
      return et_schema::mostly_communicates(instruction);
    default:
      return false;
  }
}

bool is_about_call(const WhatIf& question, CommKind kind) {
  return question.target == WhatIfTarget::kNetwork ||
         (question.target == WhatIfTarget::kCollective &&
          question.name == et_schema::to_string(kind));
}

/// Returns the factor of a part of a program's own time.
double factor_of(const WhatIf& question, const Program& program, const OwnPart& part) {
  const auto factors = question.of_ranks.find(&program);
  if (question.target == WhatIfTarget::kNode || factors == question.of_ranks.end()) {
    return 1;
  }
  return et_schema::value_or(factors->second, part, 1);
}

/// Returns true if a rank of the question's node makes the call.
bool takes_part(const WhatIf& question, const Program& program) {
  return question.target == WhatIfTarget::kNode && question.of_ranks.contains(&program);
}
bool takes_part(const WhatIf& question, const GroupComm& call) {
  const std::less_equal<> is_not_behind;
  return question.target == WhatIfTarget::kNode &&
         std::ranges::any_of(question.of_ranks, [&](const auto& program) {
           const std::vector<Instruction>& own = program.first->instructions;
           return std::ranges::any_of(call.sides, [&](const Instruction* side) {
             return !own.empty() && is_not_behind(&own.front(), side) &&
                    is_not_behind(side, &own.back());
           });
         });
}

/// An estimate that a question changes, and its factor.
struct Change {
  Estimate* estimate = nullptr;
  double factor = 1;
};

/// Returns what a question changes of an instruction.
std::vector<Change> changes_by(const WhatIf& question, const Program& program,
                               const Instruction& instruction, PlayedCost& cost) {
  std::vector<Change> changes;
  if (question.target == WhatIfTarget::kRank || question.target == WhatIfTarget::kRanks) {
    if (question.of_ranks.contains(&program)) {
      for (const OwnEstimate& own : own_estimates(program, instruction, cost)) {
        changes.push_back({own.estimate, factor_of(question, program, own.part)});
      }
    }
    return changes;
  }
  const bool of_host = is_work_of_host(program, instruction, cost.cost);
  if (is_communication(instruction) &&
      (is_about_call(question, instruction.comm->kind) || takes_part(question, program))) {
    return {{&cost.communication, question.factor}};
  }
  if (is_about_operator(question, instruction)) {
    return {{of_host ? &cost.cost.host : &cost.cost.device, question.factor}};
  }
  if (question.target != WhatIfTarget::kHost || instruction.kind == InstructionKind::kMarker) {
    return {};
  }
  changes.push_back({&cost.gap, question.factor});
  if (!of_host) {
    changes.push_back({&cost.cost.host, question.factor});
  }
  return changes;
}

/// Returns the factor of work that no instruction launched. Its class is known as a share.
double factor_of(const WhatIf& question, const Program& program,
                 const et_schema::DeviceWork& work) {
  if (et_schema::communicates_unseen(work)) {
    return question.target == WhatIfTarget::kNetwork || takes_part(question, program)
               ? question.factor
               : 1;
  }
  const double share = question.target == WhatIfTarget::kClass
                           ? et_schema::share_of(question.name, classes_of(program, work.why))
                           : 0;
  return factor_of(question, program, OwnPart{true, kUnheld}) * (1 + share * (question.factor - 1));
}

/// Applies a question to an instruction's cost.
void change(const WhatIf& question, const Program& program, const Instruction& instruction,
            PlayedCost& cost) {
  for (const Change& own : changes_by(question, program, instruction, cost)) {
    *own.estimate = scaled(*own.estimate, own.factor);
  }
}

/// Lists the job's classes and kinds of communication.
std::string what_is_there(const Job& job) {
  std::set<std::string> names;
  for (const Program* program : job.programs) {
    for (const Instruction& instruction : program->instructions) {
      if (is_communication(instruction)) {
        names.emplace(et_schema::to_string(instruction.comm->kind));
      } else if (instruction.kind == InstructionKind::kOp) {
        names.emplace(et_schema::op_class(instruction.name));
      }
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

[[noreturn]] void refuse_idle(const Job& job, const WhatIf& question) {
  const bool communicates = std::ranges::any_of(job.programs, [](const Program* program) {
    return std::ranges::any_of(program->instructions, et_schema::is_communication) ||
           std::ranges::any_of(program->device_work, et_schema::communicates_unseen);
  });
  const char* got = question.target == WhatIfTarget::kNetwork ? "no communication in this benchmark"
                                                              : "no instruction of that name";
  throw et_schema::usage_error(
      "a what-if that changes nothing",
      {.field = fmt::format("--what-if '{}'", question.text),
       .expected = fmt::format("something that the benchmark has: {}host, a regular "
                               "expression of an operator's name, or one of {}",
                               communicates ? "network, " : "", what_is_there(job)),
       .got = got,
       .hint = "`understudy inspect BENCH --by name` lists its operators"});
}

}  // namespace

WhatIf parse_what_if(std::string_view text) {
  WhatIf question;
  question.text = trimmed(text);
  if (question.text.size() > kLongestText) {
    refuse_what_if(text.substr(0, 40), fmt::format("at most {} characters", kLongestText),
                   fmt::format("{}", question.text.size()));
  }
  const std::size_t blank = question.text.find_last_of(" \t");
  if (blank == std::string::npos) {
    refuse_what_if(text, "TARGET xFACTOR", question.text.empty() ? "nothing" : "one word");
  }
  const std::string_view last = std::string_view(question.text).substr(blank + 1);
  const std::string_view target = trimmed(std::string_view(question.text).substr(0, blank));
  read_target(question, target);
  question.is_even = last == "even" && (question.target == WhatIfTarget::kRank ||
                                        question.target == WhatIfTarget::kRanks);
  question.factor = question.is_even ? 1 : read_factor(text, last);
  return question;
}

WhatIfCosts::WhatIfCosts(const Costs& costs, std::vector<WhatIf> questions, const AskedCosts* asked)
    : costs_(costs), questions_(std::move(questions)), asked_(asked) {}

OperatorCost WhatIfCosts::of_operator(const Program& program,
                                      const Instruction& instruction) const {
  const auto at = static_cast<std::size_t>(&instruction - program.instructions.data());
  PlayedCost played = asked_ == nullptr
                          ? PlayedCost{costs_.of_operator(program, instruction), {}, {}}
                          : asked_->at(&program)[at];
  for (const WhatIf& question : questions_) {
    change(question, program, instruction, played);
  }
  return played.cost;
}

Estimate WhatIfCosts::of_communication(const GroupComm& call) const {
  Estimate estimate = costs_.of_communication(call);
  for (const WhatIf& question : questions_) {
    if (is_about_call(question, call.kind) || takes_part(question, call)) {
      estimate = scaled(estimate, question.factor);
    }
  }
  return estimate;
}

Estimate WhatIfCosts::of_outside(const Program& program, const et_schema::DeviceWork& work) const {
  Estimate estimate = costs_.of_outside(program, work);
  for (const WhatIf& question : questions_) {
    estimate = scaled(estimate, factor_of(question, program, work));
  }
  return estimate;
}

Estimate WhatIfCosts::of_gap(const Program& program, const Instruction& instruction) const {
  return of_host(program, costs_.of_gap(program, instruction));
}

std::optional<Estimate> WhatIfCosts::of_end(const Program& program) const {
  const std::optional<Estimate> end = costs_.of_end(program);
  return end ? std::optional(of_host(program, *end)) : std::nullopt;
}

Estimate WhatIfCosts::of_host(const Program& program, Estimate estimate) const {
  for (const WhatIf& question : questions_) {
    estimate = scaled(estimate, question.target == WhatIfTarget::kHost
                                    ? question.factor
                                    : factor_of(question, program, OwnPart{false, kBetween}));
  }
  return estimate;
}

std::vector<et_schema::PredictedChange> changes_of(const Job& job, const Simulation& simulation,
                                                   const std::vector<WhatIf>& questions) {
  using Row = et_schema::PredictedChange::Row;
  std::vector<std::uint64_t> ranks(job.programs.size(), 0);
  for (const std::uint32_t program : job.program_of) {
    ++ranks[program];
  }
  std::vector<std::map<std::string, Row>> rows(questions.size());
  const auto add = [&](std::size_t q, std::size_t p, const std::string& name, double before_ns,
                       double after_ns) {
    Row& row = et_schema::row_named(name, rows[q]);
    row.count += ranks[p];
    row.before_ms += before_ns * static_cast<double>(ranks[p]) * kMsPerNs;
    row.after_ms += after_ns * static_cast<double>(ranks[p]) * kMsPerNs;
  };
  for (std::size_t p = 0; p < job.programs.size(); ++p) {
    const Program& program = *job.programs[p];
    for (std::size_t at = 0; at < simulation.costs[p].size(); ++at) {
      const Instruction& instruction = program.instructions[at];
      PlayedCost cost = simulation.costs[p][at];
      for (std::size_t q = 0; q < questions.size(); ++q) {
        const std::vector<Change> all = changes_by(questions[q], program, instruction, cost);
        if (all.empty()) {
          continue;
        }
        double before_ns = 0;
        double after_ns = 0;
        for (const Change& own : all) {
          before_ns += own.estimate->ns;
          after_ns += own.estimate->ns * own.factor;
        }
        add(q, p, instruction.name, before_ns, after_ns);
        change(questions[q], program, instruction, cost);
      }
    }
    for (std::size_t i = 0; i < program.device_work.size(); ++i) {
      const et_schema::DeviceWork& work = program.device_work[i];
      double ns = simulation.outside[p][i].ns;
      for (std::size_t q = 0; q < questions.size(); ++q) {
        const double factor = work.instruction ? 1 : factor_of(questions[q], program, work);
        if (factor != 1) {
          add(q, p, std::string(to_string(work.why)), ns, ns * factor);
          ns *= factor;
        }
      }
    }
  }
  const auto effect = [](const Row& row) { return std::abs(row.after_ms - row.before_ms); };
  std::vector<et_schema::PredictedChange> changes;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    if (rows[q].empty()) {
      refuse_idle(job, questions[q]);
    }
    changes.push_back({questions[q].text, et_schema::largest_first(std::move(rows[q]), effect)});
  }
  return changes;
}

Program placed_on_device(Program program) {
  for (et_schema::Storage& storage : program.storages) {
    if (storage.device.type == et_schema::DeviceType::kCpu) {
      storage.device = {et_schema::DeviceType::kCuda, 0};
    }
  }
  return program;
}

}  // namespace understudy::predictor
