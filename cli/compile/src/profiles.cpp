#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "cli/asking/asking.h"
#include "cli/compile/compile.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/kineto/graph_capture.h"
#include "et_schema/formats/kineto/profile_files.h"
#include "generator/link/disturbance.h"
#include "generator/profile/trace_of_profile.h"

namespace understudy::cli {
namespace {

using et_schema::Profile;
using et_schema::RankCapture;
using et_schema::Trace;
using generator::Link;
using generator::LinkOptions;

/// Links a capture. Times come from the profile of the traced step only if there is no other
/// profile, or if the other step ran different operators.
Link link_capture(const std::vector<std::string>& paths, Trace& trace, const RankCapture& capture,
                  const std::optional<std::string>& step, const Profile* graph_run) {
  LinkOptions options{.step = step,
                      .unprofiled_step_ns = capture.facts.median_step_ns(),
                      .unprofiled_interval = capture.facts.step_interval(),
                      .minor_faults = capture.facts.median_minor_faults()};
  options.graph_run = graph_run;
  const std::optional<et_schema::ObserverCost>& cost = capture.facts.observer;
  std::optional<Profile> with_trace;
  bool is_fallback = false;
  if (!capture.with_trace.empty()) {
    with_trace = et_schema::read_profile(paths, capture.with_trace);
    generator::repair_parents(trace, *with_trace);
  }
  if (!capture.alone.empty()) {
    if (cost) {
      options.observer_ns_per_event = cost->kineto_event_ns;
      options.observer_ns_per_launch = cost->kineto_launch_ns.value_or(0);
    }
    options.profiled_minor_faults = capture.facts.median_profiled_minor_faults();
    const Profile alone = et_schema::read_profile(paths, capture.alone);
    const std::uint64_t other_regions = generator::compare_regions(trace, alone, step);
    try {
      Link link = generator::link(trace, alone, options);
      link.losses.add(et_schema::Loss::kOtherRegions, other_regions);
      if (with_trace) {
        link.memory = generator::observe_memory(trace, *with_trace);
      }
      return link;
    } catch (const et_schema::Error&) {
      if (!with_trace) {
        throw;
      }
      is_fallback = true;
    }
  }
  options.profiled_minor_faults.reset();
  options.observer_ns_per_event.reset();
  if (cost && cost->et_node_ns) {
    options.observer_ns_per_event = cost->kineto_event_ns + *cost->et_node_ns;
  }
  Link link = generator::link(trace, *with_trace, options);
  link.memory = generator::observe_memory(trace, *with_trace);
  if (is_fallback) {
    link.losses.add(et_schema::Loss::kUnlinkedProfile);
  }
  return link;
}

/// Links the profile of steps in which the capture counted something; counting slows operators
/// down, so these steps had no other purpose. Returns nothing if there is no such file. If the
/// steps ran other operators, adds `loss` and returns nothing.
std::optional<Link> link_counted(const std::vector<std::string>& paths, const Trace& trace,
                                 const std::string& file, const std::optional<std::string>& step,
                                 et_schema::Loss loss, Link& link) {
  if (file.empty()) {
    return std::nullopt;
  }
  const Profile counted = et_schema::read_profile(paths, file);
  try {
    return generator::link(trace, counted, {step});
  } catch (const et_schema::Error&) {
    link.losses.add(loss, std::max<std::uint64_t>(counted.ranges.size(), 1));
    return std::nullopt;
  }
}

/// Adds page faults and the counters of kernels, if the capture counted them.
void add_counted(const std::vector<std::string>& paths, const Trace& trace,
                 const RankCapture& capture, const std::optional<std::string>& step, Link& link) {
  const auto faults =
      link_counted(paths, trace, capture.faults, step, et_schema::Loss::kUnlinkedFaultCounts, link);
  for (std::size_t node = 0; faults && node < link.nodes.size(); ++node) {
    if (link.nodes[node] && faults->nodes[node]) {
      link.nodes[node]->page_faults = faults->nodes[node]->page_faults;
    }
  }
  if (auto counted = link_counted(paths, trace, capture.counters, step,
                                  et_schema::Loss::kUnjoinedCounters, link)) {
    link.kernels = std::move(counted->kernels);
  }
}

/// Throws if ranks do not count from 0: profiles are matched by rank.
void refuse_gaps(const std::vector<Trace>& traces) {
  for (std::size_t i = 0; traces.size() > 1 && i < traces.size(); ++i) {
    if (traces[i].rank != static_cast<int>(i)) {
      throw et_schema::usage_error("--profile needs all ranks from 0 on",
                                   {.file = traces[i].file,
                                    .rank = traces[i].rank,
                                    .field = "--profile",
                                    .expected = fmt::format("rank {}", i),
                                    .got = fmt::format("rank {}", traces[i].rank),
                                    .hint = "leave it out where the traces lie in their capture's "
                                            "folder, or compile the ranks one by one"});
    }
  }
}

/// Reads the graph runs' profiles by rank; elements are empty if no files are named.
std::vector<std::optional<Profile>> read_graph_runs(const ProfileChoice& choice,
                                                    const JobTraces& job) {
  std::vector<std::optional<Profile>> runs(job.set.traces.size());
  const bool are_joined = std::ranges::any_of(
      job.made_of, [](const Profile& profile) { return !profile.graph_run.empty(); });
  if (!choice.graph_runs.empty() && !are_joined) {
    refuse_gaps(job.set.traces);
    et_schema::read_profiles(choice.graph_runs, static_cast<int>(job.set.traces.size()),
                             [&runs](int rank, Profile&& profile) {
                               runs[static_cast<std::size_t>(rank)] = std::move(profile);
                             });
  }
  return runs;
}

}  // namespace

JobTraces read_job(const std::vector<std::string>& paths, const std::string& step,
                   et_schema::RankGaps gaps, const std::vector<std::string>& graph_runs) {
  JobTraces job;
  generator::AskResults ask;  // asks equal calls of all ranks once
  const auto of_profile = [&](std::string_view content, const std::string& file) {
    job.made_of.push_back(
        et_schema::parse_kineto(content, file, et_schema::KinetoDetail::kArguments));
    const auto place = static_cast<std::size_t>(std::ranges::find(paths, file) - paths.begin());
    if (place < graph_runs.size() && et_schema::is_graph_capture(job.made_of.back())) {
      et_schema::add_graph_run(job.made_of.back(),
                               et_schema::read_profile(graph_runs, graph_runs[place]), step);
    }
    // All ranks of a job must hold the same step.
    const std::string chosen = step.empty() && paths.size() == 1 && paths.front() == file
                                   ? generator::typical_step(job.made_of.back())
                                   : std::string();
    if (!chosen.empty()) {
      job.step = chosen;
    }
    // Calls ask_results(), which throws if its program is missing, only if the profile is accepted.
    return generator::trace_of_profile(
        job.made_of.back(),
        [&ask](std::span<const generator::AskedCall> calls) {
          if (!ask) {
            ask = ask_results();
          }
          return ask(calls);
        },
        job.step.value_or(step));
  };
  job.set = et_schema::read_trace_set(paths, et_schema::process_limits(), gaps, of_profile);
  const auto place = [&job](const Profile& profile) {
    return std::ranges::find(job.set.traces, profile.file, &Trace::file);
  };
  std::ranges::sort(job.made_of, {}, place);
  if (!job.made_of.empty()) {
    job.made_of.resize(job.set.traces.size());  // those of no rank come last
  }
  return job;
}

std::vector<Link> link_profiles(const std::vector<std::string>& paths, JobTraces& job,
                                const ProfileChoice& choice, const std::optional<std::string>& step,
                                Progress& progress) {
  et_schema::TraceSet& set = job.set;
  std::vector<Link> links;
  if (choice.none) {
    return links;
  }
  const std::vector<std::string>& files = choice.files.empty() ? set.profiles : choice.files;
  const std::vector<std::optional<Profile>> graph_runs = read_graph_runs(choice, job);
  const auto graph_run = [&graph_runs](std::size_t rank) {
    return graph_runs[rank] ? &*graph_runs[rank] : nullptr;
  };
  for (std::size_t i = 0; i < job.made_of.size() && choice.files.empty(); ++i) {
    progress.show({"linking ranks", i, job.made_of.size()});
    LinkOptions options{step};
    options.graph_run = graph_run(i);
    options.is_as_profiled = choice.is_as_profiled;
    links.push_back(generator::link(set.traces[i], job.made_of[i], options));
    links.back().memory = generator::observe_memory(set.traces[i], job.made_of[i]);
  }
  if (!links.empty()) {
    return links;
  }
  if (!files.empty()) {
    refuse_gaps(set.traces);
    links.resize(set.traces.size());
    const auto link_rank = [&](int rank, Profile&& profile) {
      progress.show({"linking ranks", static_cast<std::size_t>(rank), set.traces.size()});
      Trace& trace = set.traces[static_cast<std::size_t>(rank)];
      if (set.traces.size() == 1 && profile.distributed) {
        trace.rank = static_cast<int>(profile.distributed->rank);
      }
      generator::repair_parents(trace, profile);
      Link& link = links[static_cast<std::size_t>(rank)];
      const std::uint64_t other_regions = generator::compare_regions(trace, profile, step);
      LinkOptions options{step};
      options.graph_run = graph_run(static_cast<std::size_t>(rank));
      link = generator::link(trace, profile, options);
      link.losses.add(et_schema::Loss::kOtherRegions, other_regions);
      link.memory = generator::observe_memory(trace, profile);
    };
    et_schema::read_profiles(files, static_cast<int>(set.traces.size()), link_rank);
    return links;
  }
  for (const Trace& trace : set.traces) {
    if (std::optional<Link> own = generator::link_own_times(trace, step)) {
      links.push_back(std::move(*own));
    }
  }
  if (links.size() == set.traces.size() && choice.graph_runs.empty()) {
    return links;
  }
  links.clear();
  const auto captures = et_schema::find_captures(paths, set);
  const bool has_profiles =
      captures && std::ranges::all_of(*captures, [](const RankCapture& capture) {
        return !capture.alone.empty() || !capture.with_trace.empty();
      });
  for (std::size_t rank = 0; has_profiles && rank < captures->size(); ++rank) {
    progress.show({"linking ranks", rank, set.traces.size()});
    links.push_back(
        link_capture(paths, set.traces[rank], (*captures)[rank], step, graph_run(rank)));
    add_counted(paths, set.traces[rank], (*captures)[rank], step, links.back());
    links.back().profile.counters = (*captures)[rank].facts.counters;
    links.back().profile.kernel_settings = (*captures)[rank].facts.kernel_settings;
    links.back().profile.variables = (*captures)[rank].facts.variables;
    generator::take_out_disturbance(set.traces[rank], links.back());
    links.back().untouched_tensor_bytes = (*captures)[rank].facts.untouched_tensor_bytes;
  }
  if (links.empty() && !choice.graph_runs.empty()) {
    throw et_schema::usage_error(
        "a graphed run says only how long the kernels of an eager step took",
        {.file = choice.graph_runs.front(),
         .field = "--graph-profile",
         .expected = "traces with a profile of the eager step, or that profile alone",
         .got = "traces without a profile",
         .hint = "name the eager step's profile with --profile"});
  }
  return links;
}

}  // namespace understudy::cli
