#pragma once

#include <string>
#include <vector>

#include "et_schema/model/operator_call.h"

namespace understudy::cli {

/// A benchmark of the calls of tables, of which no times are known.
class TableOfCalls {
 public:
  /// Returns true for a table whose calls have no times.
  [[nodiscard]] static bool lacks_times(const std::string& path);

  /// Reads tables, and writes the benchmark. Throws Error (bad input) if none of the calls can be
  /// made, and as predictor::calls_of() does.
  TableOfCalls(const std::vector<std::string>& paths, const std::string& bench);

  /// Leaves out of the rows of its replay those of calls that ran otherwise than the tables say.
  /// Returns why calls were not timed.
  [[nodiscard]] std::vector<std::string> check(const std::string& rows);

 private:
  std::vector<et_schema::OperatorCall> calls_;  ///< by instruction
  std::vector<std::string> refused_;
};

}  // namespace understudy::cli
