#include "fleet/records/settings.h"

namespace understudy::fleet {

std::string setting(Connection& connection, const std::string& name) {
  const Rows rows = connection.query("SELECT value FROM setting WHERE name = $1", {name});
  return rows.empty() ? "" : rows.front().text(0);
}

void set_setting(Connection& connection, const std::string& name, const std::string& value) {
  connection.execute(
      "INSERT INTO setting (name, value) VALUES ($1, $2) "
      "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      {name, value});
}

}  // namespace understudy::fleet
