#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>

#include "generator/link/align.h"
#include "join.h"

namespace understudy::generator {
namespace {

using et_schema::Trace;

/// The nodes of one thread of the trace, as positions in JoinNodes.
struct NodeThread {
  std::uint64_t tid = 0;
  std::vector<std::uint32_t> positions;
  std::optional<std::size_t> host;  ///< the profile's matching thread
};

std::vector<NodeThread> node_threads(const Trace& trace, const JoinNodes& nodes) {
  std::vector<NodeThread> threads;
  for (std::size_t i = 0; i < nodes.nodes.size(); ++i) {
    const std::uint64_t tid = trace.nodes[nodes.nodes[i]].tid;
    auto thread = std::ranges::find(threads, tid, &NodeThread::tid);
    if (thread == threads.end()) {
      thread = threads.insert(threads.end(), {tid, {}, {}});
    }
    thread->positions.push_back(static_cast<std::uint32_t>(i));
  }
  std::ranges::stable_sort(threads, std::greater{},
                           [](const NodeThread& thread) { return thread.positions.size(); });
  return threads;
}

/// Matches threads of a trace and of a profile. Their ids are unrelated, so the threads whose
/// sequences of names agree best are matched.
void match_threads(const JoinNodes& nodes, std::vector<NodeThread>& threads, const HostEvents& host,
                   std::size_t names) {
  struct Agreement {
    std::uint64_t names = 0;
    std::size_t thread = 0;
    std::size_t host = 0;
  };
  std::vector<std::vector<std::uint32_t>> wanted(threads.size());
  for (std::size_t t = 0; t < threads.size(); ++t) {
    wanted[t].resize(names);
    for (const std::uint32_t position : threads[t].positions) {
      ++wanted[t][nodes.names[position]];
    }
  }
  std::vector<Agreement> agreements;
  std::vector<std::uint32_t> shown(names);
  for (std::size_t k = 0; k < host.threads.size(); ++k) {
    std::ranges::fill(shown, 0);
    for (HostIndex i = host.threads[k].begin; i < host.threads[k].end; ++i) {
      ++shown[host.events[i].name];
    }
    for (std::size_t t = 0; t < threads.size(); ++t) {
      std::uint64_t common = 0;
      for (std::size_t name = 0; name < names; ++name) {
        common += std::min(wanted[t][name], shown[name]);
      }
      agreements.push_back({common, t, k});
    }
  }
  std::ranges::stable_sort(agreements, std::greater{}, &Agreement::names);
  std::vector<bool> is_taken(host.threads.size());
  for (const Agreement& pair : agreements) {
    if (pair.names > 0 && !threads[pair.thread].host && !is_taken[pair.host]) {
      threads[pair.thread].host = pair.host;
      is_taken[pair.host] = true;
    }
  }
}

/// Aligns the steps one after the other.
class StepAligner {
 public:
  StepAligner(const JoinNodes& nodes, const std::vector<NodeThread>& threads,
              const HostEvents& host)
      : nodes_(nodes), threads_(threads), host_(host) {}

  [[nodiscard]] JoinedStep align_step(const StepSpan& span) const {
    JoinedStep step{span, std::vector<HostIndex>(nodes_.nodes.size(), kNoEvent), 0};
    for (const NodeThread& thread : threads_) {
      if (thread.host) {
        align_sequences(thread.positions, events_of(*thread.host, span), step);
      }
    }
    align_pools(step);
    return step;
  }

 private:
  [[nodiscard]] std::vector<HostIndex> events_of(std::size_t host, const StepSpan& span) const {
    const EventRange range = host_.started_in(host_.threads[host], span.begin_ns, span.end_ns);
    std::vector<HostIndex> events(range.end - range.begin);
    std::iota(events.begin(), events.end(), range.begin);
    return events;
  }

  void align_sequences(const std::vector<std::uint32_t>& positions,
                       const std::vector<HostIndex>& events, JoinedStep& step) const {
    std::vector<NameId> wanted;
    std::vector<NameId> shown;
    std::ranges::transform(positions, std::back_inserter(wanted),
                           [this](std::uint32_t position) { return nodes_.names[position]; });
    std::ranges::transform(events, std::back_inserter(shown),
                           [this](HostIndex event) { return host_.events[event].name; });
    const std::vector<std::uint32_t> aligned = align(wanted, shown);
    for (std::size_t i = 0; i < aligned.size(); ++i) {
      if (aligned[i] != kUnaligned) {
        step.event_of[positions[i]] = events[aligned[i]];
      }
    }
  }

  /// Aligns the remaining nodes. Threads of a pool share their work differently in each step, and
  /// the trace's observer assigns some of it to the busiest thread (asynchronous Gloo work). The
  /// rest is therefore aligned with all other threads of the profile as if they were one.
  void align_pools(JoinedStep& step) const {
    std::vector<std::uint32_t> left;
    for (std::uint32_t position = 0; position < step.event_of.size(); ++position) {
      if (step.event_of[position] == kNoEvent) {
        left.push_back(position);
      }
    }
    if (left.empty()) {
      return;
    }
    std::vector<HostIndex> joined = step.event_of;
    std::ranges::sort(joined);
    std::vector<HostIndex> events;
    for (std::size_t k = 0; k < host_.threads.size(); ++k) {
      if (threads_.front().host != k) {
        std::ranges::set_difference(events_of(k, step.span), joined, std::back_inserter(events));
      }
    }
    std::ranges::stable_sort(events, {},
                             [this](HostIndex event) { return host_.events[event].start_ns; });
    align_sequences(left, events, step);
  }

  const JoinNodes& nodes_;
  const std::vector<NodeThread>& threads_;
  const HostEvents& host_;
};

std::vector<StepSpan> find_steps(const JoinNodes& nodes, const std::vector<NodeThread>& threads,
                                 const HostEvents& host) {
  std::vector<StepSpan> steps = marked_steps(host);
  if (!nodes.is_one_step && steps.size() > 1) {
    return {whole_profile(host)};
  }
  if (steps.size() > 1 || steps.empty() || steps.front().mark != kNoEvent) {
    return steps;
  }
  // The thread that begins the step locates the steps. Another thread (such as the autograd
  // engine's, which has most nodes but runs only the backward pass) would join halves of two steps.
  std::vector<const NodeThread*> by_begin;
  std::ranges::transform(threads, std::back_inserter(by_begin),
                         [](const NodeThread& thread) { return &thread; });
  std::ranges::sort(by_begin, {},
                    [](const NodeThread* thread) { return thread->positions.front(); });
  for (const NodeThread* thread : by_begin) {
    if (!thread->host) {
      continue;
    }
    std::vector<NameId> once;
    std::ranges::transform(thread->positions, std::back_inserter(once),
                           [&nodes](std::uint32_t position) { return nodes.names[position]; });
    std::vector<StepSpan> repeated = repeated_steps(once, host, host.threads[*thread->host]);
    if (repeated.size() > 1) {
      return repeated;
    }
  }
  return steps;
}

}  // namespace

Join join_by_order(const Trace& trace, const JoinNodes& nodes, const HostEvents& host,
                   std::size_t names) {
  std::vector<NodeThread> threads = node_threads(trace, nodes);
  match_threads(nodes, threads, host, names);
  const StepAligner aligner(nodes, threads, host);
  Join join{et_schema::JoinKind::kOrder, {}, 0, 0};
  for (const StepSpan& span : find_steps(nodes, threads, host)) {
    join.steps.push_back(aligner.align_step(span));
  }
  sum_up(join, host, nodes.nodes.size());
  return join;
}

}  // namespace understudy::generator
