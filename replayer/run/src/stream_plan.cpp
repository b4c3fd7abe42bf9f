#include <algorithm>
#include <deque>

#include "et_schema/base/error.h"
#include "et_schema/model/touches.h"
#include "replayer/run/streams.h"

namespace understudy::replayer {
namespace {

using et_schema::StreamWait;
using et_schema::Touched;

std::optional<std::int64_t> recorded_stream(const Step& step) {
  return step.source != nullptr ? et_schema::recorded_stream(*step.source) : std::nullopt;
}

/// Returns the recorded stream of a synchronous call with its own stream.
std::optional<std::int64_t> own_stream(const Step& step) {
  const bool has_own = step.source != nullptr && step.source->comm &&
                       step.source->comm->why == et_schema::kOwnStream;
  return has_own ? recorded_stream(step) : std::nullopt;
}

/// Sets the home of each storage: the stream that first touches it, to which the allocator returns
/// its memory. Returns true if a storage's home is not `stream`. Externals are skipped, since they
/// are never returned.
bool settle_homes(const Program& program, const Touched& touched, std::uint32_t stream,
                  std::vector<std::optional<std::uint32_t>>& home) {
  bool is_foreign = false;
  for (const auto* storages : {&touched.writes, &touched.reads}) {
    for (const StorageId storage : *storages) {
      if (program.storages[storage].external) {
        continue;
      }
      if (!home[storage]) {
        home[storage] = stream;
      }
      is_foreign |= *home[storage] != stream;
    }
  }
  return is_foreign;
}

class StreamPlanner {
 public:
  StreamPlanner(const Program& program, const BoundProgram& bound)
      : program_(program),
        bound_(bound),
        streams_(et_schema::operator_streams(program)),
        touches_(program.storages.size()),
        home_(program.storages.size()),
        has_own_stream_(bound.comms.size()) {
    for (const Step& step : bound.steps) {
      const std::optional<std::int64_t> own = own_stream(step);
      if (own && step.kind == StepKind::kStart) {
        has_own_stream_[step.index] = true;
      }
      if (own && !find(*own)) {
        streams_.push_back(*own);
      }
    }
    waits_.resize(streams_.size());
    issued_.resize(streams_.size());
    waited_for_.resize(streams_.size() * streams_.size());
    if (program.profile) {
      add_waits(program.profile->stream_waits);
    }
  }

  StreamPlan plan() {
    if (streams_.size() <= 1) {
      return {};
    }
    plan_.streams = static_cast<std::uint32_t>(streams_.size());
    plan_.steps.resize(bound_.steps.size());
    for (std::uint32_t at = 0; at < bound_.steps.size(); ++at) {
      place(at);
    }
    for (const std::deque<StreamWait>& to_come : waits_) {
      plan_.missing_waits += to_come.size();
    }
    return std::move(plan_);
  }

 private:
  /// A step issued to a stream, and the original's time of its instruction.
  struct Issued {
    std::uint32_t step;
    std::int64_t start_ns;
  };

  /// Adds waits of streams; the pace handles waits of the host.
  void add_waits(const std::vector<StreamWait>& waits) {
    for (const StreamWait& wait : waits) {
      if (const auto stream = wait.stream ? find(*wait.stream) : std::nullopt) {
        waits_[*stream].push_back(wait);
      } else if (wait.stream) {
        ++plan_.missing_waits;
      }
    }
  }

  [[nodiscard]] std::optional<std::uint32_t> find(std::int64_t stream) const {
    const auto found = std::ranges::find(streams_, stream);
    return found == streams_.end()
               ? std::nullopt
               : std::optional(static_cast<std::uint32_t>(found - streams_.begin()));
  }

  void place(std::uint32_t at) {
    const Step& step = bound_.steps[at];
    const std::uint32_t here = stream_of(at);
    plan_.steps[at].stream = here;
    const std::optional<et_schema::Timing>& timing = step.kind == StepKind::kJoin
                                                         ? bound_.comms[step.index].joined_at
                                                     : step.source == nullptr ? std::nullopt
                                                                              : step.source->timing;
    if (timing) {
      take_recorded_waits(at, here, timing->start_ns);
      issued_[here].push_back({at, timing->start_ns});
    }
    const Touched touched = touched_by_step(step);
    for (const et_schema::LastOfLanes::Last& last : touches_.enter(at, here, touched)) {
      plan_.inferred_waits += wait_for(at, last.step) ? 1U : 0U;
    }
    std::ranges::sort(plan_.steps[at].waits_for);
    plan_.steps[at].uses_foreign_memory = settle_homes(program_, touched, here, home_);
  }

