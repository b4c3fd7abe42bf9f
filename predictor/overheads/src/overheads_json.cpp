#include "predictor/overheads/overheads_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "et_schema/support/json_fields.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;
using nlohmann::ordered_json;

ordered_json json_of(const Distribution& distribution) {
  return {{"n", distribution.n},
          {"mean_ns", distribution.mean_ns},
          {"deviation_ns", distribution.deviation_ns},
          {"p5_ns", distribution.p5_ns},
          {"median_ns", distribution.median_ns},
          {"p95_ns", distribution.p95_ns}};
}

ordered_json json_of(const HostOverheads& host) {
  ordered_json json = {{"host", host.host},
                       {"t1", json_of(host.t1)},
                       {"t4", ordered_json::object()},
                       {"operators", ordered_json::object()}};
  for (const auto& [kind, t4] : host.t4) {
    json["t4"][kind] = json_of(t4);
  }
  for (const auto& [name, of_operator] : host.operators) {
    json["operators"][name] = {
        {"launches", of_operator.launches},    {"t2", json_of(of_operator.t2)},
        {"t3", json_of(of_operator.t3)},       {"t5", json_of(of_operator.t5)},
        {"whole", json_of(of_operator.whole)}, {"unlaunched", json_of(of_operator.unlaunched)}};
  }
  return json;
}

double ns_of(const JsonField& field) {
  const double ns = field.as_double();
  if (!(ns >= 0) || !std::isfinite(ns)) {
    field.fail("nanoseconds, 0 or more");
  }
  return ns;
}

Distribution read_distribution(const JsonField& field) {
  Distribution distribution;
  distribution.n = field.at("n").as_uint();
  distribution.mean_ns = ns_of(field.at("mean_ns"));
  distribution.deviation_ns = ns_of(field.at("deviation_ns"));
  distribution.p5_ns = ns_of(field.at("p5_ns"));
  distribution.median_ns = ns_of(field.at("median_ns"));
  distribution.p95_ns = ns_of(field.at("p95_ns"));
  return distribution;
}

HostOverheads read_host(const JsonField& field) {
  HostOverheads host;
  host.host = field.at("host").as_text();
  host.t1 = read_distribution(field.at("t1"));
  for (const auto& [kind, t4] : field.at("t4").members()) {
    host.t4[kind] = read_distribution(t4);
  }
  for (const auto& [name, item] : field.at("operators").members()) {
    const auto unlaunched = item.find("unlaunched");
    host.operators[name] = {item.at("launches").as_texts(),
                            read_distribution(item.at("t2")),
                            read_distribution(item.at("t3")),
                            read_distribution(item.at("t5")),
                            read_distribution(item.at("whole")),
                            unlaunched ? read_distribution(*unlaunched) : Distribution()};
  }
  return host;
}

}  // namespace

std::string to_json(const std::vector<HostOverheads>& hosts) {
  ordered_json json = {{"hosts", ordered_json::array()}};
  for (const HostOverheads& host : hosts) {
    json["hosts"].push_back(json_of(host));
  }
  return json.dump();
}

std::vector<HostOverheads> overheads_from_json(const JsonField& section) {
  std::vector<HostOverheads> hosts;
  for (const JsonField& item : section.at("hosts").items()) {
    hosts.push_back(read_host(item));
  }
  return hosts;
}

}  // namespace understudy::predictor
