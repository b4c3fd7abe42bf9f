#include <stdexcept>

#include "et_schema/base/error.h"
#include "generator/composer/plan/plan.h"
#include "properties.h"

namespace understudy::fuzz {

void check_plan(std::string_view input) {
  try {
    const composer::Plan plan = composer::parse_plan(input, "plan.yaml");
    if (plan.run.empty() || plan.sources.empty() || plan.pieces.empty() || plan.ranks < 1) {
      throw std::logic_error("a plan that runs nothing");
    }
  } catch (const et_schema::Error& error) {
    if (error.kind() != et_schema::ErrorKind::kBadInput || error.summary().empty() ||
        error.context().file != "plan.yaml" || error.context().field.rfind("line ", 0) != 0) {
      throw std::logic_error("an error without its place: " + to_text(error));
    }
  }
}

}  // namespace understudy::fuzz
