#include "composer/mix/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <regex>

#include "et_schema/model/op_class.h"
#include "et_schema/support/error.h"
#include "et_schema/support/regular_expression.h"

namespace understudy::composer {
namespace {

using et_schema::Bench;
using et_schema::Instruction;

/// Iterations that a replay's time is for: 20 measured ones, warm-up and the checked first.
constexpr double kIterations = 25;
constexpr std::uint64_t kMostSteps = 200;
constexpr double kMsPerMinute = 60'000;

struct Times {
  std::map<std::string, double> by_class_ms;
  double step_ms = 0;
};

/// The recorded times of the slowest rank's step.
Times times_of(const Bench& bench, const std::string& path) {
  Times slowest;
  for (const auto& program : bench.programs) {
    if (!program.profile) {
      throw et_schema::bad_input("a benchmark without recorded times cannot be fitted",
                                 {.file = path,
                                  .field = "profile",
                                  .expected = "recorded times",
                                  .got = "none",
                                  .hint = "make it with generate --profile"});
    }
    Times times;
    constexpr double kNsPerMs = 1e6;
    for (const Instruction& instruction : program.instructions) {
      if (instruction.timing) {
        const auto ns = std::max(instruction.timing->host_ns, instruction.timing->device_ns);
        times.by_class_ms[std::string(et_schema::op_class(instruction.name))] +=
            static_cast<double>(ns) / kNsPerMs;
      }
    }
    times.step_ms = std::accumulate(times.by_class_ms.begin(), times.by_class_ms.end(), 0.0,
                                    [](double sum, const auto& row) { return sum + row.second; });
    slowest = times.step_ms > slowest.step_ms ? times : slowest;
  }
  if (slowest.step_ms <= 0) {
    throw et_schema::bad_input("a benchmark whose recorded times are all 0 cannot be fitted",
                               {.file = path});
  }
  return slowest;
}

using Counts = std::vector<std::uint64_t>;

std::map<std::string, double> mixed(const std::vector<Times>& times,
                                    const std::vector<double>& weights) {
  std::map<std::string, double> shares;
  double all = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (const auto& [name, ms] : times[i].by_class_ms) {
      shares[name] += weights[i] * ms;
      all += weights[i] * ms;
    }
  }
  for (auto& [name, share] : shares) {
    share /= all;
  }
  return shares;
}

double distance_of(const std::map<std::string, double>& a, const std::map<std::string, double>& b) {
  double sum = 0;
  for (const auto& [name, share] : a) {
    const auto other = b.find(name);
    sum += std::abs(share - (other == b.end() ? 0 : other->second));
  }
  for (const auto& [name, share] : b) {
    sum += a.contains(name) ? 0 : share;
  }
  return sum / 2;
}

/// Counts in proportion to the wanted weights, `first` of the part with the smallest.
Counts counts_for(const std::vector<double>& weights, std::uint64_t first) {
  const double least = *std::min_element(weights.begin(), weights.end());
  Counts counts;
  for (const double weight : weights) {
    counts.push_back(std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::llround(weight / least * static_cast<double>(first)))));
  }
  return counts;
}

double iteration_ms(const std::vector<Times>& times, const Counts& counts) {
  double ms = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    ms += times[i].step_ms * static_cast<double>(counts[i]);
  }
  return ms;
}

/// The path's last name, by a number apart from those of the sources before.
std::string source_name(const std::string& path, const std::vector<PlanSource>& before) {
  const std::filesystem::path place = std::filesystem::path(path).lexically_normal();
  const std::string name = (place.has_filename() ? place : place.parent_path()).filename().string();
  std::string unique = name;
  for (int i = 2; std::ranges::find(before, unique, &PlanSource::name) != before.end(); ++i) {
    unique = fmt::format("{} ({})", name, i);
  }
  return unique;
}

Plan plan_of(const std::vector<FitPart>& parts, const Counts& counts, int ranks) {
  Plan plan;
  plan.file = "--fit";
  plan.name = "fit";
  plan.ranks = ranks;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string name = source_name(parts[i].path, plan.sources);
    plan.sources.push_back({name, parts[i].path, std::nullopt, "", 0});
    PlanPiece piece;
    piece.name = name;
    piece.source = name;
    plan.pieces.push_back(piece);
    PlanItem item;
    item.piece = name;
    item.as = name;
    item.repeat = static_cast<int>(counts[i]);
    plan.run.push_back(item);
  }
  return plan;
}

}  // namespace

Fit fit(const std::vector<FitPart>& parts, double minutes, double tolerance, const Load& load) {
  std::vector<Times> times;
  std::vector<double> weights;
  Fit found;
  int ranks = 1;
  for (const FitPart& part : parts) {
    const Bench bench = load({"", part.path, std::nullopt, "", 0}, "");
    ranks = std::max(ranks, bench.world_size());
    times.push_back(times_of(bench, part.path));
    weights.push_back(part.share / times.back().step_ms);
    found.asked_shares.push_back(part.share);
  }
  found.asked = mixed(times, weights);
  std::optional<Counts> best;
  for (std::uint64_t first = 1; first <= kMostSteps; ++first) {
    const Counts counts = counts_for(weights, first);
    const double distance = distance_of(found.asked, mixed(times, {counts.begin(), counts.end()}));
    const bool fits_time = iteration_ms(times, counts) * kIterations <= minutes * kMsPerMinute;
    if (!fits_time && best) {
      break;
    }
    if (!best || distance < found.distance - 1e-12) {
      best = counts;
      found.distance = distance;
    }
    if (found.distance <= tolerance) {
      break;
    }
  }
  found.steps = *best;
  found.got = mixed(times, {best->begin(), best->end()});
  found.iteration_ms = iteration_ms(times, *best);
  if (found.iteration_ms * kIterations > minutes * kMsPerMinute) {
    throw et_schema::usage_error(
        "no mix of whole steps fits into the time",
        {.field = "--minutes",
         .expected =
             fmt::format("at least {:.2f}", found.iteration_ms * kIterations / kMsPerMinute),
         .got = fmt::format("{}", minutes),
         .hint = "ask for more minutes, for other shares, or compose pieces by a plan"});
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    found.shares.push_back(times[i].step_ms * static_cast<double>((*best)[i]) / found.iteration_ms);
  }
  found.plan = plan_of(parts, *best, ranks);
  return found;
}

Plan micro_plan(const std::string& operators, const std::string& path, int ranks) {
  try {
    static_cast<void>(et_schema::regular_expression(operators));
  } catch (const std::regex_error& error) {
    throw et_schema::usage_error("the operators are not a regular expression",
                                 {.field = "--operators",
                                  .expected = "an expression as '^aten::mm$'",
                                  .got = fmt::format("{}: {}", operators, error.what())});
  }
  Plan plan = plan_of({{path, 1}}, {1}, ranks);
  plan.file = "--operators";
  plan.name = "micro";
  plan.pieces.front().operators = operators;
  return plan;
}

}  // namespace understudy::composer
