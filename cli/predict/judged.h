#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cli/pages/document/page.h"
#include "predictor/calls/costs.h"

namespace understudy::cli {

inline constexpr double kNsPerMs = 1e6;

/// Predictions of a table, beside its measured times.
class Judged {
 public:
  /// `name` is what the times are compared by. `measured_ns` is 0 if there is none.
  void add(const std::string& name, double measured_ns, const predictor::Estimate& predicted);
  /// Returns "8 calls predicted, 2 extrapolated, 1 without a model".
  [[nodiscard]] std::string summary() const;
  /// Returns a row for each name, in a column of this title.
  [[nodiscard]] pages::Section section(const std::string& title) const;

 private:
  struct Group {
    std::vector<double> residuals;
    std::size_t within = 0;
  };
  std::map<std::string, Group> groups_;
  std::size_t calls_ = 0, extrapolated_ = 0, unmodelled_ = 0;
};

}  // namespace understudy::cli
