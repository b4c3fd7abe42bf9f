#include <fmt/format.h>

#include "et_schema/base/error.h"
#include "et_schema/model/value_problem.h"
#include "values_store.h"

namespace understudy::replayer {

void refuse_rule(const et_schema::ValueRule& rule, const std::string& expected,
                 const std::string& got) {
  et_schema::ErrorContext context;
  context.field = rule.why.empty() ? "value" : fmt::format("value ({})", rule.why);
  context.expected = expected;
  context.got = got;
  context.hint = "generate the benchmark again from its trace";
  throw et_schema::bad_input("a value rule that no content can fulfil", context);
}

void check_rule(const et_schema::ValueRule& rule, std::int64_t numel) {
  if (const auto problem = et_schema::find_problem(rule, numel)) {
    refuse_rule(rule, problem->expected, problem->got);
  }
}

}  // namespace understudy::replayer
