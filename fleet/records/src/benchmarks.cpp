#include "fleet/records/benchmarks.h"

#include <fmt/format.h>

#include "fleet/objects/object_store.h"
#include "json_columns.h"

namespace understudy::fleet {
namespace {

constexpr const char* kBenchmarkColumns =
    "id, key, object, bytes, benchmark_hash, world_size, generator, flags, input_hash, made_utc";

Benchmark benchmark_of(const Row& row) {
  Benchmark benchmark;
  benchmark.id = row.integer(0);
  benchmark.key = row.text(1);
  benchmark.object = row.text(2);
  benchmark.bytes = row.integer(3);
  benchmark.benchmark_hash = row.text(4);
  benchmark.world_size = static_cast<int>(row.integer(5));
  benchmark.generator = row.text(6);
  benchmark.flags = texts_of(row, 7, {"benchmark", std::to_string(benchmark.id), "flags"});
  benchmark.input_hash = row.text(8);
  benchmark.made_utc = row.text(9);
  return benchmark;
}

std::vector<Benchmark> with_fingerprints(Connection& connection, const std::string& where,
                                         const Values& parameters) {
  constexpr std::size_t kFingerprint = 10;
  std::vector<Benchmark> benchmarks;
  const std::string sql =
      fmt::format("SELECT {}, fingerprint FROM benchmark {} ORDER BY id", kBenchmarkColumns, where);
  for (const Row& row : connection.query(sql, parameters)) {
    benchmarks.push_back(benchmark_of(row));
    benchmarks.back().fingerprint = row.text(kFingerprint);
  }
  return benchmarks;
}

std::optional<Benchmark> first_of(std::vector<Benchmark> benchmarks) {
  return benchmarks.empty() ? std::nullopt : std::optional(std::move(benchmarks.front()));
}

}  // namespace

std::string benchmark_key(const std::string& input_hash, const std::string& generator,
                          const std::vector<std::string>& flags) {
  return digest_of(fmt::format("{}\n{}\n{}", input_hash, generator, column_of(flags)));
}

std::int64_t put_benchmark(Connection& connection, const Benchmark& made) {
  const Rows rows = connection.query(
      "INSERT INTO benchmark (key, object, bytes, benchmark_hash, world_size, generator, flags, "
      "input_hash, fingerprint, made_utc) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
      "ON CONFLICT (key) DO UPDATE SET object = excluded.object, bytes = excluded.bytes, "
      "benchmark_hash = excluded.benchmark_hash, fingerprint = excluded.fingerprint RETURNING id",
      {made.key, made.object, made.bytes, made.benchmark_hash, std::int64_t{made.world_size},
       made.generator, column_of(made.flags), made.input_hash, made.fingerprint, made.made_utc});
  return rows.front().integer(0);
}

std::optional<Benchmark> find_benchmark(Connection& connection, std::int64_t id) {
  return first_of(with_fingerprints(connection, "WHERE id = $1", {id}));
}

std::optional<Benchmark> find_benchmark_by_key(Connection& connection, const std::string& key) {
  return first_of(with_fingerprints(connection, "WHERE key = $1", {key}));
}

std::optional<Benchmark> find_benchmark_by_hash(Connection& connection, const std::string& hash) {
  std::vector<Benchmark> all = with_fingerprints(connection, "WHERE benchmark_hash = $1", {hash});
  return all.empty() ? std::nullopt : std::optional(std::move(all.back()));
}

std::vector<Benchmark> current_benchmarks(Connection& connection) {
  return with_fingerprints(connection, "WHERE id IN (SELECT benchmark FROM job)", {});
}

std::vector<Benchmark> all_benchmarks(Connection& connection) {
  std::vector<Benchmark> benchmarks;
  for (const Row& row :
       connection.query(fmt::format("SELECT {} FROM benchmark ORDER BY id", kBenchmarkColumns))) {
    benchmarks.push_back(benchmark_of(row));
  }
  return benchmarks;
}

void remove_benchmark(Connection& connection, std::int64_t id) {
  connection.execute("DELETE FROM benchmark WHERE id = $1", {id});
}

}  // namespace understudy::fleet
