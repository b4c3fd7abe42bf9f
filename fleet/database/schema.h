#pragma once

#include <memory>
#include <string>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// Version of the tables.
inline constexpr int kSchemaVersion = 1;

/// Creates the tables unless they exist. Safe while other processes do the same. Throws Error
/// (usage) if the tables are of another version or another program. With `kExisting`, also throws
/// if there are no tables, since a database that lost its content must not pass for a fleet without
/// jobs; that error names `url`.
void prepare_tables(Connection& connection, Opening opening = Opening::kCreate,
                    const std::string& url = {});

/// connect() and prepare_tables().
[[nodiscard]] std::unique_ptr<Connection> open_fleet(const std::string& url, Opening opening);

/// Returns a setting of the whole fleet; empty if never set. "store" is the store's folder.
[[nodiscard]] std::string setting(Connection& connection, const std::string& name);
void set_setting(Connection& connection, const std::string& name, const std::string& value);

}  // namespace understudy::fleet
