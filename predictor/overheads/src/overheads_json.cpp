#include "et_schema/support/json_record.h"
#include "predictor/overheads/overheads.h"

namespace understudy::predictor {

using et_schema::kNotNegative;
using et_schema::SameAs;

void members(auto& json, SameAs<Distribution> auto& distribution) {
  json("n", distribution.n);
  json("mean_ns", distribution.mean_ns, kNotNegative);
  json("deviation_ns", distribution.deviation_ns, kNotNegative);
  json("p5_ns", distribution.p5_ns, kNotNegative);
  json("median_ns", distribution.median_ns, kNotNegative);
  json("p95_ns", distribution.p95_ns, kNotNegative);
}

void members(auto& json, SameAs<OperatorOverheads> auto& overheads) {
  json("launches", overheads.launches);
  json("t2", overheads.t2);
  json("t3", overheads.t3);
  json("t5", overheads.t5);
  json("whole", overheads.whole);
  json("unlaunched", overheads.unlaunched);
}

void members(auto& json, SameAs<HostOverheads> auto& host) {
  json("host", host.host);
  json("t1", host.t1);
  json("t4", host.t4);
  json("operators", host.operators);
}

std::string to_json(const std::vector<HostOverheads>& hosts) {
  return nlohmann::ordered_json{{"hosts", et_schema::json_of(hosts)}}.dump();
}

std::vector<HostOverheads> overheads_from_json(const et_schema::JsonField& section) {
  return et_schema::read_json<std::vector<HostOverheads>>(section.at("hosts"));
}

}  // namespace understudy::predictor
