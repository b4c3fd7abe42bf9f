#pragma once

#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// Which tensors hold what was assumed: externals of which the trace says too little, and what
/// operators make of them as long as it is of their kind. An operator that reads one did the
/// recorded operator's work on another amount of data, or by another scale.
class AssumedContent {
 public:
  explicit AssumedContent(const et_schema::Program& program);

  /// What is assumed of an instruction's arguments, for the report ("itself, on …"); empty if
  /// nothing is.
  [[nodiscard]] std::string_view of(const et_schema::Instruction& instruction) const;

 private:
  void follow(const std::vector<et_schema::Instruction>& instructions);

  const et_schema::Program& program_;
  std::vector<std::string_view> by_slot_;
};

}  // namespace understudy::replayer
