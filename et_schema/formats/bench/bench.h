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

/// Version of the file format. A reader refuses another one.
inline constexpr int kBenchVersion = 1;

/// Where a rank's program came from.
struct Source {
  std::string file;                ///< base name, not the path of the machine that made it
  std::uint64_t bytes = 0;         ///< uncompressed
  std::uint64_t content_hash = 0;  ///< XXH3 of the uncompressed bytes
  std::string schema;
  bool operator==(const Source&) const = default;
};

/// Which ranks of which job a benchmark of some of its ranks holds. They cannot communicate: each
/// is replayed alone, its communication within itself.
struct PartialJob {
  std::int64_t world_size = 1;      ///< of the job that was traced
  std::vector<std::int64_t> ranks;  ///< by program: its rank in that job, ascending
  bool operator==(const PartialJob&) const = default;
};

/// What became of a process group in a job of another size (generate --world-size).
struct ScaledGroup {
  std::string name;
  std::string description;
  std::string kind;  ///< what its ranks divide: "data", "sharded", "expert", "tensor", "pipeline"
  std::string why;   ///< how that is known
  std::string rule;  ///< what that means for its calls
  std::int64_t ranks_before = 1;
  std::int64_t ranks_after = 1;
  std::uint64_t calls = 0;             ///< of one rank, the first of the group that is there
  std::int64_t sent_bytes_before = 0;  ///< Σ bytes of these calls' inputs
  std::int64_t sent_bytes_after = 0;
  std::int64_t received_bytes_before = 0;  ///< Σ bytes of their outputs
  std::int64_t received_bytes_after = 0;
  bool operator==(const ScaledGroup&) const = default;
};

/// The job that a benchmark of another number of ranks was made of.
struct ScaledJob {
  std::int64_t world_size = 1;      ///< of the job that was traced
  std::vector<std::int64_t> ranks;  ///< by program: the rank of that job which it does as
  std::vector<ScaledGroup> groups;  ///< those that communicate
  bool operator==(const ScaledJob&) const = default;
};

/// Where instructions of a composed program are from.
struct Origin {
  std::uint64_t first = 0;  ///< the first of them
  std::uint64_t count = 0;
  std::string piece;             ///< "layer of gpt"
  std::string occurrence;        ///< its name in the plan
  std::uint64_t repetition = 0;  ///< from 0
  std::string file;              ///< the source's trace
  std::uint64_t content_hash = 0;
  int rank = 0;  ///< of the source's job
  bool operator==(const Origin&) const = default;
};

/// A benchmark: what bench.et holds. `programs[r]` is rank r's.
struct Bench {
  std::string tool_version;
  std::vector<Source> sources;       ///< one a rank
  std::vector<ProcessGroup> groups;  ///< GroupId → group; group 0 is the world, named "world"
  Programs programs;                 ///< one a rank
  std::optional<PartialJob> partial = {};         ///< absent: all ranks of the job are there
  std::optional<ScaledJob> scaled = {};           ///< present: of another number of ranks
  std::vector<std::vector<Origin>> origins = {};  ///< by program, of composed ones; else none
  /// Files of rows that say what its custom operators mean (operator_map.h), which users gave: the
  /// texts, those that count first in front.
  std::vector<std::string> op_maps = {};
  bool operator==(const Bench&) const = default;
  [[nodiscard]] int world_size() const { return static_cast<int>(programs.size()); }
  /// The rank that a program had in the job that was traced, and the size of that job.
  [[nodiscard]] int recorded_rank(std::size_t program) const;
  [[nodiscard]] int recorded_world_size() const;
};

/// The files of rows among those that users gave which name an operator of these programs, as
/// Bench::op_maps has them.
[[nodiscard]] std::vector<std::string> named_op_maps(const Programs& programs);

/// Lets operator_map() have the rows that the benchmark holds; `file` is its name in errors. Throws
/// Error (bad input) as OperatorMap::add_rows() does.
void use_operator_maps(const Bench& bench, const std::string& file);

/// Whether a manifest names filters and opened operators.
enum class ManifestNames : std::uint8_t {
  kClear,
  kHashed  ///< by hashed_names()
};

/// The selection without what tells of the program that was traced: the text of a filter becomes
/// "#" and its hash (16 digits of SHA-256), and so does the name of an opened operator that is not
/// public (public_operators.h). Equal texts keep equal hashes: whoever has the filter can check it.
[[nodiscard]] Selection hashed_names(Selection selection);

/// Writes bench.et: a zip with manifest.json and programs/K.jsonl, beside the target and renamed
/// when whole. The same bench gives the same bytes. Ranks whose programs differ only in node ids,
/// peers, roots and splits share a file, with a table of differences in the manifest. Throws Error
/// (failed) if the file cannot be written.
void write_bench(const Bench& bench, const std::string& path,
                 ManifestNames names = ManifestNames::kClear);

/// The bytes of that file; `file` names it in errors.
[[nodiscard]] std::string bench_bytes(const Bench& bench, const std::string& file = "bench.et",
                                      ManifestNames names = ManifestNames::kClear);

/// What tells benchmarks apart: the first 32 digits of SHA-256 over the process groups and all
/// ranks' programs. Names of files, recorded times and the tool's version do not enter, so that a
/// trace and the benchmark that was made of it have the same. Linear in the programs' size.
[[nodiscard]] std::string benchmark_hash(const Bench& bench);

/// True if the file starts as a bench.et does (a zip whose first member is manifest.json).
[[nodiscard]] bool is_bench_file(const std::string& path);

/// Reads and validates: every reference is in range, every list as long as it says. Throws Error
/// (bad input): not a zip, another version, a member missing or damaged, unpacked sizes above
/// `limits`, member names with "..".
[[nodiscard]] Bench read_bench(const std::string& path,
                               const ReadLimits& limits = process_limits());
/// The same from memory; `file` names it in errors.
[[nodiscard]] Bench read_bench_bytes(std::string_view bytes, const std::string& file,
                                     const ReadLimits& limits = process_limits());

}  // namespace understudy::et_schema
