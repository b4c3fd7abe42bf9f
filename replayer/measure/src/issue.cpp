// The issue of operators: pace, streams, threads and graphs.
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "et_schema/base/error.h"
#include "hooks.h"
#include "own_threads.h"
#include "replayer/device/device.h"
#include "replayer/measure/measure.h"
#include "replayer/run/graphs.h"
#include "replayer/run/run_error.h"
#include "replayer/run/streams.h"

namespace understudy::replayer {

void Measurement::prepare_issue() {
  const bool paces = options_.asked.pace == Pace::kRecorded;
  prepare_streams();
  if (!paces && !options_.asked.slow && streams_ == nullptr) {
    return;
  }
  const std::vector<std::uint64_t> threads = paces && options_.device.is_cpu()
                                                 ? overlapping_threads(program_)
                                                 : std::vector<std::uint64_t>();
  constexpr std::size_t kMostThreads = 128;
  if (threads.size() > kMostThreads) {
    throw et_schema::bad_input(
        "the benchmark was recorded on more threads than a replay starts",
        {.field = "--pace recorded",
         .expected = fmt::format("at most {} beside the main one", kMostThreads),
         .got = fmt::format("{} that overlap", threads.size()),
         .hint = "--pace asap issues all operators from one thread"});
  }
  std::optional<Pacer> pacer;
  std::optional<Slowdown> slowdown;
  if (paces) {
    pacer.emplace(make_pacer(threads));
  }
  if (options_.asked.slow) {
    slowdown.emplace(bound_, *options_.asked.slow);
  }
  issue_ =
      std::make_unique<IssueHook>(bound_, std::move(pacer), std::move(slowdown), streams_.get());
  if (!threads.empty()) {
    own_threads_ = std::make_unique<OwnThreads>(bound_, machine_, *issue_,
                                                plan_threads(program_, bound_, threads));
  }
}

/// Plans streams if the program was recorded on several.
void Measurement::prepare_streams() {
  const bool has_own_streams =
      std::ranges::any_of(program_.instructions, [](const et_schema::Instruction& instruction) {
        return instruction.comm && instruction.comm->why == et_schema::kOwnStream;
      });
  const Streams streams =
      options_.asked.streams.value_or(has_own_streams ? Streams::kRecorded : Streams::kOne);
  if (streams != Streams::kRecorded || options_.device.is_cpu()) {
    return;
  }
  StreamPlan plan = plan_streams(program_, bound_);
  waits_.streams_recorded = plan.recorded_waits;
  waits_.streams_inferred = plan.inferred_waits;
  waits_.streams_missing = plan.missing_waits;
  if (plan.streams > 1) {
    streams_ = std::make_unique<StreamHook>(std::move(plan), bound_, machine_, options_.device);
  }
}

Pacer Measurement::make_pacer(const std::vector<std::uint64_t>& own_threads) const {
  PacerOptions options{.own_threads = own_threads};
  if (!options_.device.is_cpu()) {
    const auto events = std::make_shared<std::map<std::size_t, c10::Event>>();
    options.record_event = [device = options_.device, events](std::size_t step) {
      events->try_emplace(step, device.type())
          .first->second.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
    };
    options.wait_for_device = [device = options_.device, events](
                                  et_schema::DeviceWait::For waits_for,
                                  std::optional<std::size_t> behind) {
      if (waits_for == et_schema::DeviceWait::For::kDevice) {
        synchronize(device);
      } else if (const auto event = behind ? events->find(*behind) : events->end();
                 event != events->end()) {
        event->second.synchronize();
      } else {
        synchronize_stream(device);
      }
    };
  }
  return {program_, bound_, std::move(options)};
}

void Measurement::report_pace(et_schema::PaceUse& use, std::size_t iterations) {
  use.mode = to_string(options_.asked.pace);
  if (issue_ == nullptr || issue_->pacer() == nullptr) {
    return;
  }
  Pacer all = *issue_->pacer();
  if (own_threads_ != nullptr) {
    for (IssueHook* const hook : own_threads_->hooks()) {
      all.add(*hook->pacer());
      ++use.own_threads;
    }
  }
  all.report(use, iterations);
}

/// Captures the graphs. An iteration on their stream comes first, so that libraries have their
/// workspaces of it; memory that iterations without graphs have used is released before.
void Measurement::capture_graphs() {
  if (options_.asked.streams != Streams::kGraph) {
    return;
  }
  synchronize(options_.device);
  graphs_ = std::make_unique<GraphedIteration>(program_, bound_, machine_, options_.device);
  // As in the trial: making a graph may wait for the device, and a collective for other ranks.
  machine_.set_blocking(true);
  advance();
  guarded([&] { machine_.run(bound_); });
  for (const bool captures : {false, true}) {
    advance();
    finish_iteration(options_.device);
    empty_device_cache(options_.device);
    reset_device_peak(options_.device);
    guarded([&] { captures ? graphs_->capture() : graphs_->try_steps(); });
    finish_iteration(options_.device);
  }
  machine_.set_blocking(false);
  captured_memory_ = device_memory(options_.device).value_or(et_schema::DeviceMemory());
}

}  // namespace understudy::replayer
