#include "et_schema/support/json_record.h"
#include "fleet/fingerprint/fingerprint.h"

namespace understudy::fleet {

using et_schema::SameAs;

static constexpr int kVersion = 1;
static constexpr const char* kFormat = "understudy-fingerprint";

void members(auto& json, SameAs<OperatorPrint> auto& row) {
  json("calls", row.calls);
  json("share", row.share);
  json("log2_elements", row.log2_elements);
  json("shapes", row.shapes);
}

void members(auto& json, SameAs<CollectivePrint> auto& row) {
  json("calls", row.calls);
  json("bytes", row.bytes);
}

/// All but format and version.
static void print_members(auto& json, auto& print) {
  json("world_size", print.world_size);
  json("is_timed", print.is_timed);
  json("class_share", print.class_share);
  json("operators", print.operators);
  json("collectives", print.collectives);
  json("live_peak_bytes", print.live_peak_bytes);
  json("external_bytes", print.external_bytes);
  json("step_ms", print.step_ms);
  json("losses", print.losses);
}

std::string to_json(const Fingerprint& print) {
  et_schema::JsonWriter json;
  json("format", kFormat);
  json("version", kVersion);
  print_members(json, print);
  return et_schema::dump_lines(json.take(), 0);
}

Fingerprint parse_fingerprint(const std::string& json, const std::string& file) {
  const et_schema::JsonSource source{file, "the fingerprint cannot be read",
                                     "fleet nightly --regenerate makes it anew"};
  const nlohmann::json document = et_schema::parse_json(json, source);
  const et_schema::JsonField root(document, source);
  et_schema::check_format(root, {"fingerprint", kFormat, kVersion});
  Fingerprint print;
  et_schema::JsonReader reader(root);
  print_members(reader, print);
  return print;
}

}  // namespace understudy::fleet
