#include "engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"

namespace understudy::predictor {

Engine::Engine(const Job& job, const SimulateOptions& options,
               const std::vector<ProgramPlan>& plans, const Channels& channels,
               std::vector<RankClass>& classes)
    : job_(job),
      options_(options),
      channels_(channels),
      classes_(classes),
      iterations_(options.warmup + std::max(options.iterations, 1U)),
      ranks_(classes.size()),
      meetings_(channels.channels.size()),
      unfinished_(classes.size()) {
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    RankState& rank = ranks_[c];
    rank.plan = &plans[classes[c].program];
    rank.calls = &channels.calls[c];
    rank.hosts.resize(rank.plan->timelines.size());
    rank.streams.resize(rank.plan->items.size());
  }
}

std::uint64_t Engine::run() {
  for (std::uint32_t c = 0; c < ranks_.size(); ++c) {
    const std::int64_t start_ns = job_.start_of(classes_[c].ranks.front());
    ranks_[c].accounts.start(start_ns);
    for (std::uint32_t h = 0; h < ranks_[c].hosts.size(); ++h) {
      begin_task(c, h, start_ns);
    }
    update(c);
  }
  while (!queue_.empty() && unfinished_ > 0) {
    const auto [time_ns, c] = queue_.top();
    queue_.pop();
    RankState& rank = ranks_[c];
    if (rank.next_ns != time_ns) {
      continue;  // outdated: its time has changed since
    }
    // The class continues as long as no other one comes first.
    while (unfinished_ > 0 && rank.next_ns != kNever &&
           (queue_.empty() || rank.next_ns <= queue_.top().first)) {
      step(c, rank.next_ns);
    }
    if (rank.next_ns != kNever) {
      queue_.emplace(rank.next_ns, c);
    }
  }
  if (unfinished_ > 0) {
    fail_deadlock();
  }
  for (std::uint32_t c = 0; c < ranks_.size(); ++c) {
    classes_[c].spans = std::move(ranks_[c].spans);
  }
  return events_;
}

void Engine::step(std::uint32_t c, std::int64_t now_ns) {
  ++events_;
  RankState& rank = ranks_[c];
  if (rank.plan->on_device) {
    rank.accounts.pass(rank.doing, now_ns);
  }
  for (std::uint32_t s = 0; s < rank.streams.size(); ++s) {
    StreamState& stream = rank.streams[s];
    if (stream.next_ns == now_ns) {
      stream.next_ns = kNever;
      if (stream.does == StreamDoes::kIsLaunched) {
        begin_item(c, s, now_ns);
      } else {
        end_item(c, s, now_ns);
      }
      rank.next_ns = next_of(rank);
      return;
    }
  }
  for (std::uint32_t h = 0; h < rank.hosts.size(); ++h) {
    HostState& host = rank.hosts[h];
    if (host.next_ns == now_ns) {
      host.next_ns = kNever;
      if (host.does == HostDoes::kGap) {
        start_or_wait(c, h, now_ns);
      } else {
        end_task(c, h, now_ns);
      }
      rank.next_ns = next_of(rank);
      return;
    }
  }
  UNDERSTUDY_ASSERT(false);
}

std::int64_t Engine::next_of(const RankState& rank) {
  std::int64_t next_ns = kNever;
  for (const StreamState& stream : rank.streams) {
    next_ns = std::min(next_ns, stream.next_ns);
  }
  for (const HostState& host : rank.hosts) {
    next_ns = std::min(next_ns, host.next_ns);
  }
  return next_ns;
}

void Engine::update(std::uint32_t c) {
  const std::int64_t next_ns = next_of(ranks_[c]);
  if (next_ns != ranks_[c].next_ns) {
    ranks_[c].next_ns = next_ns;
    if (next_ns != kNever) {
      queue_.emplace(next_ns, c);
    }
  }
}

