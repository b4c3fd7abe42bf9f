#pragma once

#include <string>

#include "et_schema/model/report.h"
#include "fleet/objects/object_store.h"

namespace understudy::fleet {

/// Puts a report's text into the store, deflated. Its hash.
[[nodiscard]] std::string put_report(const ObjectStore& store, const std::string& json);
/// Throws Error where it is missing or damaged.
[[nodiscard]] et_schema::Report read_report(const ObjectStore& store, const std::string& hash);

}  // namespace understudy::fleet
