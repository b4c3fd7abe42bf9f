// Reads the files of owensgroup/ml_perf_model's notebooks, which hold microseconds in lists without
// names.

#include <cmath>
#include <nlohmann/json.hpp>

#include "et_schema/support/json_fields.h"
#include "predictor/overheads/overheads_json.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;

constexpr double kNsPerUs = 1e3;

double ns_of_us(const JsonField& field) {
  const double us = field.as_double();
  if (!(us >= 0) || !std::isfinite(us)) {
    field.fail("microseconds, 0 or more");
  }
  return us * kNsPerUs;
}

/// Reads [mean, deviation], or [mean, deviation, n].
Distribution read_published_distribution(const JsonField& field) {
  constexpr std::size_t kWithCount = 3;
  const std::vector<JsonField> items = field.items();
  if (items.size() != kWithCount - 1 && items.size() != kWithCount) {
    field.fail("[mean, deviation] or [mean, deviation, n]");
  }
  const std::size_t n =
      items.size() == kWithCount ? static_cast<std::size_t>(items[2].as_uint()) : 1;
  return distribution_of(ns_of_us(items[0]), ns_of_us(items[1]), n);
}

/// Pools the samples of all workloads as if they were one list.
Distribution read_pooled(const JsonField& by_workload) {
  double n = 0;
  double sum = 0;
  double squares = 0;
  for (const auto& [workload, field] : by_workload.members()) {
    const Distribution part = read_published_distribution(field);
    const auto count = static_cast<double>(part.n);
    n += count;
    sum += count * part.mean_ns;
    squares += count * (part.deviation_ns * part.deviation_ns + part.mean_ns * part.mean_ns);
  }
  if (!(n > 0)) {
    by_workload.fail("a workload or more with samples");
  }
  const double mean = sum / n;
  return distribution_of(mean, std::sqrt(std::max(0.0, squares / n - mean * mean)),
                         static_cast<std::size_t>(n));
}

HostOverheads read_extraction(const JsonField& root) {
  HostOverheads host;
  host.t1 = read_published_distribution(root.at("t1"));
  for (const auto& [kind, field] : root.at("t4").members()) {
    host.t4[kind] = read_published_distribution(field);
  }
  for (const auto& [name, field] : root.at("launches").members()) {
    host.operators[name].launches = field.as_texts();
  }
  for (const auto& [key, place] :
       {std::pair("t2", &OperatorOverheads::t2), std::pair("t3", &OperatorOverheads::t3),
        std::pair("t5", &OperatorOverheads::t5)}) {
    for (const auto& [name, field] : root.at(key).members()) {
      host.operators[name].*place = read_published_distribution(field);
    }
  }
  return host;
}

}  // namespace

HostOverheads parse_published_overheads(std::string_view text, const std::string& file) {
  const et_schema::JsonSource source{file, "the overheads cannot be read",
                                     "docs/formats.md lists what is read"};
  const nlohmann::json document = et_schema::parse_json(text, source);
  const JsonField root(document, source);
  HostOverheads host;
  if (root.find("launches")) {
    host = read_extraction(root);
  } else if (const auto members = root.members(); members.empty()) {
    root.fail("overheads", "an empty object");
  } else if (document.begin()->is_array()) {
    host.t1 = read_pooled(root);
  } else {
    for (const auto& [name, field] : members) {
      OperatorOverheads& of_operator = host.operators[name];
      of_operator.t2 = read_pooled(field);
    }
  }
  host.host = "python";
  return host;
}

}  // namespace understudy::predictor
