#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/pytorch_et/trace_files.h"
#include "et_schema/model/program.h"
#include "et_schema/model/programs.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Version of the file format. Readers refuse any other.
inline constexpr int kBenchVersion = 1;

/// Source of a rank's program.
struct Source {
  std::string file;                ///< base name, without the folders of the machine that made it
  std::uint64_t bytes = 0;         ///< uncompressed
  std::uint64_t content_hash = 0;  ///< XXH3 of the uncompressed bytes
  std::string schema;
  bool operator==(const Source&) const = default;
};

/// The job and the ranks of a benchmark that holds only some of a job's ranks. These ranks cannot
/// communicate: each is replayed alone, and its communication stays within its process.
struct PartialJob {
  std::int64_t world_size = 1;      ///< of the traced job
  std::vector<std::int64_t> ranks;  ///< rank of each program in that job, ascending
  bool operator==(const PartialJob&) const = default;
};

/// Changes of a process group in a job of another size (generate --world-size).
struct ScaledGroup {
  std::string name;
  std::string description;
  std::string kind;  ///< the parallelism: "data", "sharded", "expert", "tensor", "pipeline"
  std::string why;   ///< how the kind was inferred
  std::string rule;  ///< how the group's calls change in the scaled job
  std::int64_t ranks_before = 1;
  std::int64_t ranks_after = 1;
  std::uint64_t calls = 0;             ///< calls of the group's first rank in the benchmark
  std::int64_t sent_bytes_before = 0;  ///< Σ bytes of the calls' inputs
  std::int64_t sent_bytes_after = 0;
  std::int64_t received_bytes_before = 0;  ///< Σ bytes of the calls' outputs
  std::int64_t received_bytes_after = 0;
  bool operator==(const ScaledGroup&) const = default;
};

/// The traced job of a benchmark with another number of ranks.
struct ScaledJob {
  std::int64_t world_size = 1;      ///< of the traced job
  std::vector<std::int64_t> ranks;  ///< rank in that job that each program copies
  std::vector<ScaledGroup> groups;  ///< the groups that communicate
  bool operator==(const ScaledJob&) const = default;
};

/// Origin of a run of instructions of a composed program.
struct Origin {
  std::uint64_t first = 0;  ///< number of the first instruction
  std::uint64_t count = 0;
  std::string piece;             ///< "layer of gpt"
  std::string occurrence;        ///< name of the piece's occurrence in the plan
  std::uint64_t repetition = 0;  ///< from 0
  std::string file;              ///< trace file of the source
  std::uint64_t content_hash = 0;
  int rank = 0;  ///< rank in the source's job
  bool operator==(const Origin&) const = default;
};

/// A benchmark: the content of bench.et. `programs[r]` is the program of rank r.
struct Bench {
  std::string tool_version;
  std::vector<Source> sources;       ///< one per rank
  std::vector<ProcessGroup> groups;  ///< GroupId → group; group 0 is the world, named "world"
  Programs programs;                 ///< one per rank
  std::optional<PartialJob> partial = {};         ///< unset: the benchmark has all ranks of the job
  std::optional<ScaledJob> scaled = {};           ///< set if the number of ranks was changed
  std::vector<std::vector<Origin>> origins = {};  ///< by program; empty unless composed
  /// Texts of the users' operator maps, which define custom operators (operator_map.h). Earlier
  /// texts have precedence.
  std::vector<std::string> op_maps = {};
  bool operator==(const Bench&) const = default;
  [[nodiscard]] int world_size() const { return static_cast<int>(programs.size()); }
  /// Returns the rank of a program in the traced job.
  [[nodiscard]] int recorded_rank(std::size_t program) const;
  [[nodiscard]] int recorded_world_size() const;
};

/// Returns the users' operator maps that name an operator of these programs, for Bench::op_maps.
[[nodiscard]] std::vector<std::string> named_op_maps(const Programs& programs);

/// Adds the benchmark's operator maps to operator_map(); `file` names the benchmark in errors.
/// Throws Error (bad input) as OperatorMap::add_rows() does.
void use_operator_maps(const Bench& bench, const std::string& file);

/// How a manifest names filters and opened operators.
enum class ManifestNames : std::uint8_t {
  kClear,
  kHashed  ///< by hashed_names()
};

/// Hides names of the traced program in a selection: replaces filters' texts, and the names of
/// opened operators that are not public (public_operators.h), by "#" and a hash (16 digits of
/// SHA-256). Equal texts have equal hashes, so that the owner of a filter can verify it.
[[nodiscard]] Selection hashed_names(Selection selection);

/// Writes bench.et, a zip with manifest.json and programs/K.jsonl, atomically. Deterministic. Ranks
/// whose programs differ only in node ids, peers, roots and splits share a file, with a table of
/// differences in the manifest. Throws Error (failed) if the file cannot be written.
void write_bench(const Bench& bench, const std::string& path,
                 ManifestNames names = ManifestNames::kClear);

/// Returns the bytes of bench.et; `file` names it in errors.
[[nodiscard]] std::string bench_bytes(const Bench& bench, const std::string& file = "bench.et",
                                      ManifestNames names = ManifestNames::kClear);

/// Returns the identity of a benchmark: the first 32 digits of SHA-256 over the process groups, all
/// ranks' programs and the operator maps. File names, recorded times and the tool's version are
/// excluded, so that a trace and its benchmark have the same hash. Linear in the programs' size.
[[nodiscard]] std::string benchmark_hash(const Bench& bench);

/// Returns true if a file starts as a bench.et (a zip whose first member is manifest.json).
[[nodiscard]] bool is_bench_file(const std::string& path);

/// Reads and validates a benchmark: all references must be in range and all lists as long as
/// declared. Throws Error (bad input) if the file is not a zip or has another version, a member is
/// missing, damaged or named with "..", or the unpacked size exceeds `limits`.
[[nodiscard]] Bench read_bench(const std::string& path,
                               const ReadLimits& limits = process_limits());
/// Like read_bench() from memory; `file` names the benchmark in errors.
[[nodiscard]] Bench read_bench_bytes(std::string_view bytes, const std::string& file,
                                     const ReadLimits& limits = process_limits());

}  // namespace understudy::et_schema
