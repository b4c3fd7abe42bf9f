#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// A recorded schema text, taken apart as far as binding needs it.
struct RecordedSchema {
  std::string name;                    ///< "aten::add"
  std::string overload;                ///< "Tensor", or empty
  std::vector<std::string> arguments;  ///< names, in order
  std::vector<std::string> types;      ///< of the arguments, "SymInt" written as "int"
};

/// Tolerant of types that this LibTorch does not know (TorchBind classes of other libraries).
[[nodiscard]] RecordedSchema parse_recorded_schema(const std::string& text);

/// How a recorded call is made through an operator of this LibTorch.
struct OperatorMatch {
  c10::OperatorHandle handle;
  /// For each argument of the operator the recorded one's index, or nothing: its default.
  std::vector<std::optional<std::size_t>> sources;
};

/// A match, or the reason why there is none.
struct MatchResult {
  std::optional<OperatorMatch> match;
  std::string reason;
};

/// Finds the operator for a recorded call: the same name and overload, else another overload of the
/// name. Arguments are matched by position where the schemas agree, else by name. A tensor that was
/// recorded and has no place in today's schema, and a new argument without a default, are no match.
[[nodiscard]] MatchResult match_operator(const RecordedSchema& recorded,
                                         const std::vector<et_schema::Argument>& arguments);

/// The operator of a name with its overload, "aten::add.Tensor".
[[nodiscard]] std::optional<c10::OperatorHandle> find_operator(std::string_view name);

[[nodiscard]] std::vector<std::string> argument_names(const c10::FunctionSchema& schema);

/// Whether the operator has a kernel of its own, or one that is composed of others, for a device.
[[nodiscard]] bool has_kernel(const c10::OperatorHandle& handle, c10::DeviceType device);

}  // namespace understudy::replayer
