#include "fleet/database/damaged.h"

#include <utility>

namespace understudy::fleet {

et_schema::Error damaged_database(et_schema::ErrorContext context) {
  context.hint = "restore the copy that `fleet gc --backup` made";
  return et_schema::bad_input("the fleet's database is damaged", std::move(context));
}

}  // namespace understudy::fleet
