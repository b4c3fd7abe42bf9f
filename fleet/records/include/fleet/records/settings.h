#pragma once

#include <string>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// A setting of the whole fleet; empty if it was never set. "store" is the store's folder.
[[nodiscard]] std::string setting(Connection& connection, const std::string& name);
void set_setting(Connection& connection, const std::string& name, const std::string& value);

}  // namespace understudy::fleet
