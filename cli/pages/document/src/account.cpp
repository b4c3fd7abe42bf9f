#include "cli/pages/document/account.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "cli/pages/document/walked.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/json_record.h"
#include "et_schema/formats/prediction/prediction.h"

namespace understudy::pages {
using et_schema::StepTime;

nlohmann::ordered_json account_json(const et_schema::Account& account, const char* whole) {
  std::vector<et_schema::AccountRow> rows = account_rows(account);
  if (!rows.empty()) {
    rows.front().what = whole;
  }
  return et_schema::json_of(rows);
}

Table account_table(const nlohmann::ordered_json& data, const std::string& at,
                    const std::string& whose) {
  return table_at(data, at, "The step's recorded time, carried by " + whose + " or left, and why",
                  columns_of<et_schema::AccountRow>());
}

et_schema::Assessment verdict_on(const et_schema::Account& account, const std::string& whose,
                                 const char* whole) {
  const bool has_device = account.whole.device_ms > 0;
  const auto time = has_device ? &StepTime::device_ms : &StepTime::host_ms;
  const double whole_ms = account.whole.*time;
  const std::string step = fmt::format("of {} {} ms {}", whole, et_schema::figure_text(whole_ms),
                                       has_device ? "on the device" : "on the host");
  et_schema::Assessment verdict;
  verdict.sentence =
      whole_ms > 0 ? fmt::format("{} holds {} {}.", whose,
                                 et_schema::percent_text(account.carried.*time / whole_ms), step)
                   : whose + " holds no recorded times.";
  double left_ms = 0;
  std::vector<std::pair<double, std::string>> reasons;
  for (const auto& [why, part] : account.left) {
    if (et_schema::is_loss(why) && part.*time > 0) {
      left_ms += part.*time;
      reasons.emplace_back(part.*time,
                           fmt::format("{} {}", why, et_schema::figure_text(part.*time)));
    }
  }
  if (left_ms > et_schema::kToldShare * whole_ms) {
    std::ranges::sort(reasons, std::greater());
    std::vector<std::string> texts;
    std::ranges::transform(reasons, std::back_inserter(texts),
                           &std::pair<double, std::string>::second);
    verdict.tone = et_schema::Tone::kAttention;
    verdict.findings.push_back(
        fmt::format("{} {} ({}) are not in it: {}.", et_schema::figure_text(left_ms), step,
                    et_schema::percent_text(left_ms / whole_ms), fmt::join(texts, ", ")));
  }
  return verdict;
}

Section work_section(const nlohmann::ordered_json& data) {
  if (data.value(nlohmann::ordered_json::json_pointer("/work/gflop"), 0.0) == 0) {
    return {"work", "", {}};
  }
  Section section{"work", "Work, and the share of the peak",
                  blocks_at<et_schema::StepWork>(data, "/work")};
  section.blocks.emplace_back(Notes{
      {"Products alone make MFU and HFU, causal attention by half of its square; a float32 product "
       "is held against TF32's peak where the card has it."}});
  return section;
}

}  // namespace understudy::pages
