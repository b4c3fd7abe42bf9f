#include "job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "generator/flow/fake_group.h"
#include "generator/job/generate.h"

namespace understudy::generator {
namespace {

using et_schema::CaptureOrigin;
using et_schema::Trace;

constexpr const char* kAllowMissing =
    "give the traces of all ranks of one job, or --allow-missing: each rank then replays alone";

/// Returns the world size that a trace's process groups record: the size of the group of all ranks,
/// or one more than the highest rank in any group. Without groups (torch 2.0 and earlier), the
/// largest group size or number of splits of a call.
std::int64_t recorded_world_size(const Trace& trace) {
  std::int64_t size = 1;
  if (trace.process_groups.empty()) {
    for (const auto& [index, call] : et_schema::communication_calls(trace)) {
      size = std::max({size, call.group_size, static_cast<std::int64_t>(call.in_splits.size()),
                       static_cast<std::int64_t>(call.out_splits.size())});
    }
  }
  for (const et_schema::ProcessGroup& group : trace.process_groups) {
    size = std::max(size,
                    group.ranks.empty() ? group.size : 1 + *std::ranges::max_element(group.ranks));
  }
  return size;
}

/// Infers a rank from all_to_allv splits: a rank sends to itself as much as it receives from
/// itself.
int rank_of_splits(const Trace& trace) {
  const std::map<et_schema::NodeIndex, et_schema::CommCall> calls =
      et_schema::communication_calls(trace);
  const auto ranks = static_cast<std::size_t>(recorded_world_size(trace));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const bool fits = std::ranges::all_of(calls, [rank](const auto& entry) {
      const et_schema::CommCall& call = entry.second;
      return call.in_splits.size() <= rank || call.out_splits.size() <= rank ||
             call.in_splits[rank] == call.out_splits[rank];
    });
    if (fits) {
      return static_cast<int>(rank);
    }
  }
  return trace.rank;
}

std::string text_of(const std::optional<CaptureOrigin>& origin) {
  if (!origin) {
    return "no capture.json that lists it";
  }
  if (!origin->rank) {
    return fmt::format("{} does not list it", origin->file);
  }
  if (!origin->is_same_file) {
    return fmt::format("{} lists another trace of this name", origin->file);
  }
  return fmt::format("{}, capture {}", origin->file, origin->id);
}

bool is_known(const std::optional<CaptureOrigin>& origin) {
  return origin && origin->rank && origin->is_same_file;
}

/// Returns why a trace belongs to another job than `first`; empty if nothing indicates it.
std::string foreign_text(const Trace& first, const Trace& trace) {
  // Under the fake group each rank is captured by itself.
  const bool are_apart =
      is_of_fake_group(first.process_groups) && is_of_fake_group(trace.process_groups);
  if ((first.capture || trace.capture) && !are_apart) {
    const bool is_alike = is_known(first.capture) && is_known(trace.capture) &&
                          first.capture->id == trace.capture->id;
    return is_alike ? "" : text_of(trace.capture);
  }
  const std::int64_t recorded = recorded_world_size(trace);
  const bool both_tell = !first.process_groups.empty() && !trace.process_groups.empty();
  return both_tell && recorded != recorded_world_size(first)
             ? fmt::format("process groups of {} ranks", recorded)
             : "";
}

[[noreturn]] void refuse_foreign(const Trace& first, const Trace& trace, std::string got) {
  const std::string expected =
      first.capture ? text_of(first.capture)
                    : fmt::format("process groups of {} ranks", recorded_world_size(first));
  throw et_schema::bad_input("ranks of different captures",
                             {.file = trace.file,
                              .rank = trace.rank,
                              .field = "capture",
                              .expected = fmt::format("{}, as {}", expected, first.file),
                              .got = std::move(got),
                              .hint = kAllowMissing});
}

[[noreturn]] void refuse_missing(const Trace& trace, std::int64_t world_size, std::size_t given) {
  const auto traces = [](std::int64_t ranks) {
    return fmt::format("traces of {} rank{}", ranks, ranks == 1 ? "" : "s");
  };
  throw et_schema::bad_input(
      "traces of some ranks are missing",
      {.file = trace.file,
       .rank = trace.rank,
       .field = trace.process_groups.empty() && !trace.capture ? "splits, group sizes"
                                                               : "process groups",
       .expected = traces(world_size),
       .got = traces(static_cast<std::int64_t>(given)),
       .hint = given > 1
                   ? kAllowMissing
                   : fmt::format("{}, or --world-size {}: the others do as this one did; of a "
                                 "pipeline, give a rank of each stage",
                                 kAllowMissing, world_size)});
}

/// Refuses two traces of one process: each rank must be a process with its own ids. Traces that a
/// simulator was given name no process, and ranks that do the same have equal ones.
void refuse_copies(const std::vector<Trace>& traces) {
  std::map<std::uint64_t, const Trace*> seen;
  for (const Trace& trace : traces) {
    if (trace.pid == 0 && trace.schema.starts_with("chakra")) {
      continue;
    }
    const auto [first, is_new] = seen.try_emplace(trace.content_hash, &trace);
    if (!is_new && trace.content_hash != 0 && trace.nodes.size() == first->second->nodes.size()) {
      throw et_schema::bad_input("two ranks have one and the same trace",
                                 {.file = trace.file,
                                  .rank = trace.rank,
                                  .expected = "the trace of another process",
                                  .got = fmt::format("a copy of {}", first->second->file),
                                  .hint = "copy this rank's own trace there"});
    }
  }
}

}  // namespace

int rank_alone(const Trace& trace) {
  if (trace.capture && trace.capture->is_same_file) {
    return trace.capture->rank.value_or(0);
  }
  if (trace.rank != 0 && trace.rank < recorded_world_size(trace)) {
    return trace.rank;  // a name may have another number behind "rank"
  }
  return trace.process_groups.empty() ? rank_of_splits(trace) : 0;
}

Job find_job(const std::vector<Trace>& traces, PartialRanks partial) {
  Job job;
  const auto given = static_cast<std::int64_t>(traces.size());
  const bool may_mix = partial == PartialRanks::kAllowed ||
                       (partial == PartialRanks::kOneAlone && traces.size() == 1);
  if (!may_mix) {
    refuse_copies(traces);
  }
  for (const Trace& trace : traces) {
    std::string got = foreign_text(traces.front(), trace);
    job.is_foreign.push_back(traces.size() > 1 && !got.empty());
    if (job.is_foreign.back() && !may_mix) {
      refuse_foreign(traces.front(), trace, std::move(got));
    }
    job.world_size = std::max({job.world_size, recorded_world_size(trace),
                               given > 1 ? std::int64_t{trace.rank} + 1 : 1, given,
                               is_known(trace.capture) ? trace.capture->world_size : 1});
  }
  job.missing = static_cast<std::uint64_t>(job.world_size - given);
  if (job.missing > 0 && !may_mix && partial < PartialRanks::kOfOneJob) {
    refuse_missing(traces.front(), job.world_size, traces.size());
  }
  if (job.missing > 0 || std::ranges::count(job.is_foreign, true) > 0) {
    et_schema::PartialJob& there = job.partial.emplace();
    there.world_size = job.world_size;
    for (const Trace& trace : traces) {
      there.ranks.push_back(traces.size() == 1 ? rank_alone(trace) : trace.rank);
    }
  }
  return job;
}

}  // namespace understudy::generator
