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
namespace {

using et_schema::StepTime;

nlohmann::ordered_json account_row(const std::string& what, const StepTime& time) {
  return {{"what", what},
          {"host_ms", time.host_ms},
          {"device_ms", time.device_ms},
          {"classes", time.class_ms}};
}

}  // namespace

nlohmann::ordered_json account_json(const et_schema::Account& account) {
  auto rows = nlohmann::ordered_json::array();
  if (account.whole.host_ms > 0 || account.whole.device_ms > 0) {
    rows.push_back(account_row("the step", account.whole));
    rows.push_back(account_row("carried", account.carried));
    for (const auto& [why, time] : account.left) {
      rows.push_back(account_row(why, time));
    }
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
  constexpr double kTold = 0.02;
  const bool has_device = account.whole.device_ms > 0;
  const auto time = has_device ? &StepTime::device_ms : &StepTime::host_ms;
  double left_ms = 0;
  std::vector<std::pair<double, std::string>> reasons;
  for (const auto& [why, part] : account.left) {
    const bool is_asked_for = why == to_string(et_schema::Outside::kFiltered);
    if (why != et_schema::kBetweenOperators && !is_asked_for && part.*time > 0) {
      left_ms += part.*time;
      reasons.emplace_back(part.*time,
                           fmt::format("{} {}", why, et_schema::figure_text(part.*time)));
    }
  }
  if (left_ms <= kTold * account.whole.*time) {
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
