#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "generator/emitter/outline/outline.h"

namespace understudy::emitter {

/// Names of one scope, each given once.
class NameBook {
 public:
  explicit NameBook(std::set<std::string> taken = {}) : taken_(std::move(taken)) {}
  /// The base, or with the first number from 2 that makes it new.
  std::string take(const std::string& base);

 private:
  std::set<std::string> taken_;
};

/// "linear" of "aten::linear", "log_softmax" of "aten::_log_softmax.int".
[[nodiscard]] std::string operator_word(std::string_view name);

/// What each slot is to the step, as a word: "weight", "bias", "momentum", "grad_relu".
[[nodiscard]] std::vector<std::string> slot_words(const DataFlow& flow, const Phases& phases);
/// What a function is called: by what it is made of, and by its phase.
[[nodiscard]] std::vector<std::string> function_names(const DataFlow& flow, const Outline& outline);

}  // namespace understudy::emitter
