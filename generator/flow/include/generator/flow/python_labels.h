#pragma once

#include <string_view>

namespace understudy::generator {

/// The label that PyTorch's fallback writes where a Python class (a wrapper such as DTensor or a
/// nested tensor) handles a call. Its own time is Python's, between the operators below it.
inline constexpr std::string_view kSubclassLabel = "PythonSubclass";

/// The same for a mode (TorchDispatchMode), which handles all calls while it is entered.
inline constexpr std::string_view kModeLabel = "PythonDispatchMode";

}  // namespace understudy::generator
