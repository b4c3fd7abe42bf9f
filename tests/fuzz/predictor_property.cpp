#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/json_fields.h"
#include "predictor/collectives/models.h"
#include "predictor/collectives/rows.h"
#include "predictor/embedding/fitted.h"
#include "predictor/embedding/rows.h"
#include "predictor/embedding/task.h"
#include "predictor/overheads/overheads.h"
#include "properties.h"

namespace understudy::predictor {
namespace {

void check_estimate(const Estimate& estimate) {
  UNDERSTUDY_ASSERT(std::isfinite(estimate.ns) && estimate.ns >= 0);
  UNDERSTUDY_ASSERT(estimate.low_ns <= estimate.ns && estimate.ns <= estimate.high_ns);
}

void check_answers(const CollectiveModels& models) {
  for (std::size_t kind = 0; kind < et_schema::kCommKinds; ++kind) {
    for (const int nodes : {1, 3}) {
      check_estimate(
          estimate(models, {{static_cast<et_schema::CommKind>(kind), 4096, 6, nodes, false}}));
    }
  }
}

/// Times from a picosecond to 30 years: beyond it sums and products of doubles end.
bool is_sane(const std::vector<CollectiveRow>& rows) {
  constexpr double kLeastNs = 1e-3;
  constexpr double kMostNs = 1e18;
  for (const CollectiveRow& row : rows) {
    if (row.median_ns < kLeastNs || row.median_ns > kMostNs || row.spread_ns > kMostNs) {
      return false;
    }
  }
  return true;
}

void check_collectives(std::string_view text) {
  const ReadCollectives read = parse_collective_rows(text, "rows");
  const std::string written = to_json_lines(read.rows);
  UNDERSTUDY_ASSERT(to_json_lines(parse_collective_rows(written, "rows").rows) == written);
  if (is_sane(read.rows)) {
    const CollectiveModels models = fit_collectives(read.rows);
    check_answers(models);
    const nlohmann::json document = nlohmann::json::parse(to_json(models));
    const et_schema::JsonSource source{"platform", "the platform cannot be read", ""};
    UNDERSTUDY_ASSERT(collectives_from_json(et_schema::JsonField(document, source)) == models);
  }
}

void check_embedding(std::string_view text) {
  const std::vector<EmbeddingRow> rows = parse_embedding_rows(text, "rows");
  for (const EmbeddingRow& row : rows) {
    for (const EmbeddingTable& table : row.call.tables) {
      const EmbeddingTerms terms = terms_of(table, static_cast<double>(row.call.batch), 1 << 20);
      UNDERSTUDY_ASSERT(std::isfinite(terms[5]) && terms[5] >= -1e-6 * terms[3]);
    }
  }
  const std::string written = to_json_lines(rows);
  UNDERSTUDY_ASSERT(parse_embedding_rows(written, "rows").size() == rows.size());
}

void check_tables(std::string_view text) {
  UNDERSTUDY_ASSERT(!parse_tables(text, "tables").tables.empty());
}

void check_sections(std::string_view text) {
  const et_schema::JsonSource source{"platform", "the platform cannot be read", ""};
  const nlohmann::json document = et_schema::parse_json(text, source);
  const et_schema::JsonField root(document, source);
  if (const auto section = root.find("collectives")) {
    const std::string written = to_json(collectives_from_json(*section));
    const nlohmann::json again = nlohmann::json::parse(written);
    UNDERSTUDY_ASSERT(to_json(collectives_from_json(et_schema::JsonField(again, source))) ==
                      written);
  }
  if (const auto section = root.find("embeddings")) {
    (void)to_json(embedding_from_json(*section));
  }
  if (const auto section = root.find("overheads")) {
    const HostOverheads host = overheads_from_json(*section);
    check_estimate(gap_of(host));
    check_estimate(host_time_of(host, "aten::none", true));
    for (const auto& [name, overheads] : host.operators) {
      check_estimate(host_time_of(host, name, false));
    }
    (void)to_json(host);
  }
}

/// Kernels alone, beside another stream's and beside all-reduces.
std::string profile_seed() {
  std::string events;
  int correlation = 0;
  const auto add = [&](const char* name, int size, int ts, int dur, int stream, const char* more) {
    ++correlation;
    events += fmt::format(
        R"({}{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{},"dur":1,)"
        R"("args":{{"Input Dims":[[{}]]}}}},{{"ph":"X","cat":"cuda_runtime","name":"l","pid":1,)"
        R"("tid":1,"ts":{},"dur":1,"args":{{"correlation":{}}}}},{{"ph":"X","cat":"kernel",)"
        R"("name":"{}","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"correlation":{},)"
        R"("grid":[{},1,1]{}}}}})",
        events.empty() ? "" : ",", ts - 1, size, ts - 1, correlation, name, stream, ts, dur,
        correlation, size, more);
  };
  constexpr const char* kAllReduce =
      R"(,"Collective name":"allreduce","In msg nelems":8,"Out msg nelems":8,"Group size":1,)"
      R"("dtype":"Float","Process Group Name":"0")";
  for (int size = 1; size <= 6; ++size) {
    const int start = 1000 * size;
    add("gemm", size, start, 20, 7, "");
    add("nccl", 8, start + 100, 200, 9, size % 2 == 0 ? kAllReduce : "");
    add("gemm", size, start + 150, 30, 7, "");
    add("copy", 20, start + 500, 200, 8, "");
    add("gemm", size, start + 550, 25, 7, "");
  }
  return R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"A"}],"distributedInfo":)"
         R"({"backend":"nccl","rank":0,"world_size":1},"traceEvents":[)" +
         events + "]}";
}

