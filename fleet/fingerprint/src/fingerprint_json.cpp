#include <nlohmann/json.hpp>

#include "et_schema/support/json_fields.h"
#include "fleet/fingerprint/fingerprint.h"

namespace understudy::fleet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kFormat = "understudy-fingerprint";

}  // namespace

std::string to_json(const Fingerprint& print) {
  Json operators = Json::object();
  for (const auto& [name, row] : print.operators) {
    operators[name] = {{"calls", row.calls},
                       {"share", row.share},
                       {"log2_elements", row.log2_elements},
                       {"shapes", row.shapes}};
  }
  Json collectives = Json::object();
  for (const auto& [name, row] : print.collectives) {
    collectives[name] = {{"calls", row.calls}, {"bytes", row.bytes}};
  }
  return Json{{"format", kFormat},
              {"version", kVersion},
              {"world_size", print.world_size},
              {"is_timed", print.is_timed},
              {"class_share", print.class_share},
              {"operators", std::move(operators)},
              {"collectives", std::move(collectives)},
              {"live_peak_bytes", print.live_peak_bytes},
              {"external_bytes", print.external_bytes},
              {"step_ms", print.step_ms},
              {"losses", print.losses}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Fingerprint parse_fingerprint(const std::string& json, const std::string& file) {
  const et_schema::JsonSource source{file, "the fingerprint cannot be read",
                                     "fleet nightly --regenerate makes it anew"};
  const nlohmann::json document = et_schema::parse_json(json, source);
  const et_schema::JsonField root(document, source);
  et_schema::check_format(root, {"fingerprint", kFormat, kVersion});
  Fingerprint print;
  print.world_size = root.at("world_size").as_int32();
  print.is_timed = root.at("is_timed").as_bool();
  for (const auto& [name, share] : root.at("class_share").members()) {
    print.class_share[name] = share.as_double();
  }
  for (const auto& [name, row] : root.at("operators").members()) {
    print.operators[name] = {row.at("calls").as_uint(), row.at("share").as_double(),
                             row.at("log2_elements").as_double(), row.at("shapes").as_text()};
  }
  for (const auto& [name, row] : root.at("collectives").members()) {
    print.collectives[name] = {row.at("calls").as_uint(), row.at("bytes").as_uint()};
  }
  print.live_peak_bytes = root.at("live_peak_bytes").as_uint();
  print.external_bytes = root.at("external_bytes").as_uint();
  print.step_ms = root.at("step_ms").as_double();
  print.losses = root.at("losses").as_uint();
  return print;
}

}  // namespace understudy::fleet
