#include "drivers.h"
#include "et_schema/base/error.h"

namespace understudy::fleet {

std::unique_ptr<Connection> connect_postgres(const std::string& url, double /*patience_s*/) {
  throw et_schema::usage_error("this build knows no PostgreSQL",
                               {.file = without_password(url),
                                .expected = "a file of SQLite's",
                                .hint = "install libpqxx-dev and build again"});
}

}  // namespace understudy::fleet
