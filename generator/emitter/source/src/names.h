#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data_flow.h"

namespace understudy::emitter {

/// The names of one scope. No name is used twice.
class NameBook {
 public:
  /// Returns `base`, with the first number from 2 that makes it new if it is in use.
  std::string take(const std::string& base);

 private:
  std::set<std::string> taken_;
};

/// Returns "linear" for "aten::linear", "log_softmax" for "aten::_log_softmax.int".
[[nodiscard]] std::string operator_word(std::string_view name);

/// Returns a word for each slot's role in the step: "weight", "bias", "momentum", "grad_relu".
[[nodiscard]] std::vector<std::string> slot_words(const DataFlow& flow, const Phases& phases);

}  // namespace understudy::emitter
