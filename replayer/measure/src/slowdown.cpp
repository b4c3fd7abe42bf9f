#include "slowdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string>

#include "et_schema/base/error.h"
#include "et_schema/model/op_class.h"

namespace understudy::replayer {
namespace {

constexpr double kPercent = 100;

std::string class_of(const Step& step) {
  if (step.kind == StepKind::kStart) {
    return "communication";
  }
  const bool calls = step.kind == StepKind::kCall || step.kind == StepKind::kSubstitute;
  return calls ? std::string(et_schema::op_class(step.source->name)) : "";
}

}  // namespace

Slowdown::Slowdown(const BoundProgram& bound, const PlantedSlowdown& planted)
    : share_(planted.percent / kPercent) {
  std::set<std::string> classes;
  for (const Step& step : bound.steps) {
    const std::string op_class = class_of(step);
    slowed_.push_back(op_class == planted.op_class);
    if (!op_class.empty()) {
      classes.insert(op_class);
    }
  }
  if (!classes.contains(planted.op_class)) {
    throw et_schema::usage_error("no operator of the benchmark is of the class to slow down",
                                 {.field = "--slow",
                                  .expected = fmt::format("one of {}", fmt::join(classes, ", ")),
                                  .got = planted.op_class});
  }
}

void Slowdown::spin() const {
  const Clock::time_point end = Clock::now();
  const auto extra = std::chrono::duration_cast<Clock::duration>((end - begin_) * share_);
  while (Clock::now() < end + extra) {
  }
}

}  // namespace understudy::replayer
