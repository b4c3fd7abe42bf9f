#pragma once

#include <memory>
#include <string>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// Version of the tables.
inline constexpr int kSchemaVersion = 1;

/// Creates the tables unless they exist. Safe beside other processes that do the same. Throws Error
/// (usage) if the tables are of another version or of another program; and, with `kExisting`, if
/// there are none: a database that lost its content is no fleet without jobs. That error names
/// `url`.
void prepare_tables(Connection& connection, Opening opening = Opening::kCreate,
                    const std::string& url = {});

/// connect() and prepare_tables().
[[nodiscard]] std::unique_ptr<Connection> open_fleet(const std::string& url, Opening opening);

/// A setting of the whole fleet; empty if it was never set. "store" is the store's folder.
[[nodiscard]] std::string setting(Connection& connection, const std::string& name);
void set_setting(Connection& connection, const std::string& name, const std::string& value);

}  // namespace understudy::fleet
