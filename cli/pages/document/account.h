#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/pages/document/page.h"
#include "et_schema/model/device_time.h"

namespace understudy::pages {

/// Returns et_schema::account_rows() as {what, host_ms, device_ms, classes}; the first is `whole`.
[[nodiscard]] nlohmann::ordered_json account_json(const et_schema::Account& account,
                                                  const char* whole = "the step");

/// Returns the table of such rows; `whose` carries and leaves: "the benchmark".
[[nodiscard]] Table account_table(const nlohmann::ordered_json& data, const std::string& at,
                                  const std::string& whose);

/// Says how much of the `whole`'s device time, or of the host's if it has none, `whose` ("The
/// benchmark") holds; and what is lost, if that is more than et_schema::kToldShare of it.
[[nodiscard]] et_schema::Assessment verdict_on(const et_schema::Account& account,
                                               const std::string& whose,
                                               const char* whole = "the step's");

/// Returns the section of what a step works, which stands at "/work" (et_schema::StepWork). It is
/// empty without products.
[[nodiscard]] Section work_section(const nlohmann::ordered_json& data);

}  // namespace understudy::pages
