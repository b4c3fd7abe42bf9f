#pragma once

#include <string>
#include <vector>

#include "arguments.h"
#include "cli/pages/document/page.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/calibrator/measure/collective_sweep.h"

namespace understudy::cli {

/// Returns the kind of communication for a name of nccl-tests or c10d: "all_reduce", "alltoall",
/// "sendrecv". Throws Error (usage) for unknown names, and for kinds that move no bytes.
[[nodiscard]] et_schema::CommKind swept_kind(const std::string& name);

/// Parses "1K:1G:2" (least size, most, factor) or one size. Throws Error (usage) for anything else.
void read_sweep_sizes(const std::string& text, calibrator::SweepOptions& options);

/// Results and ranks of a sweep, and its time.
struct SweepRun {
  std::vector<calibrator::SweptSize> sizes;
  std::string backend;             ///< backend that moved the bytes
  std::string version;             ///< version of the backend
  bool on_device = false;          ///< between GPUs
  std::vector<std::string> hosts;  ///< by rank
  std::vector<std::string> pids;   ///< by rank
  std::string start_time;
  std::string end_time;
};

/// Returns the time in nccl-tests' format: "2026-11-24 15:30:00".
[[nodiscard]] std::string sweep_time_now();

/// Shows a table for each kind. Its data is a list of documents with nccl-tests' names.
[[nodiscard]] pages::Page sweep_page(const ReplayArguments& arguments, const SweepRun& run);

/// Writes a document in the format of nccl-tests' -J, which `calibrate` reads. Several kinds are
/// written to one file each, named after the kind (out.all_reduce.json).
void write_sweep(const ReplayArguments& arguments, const SweepRun& run);

}  // namespace understudy::cli
