#pragma once

#include <string_view>

namespace understudy::generator {

/// What PyTorch's fallback writes where a class of Python's (a wrapper such as DTensor or a nested
/// tensor) takes a call on. Its own time is Python's, between the operators below it.
inline constexpr std::string_view kSubclassLabel = "PythonSubclass";

/// The same of a mode (TorchDispatchMode) that takes all calls on while it is entered.
inline constexpr std::string_view kModeLabel = "PythonDispatchMode";

}  // namespace understudy::generator
