#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cli/pages/document/page.h"
#include "predictor/calls/costs.h"

namespace understudy::cli {

inline constexpr double kNsPerMs = 1e6;

/// Predictions beside measured times, by the name of what was measured.
class Judged {
 public:
  /// Ignores rows without a time (0).
  void add(const std::string& name, double measured_ns, const predictor::Estimate& predicted);
  [[nodiscard]] bool empty() const { return groups_.empty(); }
  /// Returns a row for each name, in a column of this title.
  [[nodiscard]] pages::Section section(const std::string& title) const;

 private:
  struct Group {
    std::vector<double> residuals;
    std::size_t within = 0;
  };
  std::map<std::string, Group> groups_;
};

}  // namespace understudy::cli
