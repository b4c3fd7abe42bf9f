#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/capture/capture.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/formats/pytorch_et/trace_files.h"

namespace understudy::et_schema {

/// The files that scripts/capture wrote for one rank, beside its trace.
struct RankCapture {
  CapturedRank facts;
  std::string alone;       ///< the profile taken without the trace's observer; empty: there is none
  std::string with_trace;  ///< the profile of the traced step; empty: there is none
  std::string faults;  ///< the profile that counted operators' page faults; empty: there is none
};

/// The captures that the traces of a set came from, one per rank: the capture.json beside each
/// trace lists its file. Nothing unless every rank has one with a profile among the files of the
/// input. Throws Error (bad input) if a capture.json cannot be read.
[[nodiscard]] std::optional<std::vector<RankCapture>> find_captures(
    const std::vector<std::string>& paths, const TraceSet& set,
    const ReadLimits& limits = process_limits());

/// Reads one profile of an input: a file that TraceSet::kineto names.
[[nodiscard]] Profile read_profile(const std::vector<std::string>& paths, const std::string& name,
                                   const ReadLimits& limits = process_limits());

/// Reads Kineto profiles from files, archives or folders, one in memory at a time, and passes each
/// to `consume` with its rank: the one in its distributedInfo, else the one in its name, as for
/// traces; 0 if there is one trace. Throws Error: bad input (the errors of parse_kineto, a rank
/// without a profile, two profiles of one rank), usage (more or fewer profiles than `world_size`).
void read_profiles(const std::vector<std::string>& paths, int world_size,
                   const std::function<void(int rank, Profile&& profile)>& consume,
                   const ReadLimits& limits = process_limits());

}  // namespace understudy::et_schema
