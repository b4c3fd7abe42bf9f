#include <optional>
#include <utility>
#include <vector>

#include "et_schema/base/input_files.h"
#include "et_schema/base/read_file.h"
#include "et_schema/formats/bench/bench.h"
#include "fleet/fingerprint/fingerprint.h"
#include "tasks.h"

namespace understudy::cli {
namespace {

using et_schema::SameAs;
using Json = nlohmann::ordered_json;

/// A benchmark's file, and the fingerprint of the one before it.
struct BenchmarkFile {
  std::string path;
  std::optional<fleet::Fingerprint> before;
};

void members(auto& json, SameAs<BenchmarkFile> auto& file) {
  json("path", file.path, et_schema::kFreeText);
  json("before", file.before);
}

Json drift_json(const fleet::Drift& drift) {
  return {{"distance", drift.distance}, {"text", fleet::sentence_of(drift)}};
}

Json facts_of(const BenchmarkFile& file) {
  try {
    const std::string bytes = et_schema::read_file(file.path, et_schema::process_limits());
    const et_schema::Bench bench = et_schema::read_bench_bytes(bytes, file.path);
    const fleet::Fingerprint print = fleet::fingerprint_of(bench);
    return {
        {"benchmark_hash", et_schema::benchmark_hash(bench)},
        {"world_size", bench.world_size()},
        {"fingerprint", et_schema::json_of(print)},
        {"drift", file.before ? drift_json(fleet::drift_between(*file.before, print)) : Json()}};
  } catch (const et_schema::Error& error) {
    return {{"error", error.summary()}};
  }
}

}  // namespace

/// Returns what benchmarks stand for.
Answer benchmarks_task(std::istream& request, const TaskOptions& /*options*/) {
  Json list = Json::array();
  for (const BenchmarkFile& file : list_in<BenchmarkFile>(all_of(request), "benchmarks")) {
    list.push_back(facts_of(file));
  }
  return json_answer({{"benchmarks", std::move(list)}});
}

}  // namespace understudy::cli
