#include "fleet/nightly/report_object.h"

#include "et_schema/report/report_json.h"
#include "et_schema/support/error.h"
#include "et_schema/support/zip.h"

namespace understudy::fleet {
namespace {

constexpr const char* kMember = "report.json";

}  // namespace

std::string put_report(const ObjectStore& store, const std::string& json) {
  return store.put(et_schema::zip_bytes({{kMember, json}}));
}

et_schema::Report read_report(const ObjectStore& store, const std::string& hash) {
  const std::string file = store.path_of(hash).string();
  const auto members = et_schema::unzip(store.read(hash), file, et_schema::process_limits());
  const auto found = members.find(kMember);
  if (found == members.end()) {
    throw et_schema::run_failed("an object of the store is no report", {.file = file});
  }
  return et_schema::parse_report(found->second, file);
}

}  // namespace understudy::fleet