bool Engine::are_done(const RankState& rank, PlanRange deps, std::uint32_t iteration) const {
  for (std::uint32_t i = deps.begin; i < deps.end; ++i) {
    const StreamDep& dep = rank.plan->stream_deps[i];
    const std::uint64_t items = dep.items + std::uint64_t{iteration} * rank.plan->items[dep.stream];
    if (rank.streams[dep.stream].done < items) {
      return false;
    }
  }
  return true;
}

void Engine::wake(std::uint32_t c, std::int64_t now_ns, SpanId cause) {
  RankState& rank = ranks_[c];
  for (std::uint32_t s = 0; s < rank.streams.size(); ++s) {
    if (rank.streams[s].does == StreamDoes::kWaitsForOthers) {
      advance(c, s, now_ns, cause);
    }
  }
  for (std::uint32_t h = 0; h < rank.hosts.size(); ++h) {
    const HostDoes does = rank.hosts[h].does;
    if (does == HostDoes::kWaitsBefore || does == HostDoes::kWaitsBehind) {
      end_wait(c, h, now_ns, cause);
    }
  }
}

void Engine::note_end(std::uint32_t c, std::int64_t now_ns) {
  RankState& rank = ranks_[c];
  while (rank.host_ends_ns.size() > rank.ends_ns.size()) {
    const std::uint64_t iterations = rank.ends_ns.size() + 1;
    for (std::size_t s = 0; s < rank.streams.size(); ++s) {
      if (rank.streams[s].done < iterations * rank.plan->items[s]) {
        return;
      }
    }
    rank.ends_ns.push_back(now_ns);
    if (iterations == options_.warmup) {
      rank.accounts.begin();
    }
    if (iterations == iterations_) {
      --unfinished_;
      const auto counted = static_cast<double>(iterations_ - options_.warmup);
      classes_[c].breakdown = rank.accounts.mean(counted);
      classes_[c].iteration_ns = classes_[c].breakdown.sum_ns();
      classes_[c].first_step_ns =
          rank.host_ends_ns.front() - job_.start_of(classes_[c].ranks.front());
    }
  }
}

std::int64_t Engine::last_end_ns(std::uint32_t before) const {
  if (before >= iterations_) {
    return job_.start_ns.empty() ? 0 : std::ranges::min(job_.start_ns);
  }
  std::int64_t end_ns = 0;
  for (const RankState& rank : ranks_) {
    end_ns = std::max(end_ns, rank.ends_ns[iterations_ - 1 - before]);
  }
  return end_ns;
}

double Engine::iteration_ns() const {
  const std::uint32_t counted = iterations_ - options_.warmup;
  return static_cast<double>(last_end_ns(0) - last_end_ns(counted)) / counted;
}

bool Engine::is_kept(std::uint32_t iteration) const {
  return options_.spans && iteration < iterations_ && iteration + 2 >= iterations_;
}

SpanId Engine::add_span(std::uint32_t c, std::uint32_t iteration, const Span& span) {
  if (!is_kept(iteration)) {
    return {};
  }
  ranks_[c].spans.push_back(span);
  return {c, static_cast<std::uint32_t>(ranks_[c].spans.size() - 1)};
}

void Engine::fail_deadlock() const {
  std::vector<int> waiting;
  for (std::uint32_t c = 0; c < ranks_.size(); ++c) {
    if (std::ranges::find(ranks_[c].streams, StreamDoes::kWaitsForRanks, &StreamState::does) !=
        ranks_[c].streams.end()) {
      waiting.push_back(classes_[c].ranks.front());
    }
  }
  throw et_schema::bad_input("ranks would wait for each other for ever",
                             {.field = "order of communications",
                              .expected = "calls that the ranks wait for in one order",
                              .got = fmt::format("ranks {} wait", fmt::join(waiting, ", ")),
                              .hint = "`understudy inspect BENCH --match` says for what"});
}

}  // namespace understudy::predictor
