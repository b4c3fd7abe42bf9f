#pragma once

#include <memory>
#include <string>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// Version of the tables. A migration takes a fleet from each version to the next.
inline constexpr int kSchemaVersion = 2;

/// Makes the tables, or brings older ones up to this version. Safe beside others that do the same.
/// Throws Error (usage) on tables of a newer version, or of something else; and, with `kExisting`,
/// where there are none: a database that lost its content is no fleet without jobs. `url` is named
/// in that error.
void migrate(Connection& connection, Opening opening = Opening::kCreate,
             const std::string& url = {});

/// connect() and migrate().
[[nodiscard]] std::unique_ptr<Connection> open_fleet(const std::string& url, Opening opening);

/// A setting of the whole fleet; empty if it was never set. "store" is the store's folder.
[[nodiscard]] std::string setting(Connection& connection, const std::string& name);
void set_setting(Connection& connection, const std::string& name, const std::string& value);

}  // namespace understudy::fleet
