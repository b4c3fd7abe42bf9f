#pragma once

#include <string>
#include <vector>

#include "arguments.h"
#include "cli/pages/document/page.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/calibrator/measure/collective_sweep.h"

namespace understudy::cli {

/// The kind of communication that nccl-tests or c10d call so: "all_reduce", "alltoall", "sendrecv".
/// Throws Error (usage) for others, and for those that move no bytes.
[[nodiscard]] et_schema::CommKind swept_kind(const std::string& name);

/// Reads "1K:1G:2", least, most and factor, or one size. Throws Error (usage) for anything else.
void read_sweep_sizes(const std::string& text, calibrator::SweepOptions& options);

/// A swept job's ranks, and when it was swept.
struct SweepRun {
  std::vector<calibrator::SweptSize> sizes;
  std::string backend;             ///< what moved the bytes
  std::string version;             ///< its own
  bool on_device = false;          ///< between GPUs
  std::vector<std::string> hosts;  ///< by rank
  std::vector<std::string> pids;   ///< by rank
  std::string start_time;
  std::string end_time;
};

/// "2026-11-24 15:30:00": nccl-tests' form.
[[nodiscard]] std::string sweep_time_now();

/// Its tables, one for each kind; the data: a list of documents with nccl-tests' names.
[[nodiscard]] pages::Page sweep_page(const ReplayArguments& arguments, const SweepRun& run);

/// Writes a document as nccl-tests' -J does, which `calibrate` reads: of several kinds one each,
/// with its name in that of the file (out.all_reduce.json).
void write_sweep(const ReplayArguments& arguments, const SweepRun& run);

}  // namespace understudy::cli
