#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/output.h"
#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "op_times.h"

namespace understudy::cli {

// Documents that `inspect` shows. Their JSON: docs/formats.md, "inspect --format json".

/// Optional parts of the documents.
struct InspectOptions {
  bool collectives = false;
  bool tree = false;
  bool certificate = false;
  std::optional<GroupBy> by = {};  ///< adds operators, a row for each of these
};

/// Shows the contents of traces by rank. `ops`: by rank, if requested. Throws et_schema::Error as
/// communication_calls() does.
[[nodiscard]] pages::Page traces_page(const et_schema::TraceSet& set,
                                      const std::vector<RankOps>& ops,
                                      const InspectOptions& options);

/// Shows the contents of a benchmark: instructions by kind, slots, memory, decomposed operators,
/// losses. If a profile was linked, the page also has the recorded step's timeline and where its
/// time went. `options` adds operators in groups, each communication, and a certificate. `path` is
/// the benchmark's file. Throws Error (usage) for groups that a benchmark lacks: modules and
/// phases.
[[nodiscard]] pages::Page bench_page(const et_schema::Bench& bench, const std::string& path,
                                     const InspectOptions& options);

/// Adds what a recipient should know before trusting a benchmark, hashes of its file and of its
/// sources, and returns the section that shows it.
[[nodiscard]] pages::Section add_certificate(const et_schema::Bench& bench, const std::string& path,
                                             nlohmann::ordered_json& document);

/// Shows the memory of a benchmark's tensors over the step: a curve, its peak, and the largest
/// tensors at the peak. In csv the curve has the instructions' names.
[[nodiscard]] pages::Page memory_page(const et_schema::Bench& bench, Format format);

/// Shows the communication of all ranks, matched without a run: groups, mismatches, and the waits
/// that follow. The tone is bad if ranks do not match. `file` is the job's name. Throws Error
/// (usage) if ranks of the job are missing, Error (bad input) as matching::JobComms::add() does.
[[nodiscard]] pages::Page matching_page(const et_schema::Bench& bench, const std::string& file);

/// Shows which ranks are slow, why, and the step without them. Throws Error (usage) if the
/// benchmark has no recorded times or not all of several ranks.
[[nodiscard]] pages::Page stragglers_page(const et_schema::Bench& bench, const std::string& file);

/// Shows a benchmark's machine code: registers, shared memory, bytes, launches and share of the
/// recorded device time for each kernel and architecture, and the kernels without machine code.
[[nodiscard]] pages::Page kernels_page(const et_schema::Bench& bench);

/// Shows the device time of each Kineto profile: kernels, copies and fills, by class, by launching
/// operator, and by name; of a step that did not run what it launched, and no time. Accepts files,
/// archives and folders, and skips other files in them. Throws Error (usage) if there is no
/// profile, Error (bad input).
[[nodiscard]] pages::Page device_time_page(const std::vector<std::string>& paths);

}  // namespace understudy::cli
