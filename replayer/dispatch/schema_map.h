#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::replayer {

/// A recorded schema text, parsed as far as binding needs it.
struct RecordedSchema {
  std::string name;                    ///< "aten::add"
  std::string overload;                ///< "Tensor", or empty
  std::vector<std::string> arguments;  ///< names, in order
  std::vector<std::string> types;      ///< of the arguments, "SymInt" written as "int"
};

/// Accepts types that this LibTorch does not know (TorchBind classes of other libraries).
[[nodiscard]] RecordedSchema parse_recorded_schema(const std::string& text);

/// The operator of this LibTorch for a recorded call, and the mapping of its arguments.
struct OperatorMatch {
  c10::OperatorHandle handle;
  /// For each argument of the operator, the recorded argument's index; unset: its default.
  std::vector<std::optional<std::size_t>> sources;
};

/// A match, or the reason for its absence.
struct MatchResult {
  std::optional<OperatorMatch> match;
  std::string reason;
};

/// Finds the operator for a recorded call: the same name and overload, else another overload of the
/// name. Arguments are matched by position if the schemas agree, else by name. There is no match if
/// a recorded tensor has no argument in the current schema, or a new argument has no default.
[[nodiscard]] MatchResult match_operator(const RecordedSchema& recorded,
                                         const std::vector<et_schema::Argument>& arguments);

/// Returns the operator of a name with its overload, "aten::add.Tensor".
[[nodiscard]] std::optional<c10::OperatorHandle> find_operator(std::string_view name);

[[nodiscard]] std::vector<std::string> argument_names(const c10::FunctionSchema& schema);

/// Returns true if the operator has a kernel for the device, its own or one composed of others.
[[nodiscard]] bool has_kernel(const c10::OperatorHandle& handle, c10::DeviceType device);

}  // namespace understudy::replayer