void check_profile(std::string_view text) {
  (void)summarize(
      observe(et_schema::parse_kineto(text, "k.json", et_schema::KinetoDetail::kShapes)));
}

}  // namespace

void check_predictor_property(std::string_view input) {
  if (input.empty()) {
    return;
  }
  constexpr unsigned kReaders = 5;
  const unsigned reader = static_cast<unsigned char>(input.front()) % kReaders;
  const std::string_view text = input.substr(1);
  void (*const kChecks[kReaders])(std::string_view) = {check_collectives, check_embedding,
                                                       check_tables, check_sections, check_profile};
  try {
    kChecks[reader](text);
  } catch (const et_schema::Error& error) {
    UNDERSTUDY_ASSERT(!error.summary().empty());
  }
}

std::vector<std::string> predictor_seeds() {
  std::vector<CollectiveRow> rows;
  for (const int ranks : {2, 4, 8}) {
    for (std::int64_t bytes = 8; bytes < 1 << 24; bytes *= 8) {
      rows.push_back({et_schema::CommKind::kAllReduce, bytes, ranks, ranks > 4 ? 2 : 1, true,
                      et_schema::DType::kFloat32, 1e4 + static_cast<double>(bytes), 10, 5, "a"});
    }
  }
  std::vector<EmbeddingRow> embedding;
  for (int i = 0; i < 24; ++i) {
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      embedding.push_back({{{{.rows = 100 << i % 9, .dim = 8, .pooling = 1.5}}, 64, direction},
                           1000.0 + 13 * i,
                           2,
                           3,
                           "b"});
    }
  }
  const HostOverheads host{distribution_of({1}),
                           {{"a", {distribution_of({4}), {}}}, {"b", {{}, distribution_of({5})}}}};
  const std::string sections = "{\"collectives\":" + to_json(fit_collectives(rows)) +
                               ",\"embeddings\":" + to_json(fit_embedding(embedding)) +
                               ",\"overheads\":" + to_json(host) + "}";
  const std::string text =
      "# Collective test starting: all_reduce_perf\n#  Rank 0 Group 0 Pid 1 on a device 0\n#  Rank "
      "1 "
      "Group 0 Pid 2 on b device 0\n#  size count type redop root time algbw busbw #wrong time "
      "algbw "
      "busbw #wrong\n  8 2 float sum -1 9.5 0.00 0.00 0 9.4 0.00 0.00 0\n";
  const std::string tables =
      R"({"format":"understudy-tables","version":1,"batch":8,"tables":[{"name":"a","rows":9,"dim":4,"pooling":2,
"dtype":"float16","reuse":[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}]})";
  const std::string first(1, '\0');
  return {first + to_json_lines(rows),
          first + text,
          '\1' + to_json_lines(embedding),
          '\2' + tables,
          '\3' + sections,
          '\4' + profile_seed()};
}

}  // namespace understudy::predictor
