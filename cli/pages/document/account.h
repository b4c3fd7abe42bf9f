#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/pages/document/page.h"
#include "et_schema/model/device_time.h"

namespace understudy::pages {

/// Returns the rows of an account: "the step", "carried", then what is left, by reason. Each has
/// {what, host_ms, device_ms, classes}; all but the first add up to it. Empty without times.
[[nodiscard]] nlohmann::ordered_json account_json(const et_schema::Account& account);

/// Returns the table of such rows; `whose` carries and leaves: "the benchmark".
[[nodiscard]] Table account_table(const nlohmann::ordered_json& data, const std::string& at,
                                  const std::string& whose);

/// Says first what is left of the step, if that is above 2 % of it: of its device time if it has
/// any, else of the host's; without the time between operators and what filters leave out.
void add_left(const et_schema::Account& account, const std::string& whose,
              et_schema::Assessment& verdict);

}  // namespace understudy::pages
