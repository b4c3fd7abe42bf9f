#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "et_schema/bench/bench.h"

namespace understudy::cli {

/// Where recorded times come from, what joined and what was lost; empty without profiles. `note`
/// stands behind its title.
[[nodiscard]] std::string profiles_text(const et_schema::Bench& bench, const std::string& note);

/// One rank's `profile`: null without one.
[[nodiscard]] nlohmann::ordered_json profile_json(const et_schema::Program& program);

}  // namespace understudy::cli
