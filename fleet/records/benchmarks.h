#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/database/connection.h"

namespace understudy::fleet {

/// A benchmark, whose file is an object of the store.
struct Benchmark {
  std::int64_t id = 0;
  std::string key;     ///< benchmark_key()
  std::string object;  ///< hash of the file
  std::int64_t bytes = 0;
  std::string benchmark_hash;  ///< et_schema::benchmark_hash(): the key of reports and platforms
  int world_size = 1;
  std::string generator;
  std::vector<std::string> flags;
  std::string input_hash;
  std::string fingerprint;  ///< JSON
  std::string made_utc;
};

/// Digest of all that decides a benchmark: content of the inputs, version of the generator, flags.
[[nodiscard]] std::string benchmark_key(const std::string& input_hash, const std::string& generator,
                                        const std::vector<std::string>& flags);

/// Adds the benchmark, or finds the one with its key and updates its object. Returns the id.
std::int64_t put_benchmark(Connection& connection, const Benchmark& benchmark);
[[nodiscard]] std::optional<Benchmark> find_benchmark(Connection& connection, std::int64_t id);
[[nodiscard]] std::optional<Benchmark> find_benchmark_by_key(Connection& connection,
                                                             const std::string& key);
/// Returns the newest benchmark with this benchmark_hash.
[[nodiscard]] std::optional<Benchmark> find_benchmark_by_hash(Connection& connection,
                                                              const std::string& hash);
/// Returns the benchmarks that jobs have now, ordered by id.
[[nodiscard]] std::vector<Benchmark> current_benchmarks(Connection& connection);
/// Returns all benchmarks, without fingerprints.
[[nodiscard]] std::vector<Benchmark> all_benchmarks(Connection& connection);
void remove_benchmark(Connection& connection, std::int64_t id);

}  // namespace understudy::fleet
