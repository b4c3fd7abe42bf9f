#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/capture/capture.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/formats/pytorch_et/trace_files.h"

namespace understudy::et_schema {

/// Files of scripts/capture for one rank, beside its trace.
struct RankCapture {
  CapturedRank facts;
  std::string alone;       ///< profile recorded without the trace's observer; empty: none
  std::string with_trace;  ///< profile of the traced step; empty: none
  std::string counters;    ///< profile with hardware counters of its kernels; empty: none
  std::string faults;      ///< profile that counted operators' page faults; empty: none
};

/// Returns the captures of a set's traces, one per rank, from the capture.json beside each trace
/// that lists the trace's file. Returns nothing unless every rank has a capture that did not run,
/// or one with a profile among the input's files. Throws Error (bad input) if a capture.json cannot
/// be read.
[[nodiscard]] std::optional<std::vector<RankCapture>> find_captures(
    const std::vector<std::string>& paths, const TraceSet& set,
    const ReadLimits& limits = process_limits());

/// Reads one profile of an input, a file named by TraceSet::kineto.
[[nodiscard]] Profile read_profile(const std::vector<std::string>& paths, const std::string& name,
                                   const ReadLimits& limits = process_limits());

/// Reads Kineto profiles from files, archives or folders, one in memory at a time, and passes each
/// to `consume` with its rank. The rank is read from distributedInfo, or else from the file's name
/// as for traces; it is 0 if `world_size` is 1. Throws Error: bad input as parse_kineto() does, or
/// if a rank has no or two profiles; usage if the number of profiles is not `world_size`.
void read_profiles(const std::vector<std::string>& paths, int world_size,
                   const std::function<void(int rank, Profile&& profile)>& consume,
                   const ReadLimits& limits = process_limits());

}  // namespace understudy::et_schema
