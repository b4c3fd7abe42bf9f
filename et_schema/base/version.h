#pragma once

namespace understudy::et_schema {

/// Version of the tools, from the project's CMakeLists.txt.
inline constexpr const char* kToolVersion = UNDERSTUDY_VERSION;

}  // namespace understudy::et_schema
