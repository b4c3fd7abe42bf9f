#include "cli/pages/document/account.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"

namespace understudy::pages {
using et_schema::StepTime;

nlohmann::ordered_json account_json(const et_schema::Account& account) {
  auto rows = nlohmann::ordered_json::array();
  for (const et_schema::AccountRow& row : account_rows(account)) {
    rows.push_back({{"what", row.what},
                    {"host_ms", row.host_ms},
                    {"device_ms", row.device_ms},
                    {"classes", row.class_ms}});
  }
  return rows;
}

Table account_table(const nlohmann::ordered_json& data, const std::string& at,
                    const std::string& whose) {
  return table_at(
      data, at, "The step's recorded time, carried by " + whose + " or left, and why",
      {texts("what"), figures("host ms", "host_ms"), figures("device ms", "device_ms")});
}

void add_left(const et_schema::Account& account, const std::string& whose,
              et_schema::Assessment& verdict) {
  const bool has_device = account.whole.device_ms > 0;
  const auto time = has_device ? &StepTime::device_ms : &StepTime::host_ms;
  double left_ms = 0;
  std::vector<std::pair<double, std::string>> reasons;
  for (const auto& [why, part] : account.left) {
    if (et_schema::is_loss(why) && part.*time > 0) {
      left_ms += part.*time;
      reasons.emplace_back(part.*time,
                           fmt::format("{} {}", why, et_schema::figure_text(part.*time)));
    }
  }
  if (left_ms <= et_schema::kToldShare * account.whole.*time) {
    return;
  }
  std::ranges::sort(reasons, std::greater());
  std::vector<std::string> texts;
  for (const auto& [ms, text] : reasons) {
    texts.push_back(text);
  }
  verdict.tone = et_schema::Tone::kAttention;
  verdict.findings.push_back(fmt::format(
      "{} of the step's {} ms {} ({}) are not in {}: {}.", et_schema::figure_text(left_ms),
      et_schema::figure_text(account.whole.*time), has_device ? "on the device" : "on the host",
      et_schema::percent_text(left_ms / (account.whole.*time)), whose, fmt::join(texts, ", ")));
}

}  // namespace understudy::pages
