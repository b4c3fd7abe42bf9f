#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "cli/platform/chosen_platform.h"
#include "predictor/platform/platform_costs.h"
#include "predictor/what_if/recorded_costs.h"

namespace understudy::cli {

/// The costs that the arguments select, and their sources.
class ChosenCosts {
 public:
  /// `job`: the recorded job, which must outlive this object. If the platform's device is a GPU,
  /// programs of a CPU are replaced in `job` by programs that this object owns. Throws Error (bad
  /// input) for the platform file, Error (usage) without recorded times or for an unknown device.
  ChosenCosts(const PredictArguments& arguments, predictor::Job& job);

  [[nodiscard]] const predictor::Costs& costs() const { return *costs_; }
  /// Returns the card that is predicted for; null for a host, and with recorded costs.
  [[nodiscard]] const predictor::Card* card() const;
  /// Returns the entries of the prediction's `platform`.
  [[nodiscard]] const std::map<std::string, std::string>& platform() const {
    return platform_text_;
  }
  [[nodiscard]] const std::vector<std::string>& assumptions() const { return assumptions_; }

 private:
  void take_platform(const PredictArguments& arguments, predictor::Job& job);
  void place(const std::string& device, predictor::Job& job);
  [[nodiscard]] std::vector<std::string> add_page_faults(const predictor::Job& job,
                                                         predictor::RecordedParts& parts) const;

  std::deque<et_schema::Program> placed_;
  std::optional<predictor::RecordedCosts> recorded_;
  predictor::Platform platform_ = {};
  std::optional<predictor::PlatformCosts> modelled_;
  const predictor::Costs* costs_ = nullptr;
  std::map<std::string, std::string> platform_text_;
  std::vector<std::string> assumptions_;
};

}  // namespace understudy::cli
