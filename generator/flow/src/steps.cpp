#include "generator/flow/steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "et_schema/base/error.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

std::vector<const Node*> step_marks(const Trace& trace) {
  std::vector<const Node*> marks;
  for (const Node& node : trace.nodes) {
    if (node.op_schema.empty() && is_step_mark(node.name)) {
      marks.push_back(&node);
    }
  }
  return marks;
}

Step step_at(const std::vector<const Node*>& marks, std::size_t index) {
  Step step;
  step.name = std::string(marks[index]->name);
  if (marks.size() == 1) {
    return step;  // a mark is written when its step ends, so the file holds only this step
  }
  step.ids.begin = marks[index]->id;
  if (index + 1 < marks.size()) {
    step.ids.end = marks[index + 1]->id;
  } else {
    step.name += " (its end is not in the trace)";
  }
  return step;
}

}  // namespace

Step choose_step(const Trace& trace, const std::optional<std::string>& asked) {
  const std::vector<const Node*> marks = step_marks(trace);
  if (asked == "all") {
    return {{}, "all"};
  }
  if (!asked) {
    return marks.empty() ? Step{} : step_at(marks, 0);
  }
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    known.push_back(marks[i]->name.substr(kStepMark.size()));
    if (known.back() == *asked) {
      return step_at(marks, i);
    }
  }
  throw et_schema::usage_error(
      "the trace has no such step",
      {.file = trace.file,
       .rank = trace.rank,
       .field = "--step",
       .expected = known.empty() ? "all (the trace marks no steps)"
                                 : fmt::format("all, {}", fmt::join(known, ", ")),
       .got = *asked,
       .hint = "leave --step out to take the first complete step"});
}

}  // namespace understudy::generator
