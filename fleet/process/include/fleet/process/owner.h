#pragma once

#include <string>

namespace understudy::fleet {

/// Who holds a piece of work: host, its boot and process namespace, process and its start, and
/// `part` of it. No two workers have ever had the same.
[[nodiscard]] std::string this_owner(const std::string& part);

/// True if the owner is a process of this host that is certainly gone. Owners elsewhere may live.
[[nodiscard]] bool is_certainly_gone(const std::string& owner);

}  // namespace understudy::fleet
