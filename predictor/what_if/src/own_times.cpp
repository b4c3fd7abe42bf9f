#include "predictor/what_if/own_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "et_schema/base/error.h"
#include "et_schema/base/map_values.h"
#include "et_schema/model/device_time.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/open_comms.h"
#include "predictor/simulate/flow.h"
#include "predictor/what_if/what_if.h"

namespace understudy::predictor {
namespace {

/// Returns the ranks that a question names; empty if it names none.
std::vector<int> ranks_named(const Job& job, const WhatIf& question) {
  const bool is_node = question.target == WhatIfTarget::kNode;
  const bool is_all = question.target == WhatIfTarget::kRanks;
  if (!is_node && !is_all && question.target != WhatIfTarget::kRank) {
    return {};
  }
  const int nodes = (job.world_size() + job.ranks_per_node - 1) / job.ranks_per_node;
  const int count = is_node ? nodes : job.world_size();
  if (question.number >= count) {
    throw et_schema::usage_error(
        fmt::format("no such {}", is_node ? "node" : "rank"),
        {.field = fmt::format("--what-if '{}'", question.text),
         .expected = fmt::format("0 to {}", count - 1),
         .got = fmt::format("{}", question.number),
         .hint = is_node ? "--ranks-per-node says how many ranks share a node" : ""});
  }
  std::vector<int> ranks;
  const int each = is_node ? job.ranks_per_node : is_all ? job.world_size() : 1;
  for (int rank = question.number * each;
       rank < std::min((question.number + 1) * each, job.world_size()); ++rank) {
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

bool is_work_of_host(const Program& program, const Instruction& instruction,
                     const OperatorCost& cost) {
  return cost.launches == 0 && cost.device.ns == 0 && !touches_device(program, instruction);
}

std::vector<OwnEstimate> own_estimates(const Program& program, const Instruction& instruction,
                                       PlayedCost& cost) {
  std::vector<OwnEstimate> parts = {{{false, kBetween}, &cost.gap}};
  if (instruction.kind == InstructionKind::kMarker) {
    return parts;
  }
  if (communicates(instruction)) {
    parts.push_back({{false, kCalls}, &cost.cost.host});
    return parts;
  }
  const std::string name(et_schema::op_class(instruction.name));
  if (is_work_of_host(program, instruction, cost.cost)) {
    parts.push_back({{false, name}, &cost.cost.host});
    return parts;
  }
  parts.push_back({{false, kIssuing}, &cost.cost.host});
  if (!et_schema::mostly_communicates(instruction)) {
    parts.push_back({{true, name}, &cost.cost.device});
  }
  return parts;
}

std::vector<OwnTimes> own_times(const Job& job, const Simulation& simulation) {
  std::vector<OwnTimes> times(job.programs.size());
  for (std::size_t p = 0; p < times.size(); ++p) {
    const Program& program = *job.programs[p];
    for (std::size_t at = 0; at < simulation.costs[p].size(); ++at) {
      PlayedCost cost = simulation.costs[p][at];
      for (const OwnEstimate& own : own_estimates(program, program.instructions[at], cost)) {
        times[p][own.part] += own.estimate->ns;
      }
    }
    for (std::size_t i = 0; i < program.device_work.size(); ++i) {
      const et_schema::DeviceWork& work = program.device_work[i];
      if (!work.instruction && !et_schema::communicates_unseen(work)) {
        times[p][{true, kUnheld}] += simulation.outside[p][i].ns;
      }
    }
  }
  return times;
}

bool has_messages(const Job& job) {
  return std::ranges::any_of(job.programs, [](const Program* program) {
    return std::ranges::find(program->instructions, InstructionKind::kP2p, &Instruction::kind) !=
           program->instructions.end();
  });
}

double usual_ns(std::vector<double> times_ns) {
  const auto middle = times_ns.begin() + static_cast<std::ptrdiff_t>((times_ns.size() - 1) / 2);
  std::ranges::nth_element(times_ns, middle);
  return *middle;
}

OwnTimes usual_times(const Job& job, const std::vector<OwnTimes>& times,
                     const std::vector<int>& left_out) {
  OwnTimes usual;
  for (const OwnTimes& of_program : times) {
    usual.insert(of_program.begin(), of_program.end());
  }
  const bool are_stages = has_messages(job);
  for (auto& [part, usual_part_ns] : usual) {
    std::vector<double> all_ns;
    std::vector<double> others_ns;
    for (int rank = 0; rank < job.world_size(); ++rank) {
      const OwnTimes& own = times[job.program_of[static_cast<std::size_t>(rank)]];
      const double ns = et_schema::value_or(own, part, 0);
      if (ns > 0 || !are_stages) {
        all_ns.push_back(ns);
        if (!std::ranges::binary_search(left_out, rank)) {
          others_ns.push_back(ns);
        }
      }
    }
    usual_part_ns = all_ns.empty() ? 0 : usual_ns(others_ns.empty() ? all_ns : others_ns);
  }
  return usual;
}

std::deque<Program> split_ranks(Job& job, const std::vector<WhatIf>& questions) {
  std::deque<Program> copies;
  for (const WhatIf& question : questions) {
    const std::vector<int> ranks = ranks_named(job, question);
    std::map<std::uint32_t, std::uint32_t> copy_of;
    std::set<std::uint32_t> of_others;
    for (int rank = 0; rank < job.world_size(); ++rank) {
      if (!std::ranges::binary_search(ranks, rank)) {
        of_others.insert(job.program_of[static_cast<std::size_t>(rank)]);
      }
    }
    for (const int rank : ranks) {
      std::uint32_t& program = job.program_of[static_cast<std::size_t>(rank)];
      if (!of_others.contains(program)) {
        continue;
      }
      const auto [copy, is_new] =
          copy_of.try_emplace(program, static_cast<std::uint32_t>(job.programs.size()));
      if (is_new) {
        job.programs.push_back(&copies.emplace_back(*job.programs[program]));
      }
      program = copy->second;
    }
  }
  return copies;
}

WhatIf even_ranks(const Job& job, const std::vector<OwnTimes>& times,
                  const std::vector<int>& ranks) {
  const bool are_all = ranks.size() == static_cast<std::size_t>(job.world_size());
  const OwnTimes usual = usual_times(job, times, are_all ? std::vector<int>() : ranks);
  WhatIf question;
  question.target = WhatIfTarget::kRank;
  for (const int rank : ranks) {
    const std::uint32_t program = job.program_of[static_cast<std::size_t>(rank)];
    for (const auto& [part, ns] : times[program]) {
      question.of_ranks[job.programs[program]][part] = ns > 0 ? usual.at(part) / ns : 1;
    }
  }
  return question;
}

std::vector<WhatIf> about_ranks(const Job& job, const Simulation& simulation,
                                std::vector<WhatIf> questions) {
  std::vector<OwnTimes> times;
  for (WhatIf& question : questions) {
    const std::vector<int> ranks = ranks_named(job, question);
    if (ranks.empty()) {
      continue;
    }
    if (times.empty()) {
      times = own_times(job, simulation);
    }
    if (question.is_even) {
      question.of_ranks = even_ranks(job, times, ranks).of_ranks;
      continue;
    }
    for (const int rank : ranks) {
      const std::uint32_t program = job.program_of[static_cast<std::size_t>(rank)];
      auto& factors = question.of_ranks[job.programs[program]];
      for (const auto& [part, ns] : times[program]) {
        factors[part] = question.factor;
      }
    }
  }
  return questions;
}

}  // namespace understudy::predictor
