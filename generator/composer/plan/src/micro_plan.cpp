#include <fmt/format.h>

#include <filesystem>
#include <regex>

#include "et_schema/base/error.h"
#include "et_schema/base/regular_expression.h"
#include "generator/composer/plan/plan.h"

namespace understudy::composer {

Plan micro_plan(const std::string& operators, const std::string& path, int ranks) {
  try {
    static_cast<void>(et_schema::regular_expression(operators));
  } catch (const std::regex_error& error) {
    throw et_schema::usage_error("the operators are not a regular expression",
                                 {.field = "--operators",
                                  .expected = "an expression as '^aten::mm$'",
                                  .got = fmt::format("{}: {}", operators, error.what())});
  }
  const std::filesystem::path place = std::filesystem::path(path).lexically_normal();
  const std::string name = (place.has_filename() ? place : place.parent_path()).filename().string();
  Plan plan;
  plan.file = "--operators";
  plan.name = "micro";
  plan.ranks = ranks;
  plan.sources.push_back({name, path, std::nullopt, "", 0});
  PlanPiece& piece = plan.pieces.emplace_back();
  piece.name = name;
  piece.source = name;
  piece.operators = operators;
  PlanItem& item = plan.run.emplace_back();
  item.piece = name;
  item.as = name;
  return plan;
}

}  // namespace understudy::composer
