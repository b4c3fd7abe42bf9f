#pragma once

#include <cstddef>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "et_schema/formats/operator_times/operator_times.h"

namespace understudy::calibrator {

/// The rows of a calibration, stored as soon as they are measured in a growing operator-times file.
/// Opening it reads the rows of an interrupted calibration, without a truncated last line.
class Journal {
 public:
  /// Opens or creates the file. `header` describes its rows and has none. Throws Error if the file
  /// cannot be read (bad input), or is of another machine or LibTorch (usage).
  Journal(std::string path, et_schema::OperatorTimes header);

  /// Returns all rows, including those found in the file.
  [[nodiscard]] const et_schema::OperatorTimes& times() const { return times_; }
  [[nodiscard]] std::size_t found() const { return found_; }
  [[nodiscard]] bool found_cut_line() const { return found_cut_line_; }
  /// Returns the seconds that measuring the found rows took.
  [[nodiscard]] double found_s() const { return found_s_; }

  /// Returns the rows of a call, by its text; empty if there are none.
  [[nodiscard]] std::vector<const et_schema::MeasuredCall*> rows_of(const std::string& call) const;

  /// Appends a row. Throws et_schema::cannot_write().
  void add(et_schema::MeasuredCall row);

 private:
  void read();
  void check_file() const;
  void index(std::size_t row);

  std::string path_;
  et_schema::OperatorTimes times_;
  std::multimap<std::string, std::size_t> by_call_;
  std::size_t found_ = 0;
  bool found_cut_line_ = false;
  double found_s_ = 0;
  std::ofstream file_;
};

}  // namespace understudy::calibrator
