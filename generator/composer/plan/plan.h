#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace understudy::composer {

/// Origin of pieces: a benchmark, or traces that are compiled first.
struct PlanSource {
  std::string name;
  std::string path;         ///< relative to the plan's folder, or absolute
  std::optional<int> rank;  ///< use this rank of the source on each rank of the new job
  std::string step;         ///< for traces: K of ProfilerStep#K
  int line = 0;
};

/// A part of a source: the instructions that satisfy all conditions that are set.
struct PlanPiece {
  std::string name;
  std::string source;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> nodes;  ///< first and last node id
  std::string operators;            ///< regular expression, searched in the full name
  std::string op_class;             ///< docs/metrics.md, "Operators"
  std::vector<std::int64_t> shape;  ///< a tensor of the instruction has this shape
  std::string annotation;           ///< for traces: the name of a label above contains this text
  int line = 0;
};

/// One element of the new step: a piece, or parts.
struct PlanItem {
  std::string piece;
  std::string as;  ///< name of this occurrence
  int repeat = 1;
  bool own_tensors = false;     ///< each repetition has its own weights
  std::vector<int> ranks;       ///< of the new job; empty: all
  std::vector<PlanItem> parts;  ///< run on their own threads, all starting together
  int line = 0;
};

struct Plan {
  std::string file;
  std::string name = "mix";
  int ranks = 1;
  std::vector<PlanSource> sources;
  std::vector<PlanPiece> pieces;
  std::vector<PlanItem> run;
};

/// Parses a plan. Throws Error (bad input) that names the plan's line: text that is not YAML, an
/// unknown key, a name that is unknown or used twice, ranks outside the job.
[[nodiscard]] Plan parse_plan(std::string_view text, const std::string& file);

/// Checks a plan without reading its sources. Throws Error (bad input).
void check_plan(const Plan& plan);

/// Throws Error (bad input) about a line of a plan.
[[noreturn]] void refuse_plan(const std::string& file, int line, const std::string& summary,
                              const std::string& expected, const std::string& got,
                              const std::string& hint = "");

}  // namespace understudy::composer
