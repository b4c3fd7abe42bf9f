#pragma once

#include <map>
#include <string>
#include <string_view>

namespace understudy::emitter {

/// The headers that go with every emitted project: path in it → text.
[[nodiscard]] const std::map<std::string, std::string_view>& runtime_files();

}  // namespace understudy::emitter
