#pragma once

#include <string>

namespace understudy::cli {

/// `predict --operators`: a table of single operators with times beside it.
struct OperatorsArguments {
  std::string table;  ///< CSV, or an operator-times file
  std::string platform;
  std::string card;    ///< a card's JSON file; empty: `device`
  std::string device;  ///< a device's name; empty: the rows' own devices
  int threads = 0;     ///< of operators on a CPU, where the table does not say; 0: as measured
  std::string output;  ///< empty: standard output
  bool quiet = false;
};

/// Predicts each row, writes the table. Says on standard output, where that does not take the
/// table, how far predictions are from times that the table holds. The exit status.
int predict_operators(const OperatorsArguments& arguments);

}  // namespace understudy::cli