  [[nodiscard]] std::uint32_t stream_of(std::uint32_t at) {
    const Step& step = bound_.steps[at];
    if (step.kind == StepKind::kStart) {
      return find(own_stream(step).value_or(-1)).value_or(0);
    }
    if (step.kind != StepKind::kJoin) {
      current_ = find(recorded_stream(step).value_or(-1)).value_or(current_);
      return current_;
    }
    const BoundComm& comm = bound_.comms[step.index];
    if (comm.joined_by == JoinedBy::kDataFlow && has_own_stream_[step.index]) {
      // The stream of the step that needs the result: the next one that is not a join.
      for (std::size_t next = at + 1; next < bound_.steps.size(); ++next) {
        if (bound_.steps[next].kind != StepKind::kJoin) {
          return find(recorded_stream(bound_.steps[next]).value_or(-1)).value_or(current_);
        }
      }
    }
    const std::optional<std::int64_t> waits =
        comm.joined_at ? comm.joined_at->stream : std::nullopt;
    return find(waits.value_or(-1)).value_or(0);
  }

  /// Adds the waits that the original issued to the step's stream before the step.
  void take_recorded_waits(std::uint32_t at, std::uint32_t here, std::int64_t start_ns) {
    std::deque<StreamWait>& waits = waits_[here];
    for (; !waits.empty() && waits.front().start_ns <= start_ns; waits.pop_front()) {
      const std::optional<std::uint32_t> other = find(waits.front().for_stream);
      const std::optional<std::uint32_t> last =
          other && *other != here ? last_issued(*other, waits.front().until_ns) : std::nullopt;
      ++(last ? plan_.recorded_waits : plan_.missing_waits);
      if (last) {
        static_cast<void>(wait_for(at, *last));
      }
    }
  }

  [[nodiscard]] std::optional<std::uint32_t> last_issued(std::uint32_t stream,
                                                         std::int64_t until_ns) const {
    const std::vector<Issued>& all = issued_[stream];
    const auto last = std::find_if(
        all.rbegin(), all.rend(), [&](const Issued& issued) { return issued.start_ns < until_ns; });
    return last == all.rend() ? std::nullopt : std::optional(last->step);
  }

  /// Adds a wait; returns false if the stream has waited for it already.
  bool wait_for(std::uint32_t at, std::uint32_t step) {
    std::optional<std::uint32_t>& latest =
        waited_for_[plan_.steps[at].stream * streams_.size() + plan_.steps[step].stream];
    if (latest && *latest >= step) {
      return false;
    }
    latest = step;
    plan_.steps[at].waits_for.push_back(step);
    plan_.steps[step].is_waited_for = true;
    return true;
  }

  [[nodiscard]] Touched touched_by_step(const Step& step) const {
    if (step.kind != StepKind::kJoin) {
      return step.source == nullptr ? Touched() : touched_by(program_, *step.source);
    }
    Touched touched;
    for (const SlotId slot : bound_.comms[step.index].inputs) {
      touched.reads.push_back(program_.slots[slot].storage);
    }
    for (const SlotId slot : bound_.comms[step.index].outputs) {
      touched.writes.push_back(program_.slots[slot].storage);
    }
    return touched;
  }

  const Program& program_;
  const BoundProgram& bound_;
  std::vector<std::int64_t> streams_;          ///< recorded streams, by number in the plan
  std::vector<std::deque<StreamWait>> waits_;  ///< remaining waits, by waiting stream
  et_schema::LastTouches touches_;
  std::vector<std::optional<std::uint32_t>> home_;  ///< by storage
  std::vector<bool> has_own_stream_;                ///< by communication
  std::vector<std::vector<Issued>> issued_;         ///< by stream
  /// By waiting stream and other stream: the last step waited for.
  std::vector<std::optional<std::uint32_t>> waited_for_;
  std::uint32_t current_ = 0;
  StreamPlan plan_;
};

}  // namespace

void check_streams(const Program& program, c10::Device device, std::optional<Streams> streams) {
  if (streams != Streams::kRecorded) {
    return;
  }
  if (device.is_cpu()) {
    throw et_schema::usage_error("a CPU has no streams",
                                 {.field = "--streams",
                                  .expected = "--device cuda",
                                  .got = "cpu",
                                  .hint = "Leave --streams out, or replay on a GPU."});
  }
  const bool is_known = std::any_of(
      program.instructions.begin(), program.instructions.end(),
      [](const Instruction& one) { return et_schema::recorded_stream(one).has_value(); });
  if (!is_known) {
    throw et_schema::usage_error(
        "the benchmark does not say which streams the original used",
        {.field = "--streams",
         .expected = "one, or a benchmark that a GPU's profile was linked to",
         .got = std::string(to_string(*streams)),
         .hint = "Make the benchmark anew with `understudy generate --profile`, from a Kineto "
                 "profile of the same step."});
  }
}

StreamPlan plan_streams(const Program& program, const BoundProgram& bound) {
  return StreamPlanner(program, bound).plan();
}

}  // namespace understudy::replayer
