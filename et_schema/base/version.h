#pragma once

namespace understudy::et_schema {

/// The version of the tools, the same as the project's in CMakeLists.txt.
inline constexpr const char* kToolVersion = UNDERSTUDY_VERSION;

}  // namespace understudy::et_schema
