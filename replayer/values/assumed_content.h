#pragma once

#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// Finds the tensors whose content is assumed: externals that the trace describes too little, and
/// operators' results of the same kind. An operator that reads one does its work on another amount
/// of data than the original, or with another scale.
class AssumedContent {
 public:
  explicit AssumedContent(const et_schema::Program& program);

  /// Returns the assumption about an instruction's arguments, for the report ("itself, on …");
  /// empty if there is none.
  [[nodiscard]] std::string_view of(const et_schema::Instruction& instruction) const;

 private:
  void follow(const std::vector<et_schema::Instruction>& instructions);

  const et_schema::Program& program_;
  std::vector<std::string_view> by_slot_;
};

}  // namespace understudy::replayer
