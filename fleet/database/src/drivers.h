#pragma once

#include <memory>
#include <string>

#include "fleet/database/connection.h"

namespace understudy::fleet {

[[nodiscard]] std::unique_ptr<Connection> connect_sqlite(const std::string& path, Opening opening,
                                                         double patience_s);
/// Throws Error (usage) in builds without libpqxx.
[[nodiscard]] std::unique_ptr<Connection> connect_postgres(const std::string& url,
                                                           double patience_s);

}  // namespace understudy::fleet
