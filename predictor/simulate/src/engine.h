#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "accounts.h"
#include "channels.h"
#include "plan.h"

namespace understudy::predictor {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Work that a host has issued to a stream: one launch.
struct Item {
  const Task* task = nullptr;
  std::uint32_t iteration = 0;
  std::uint32_t number = 0;  ///< on the stream in one iteration, counted from 1
  std::int64_t launch_ns = 0;
  std::int64_t device_ns = 0;
  SpanId issuer = {};
};

enum class StreamDoes : std::uint8_t {
  kNothing,
  kWaitsForOthers,  ///< its next item waits for other streams
  kIsLaunched,      ///< its next item is on its way to the device
  kOperates,
  kWaitsForRanks,
  kMoves
};

struct StreamState {
  std::vector<Item> queue;
  std::size_t head = 0;
  std::uint64_t done = 0;  ///< items done in the program's order, of all iterations
  StreamDoes does = StreamDoes::kNothing;
  std::int64_t next_ns = kNever;
  std::int64_t since_ns = 0;  ///< start of its current state
  std::int64_t free_ns = 0;   ///< end of its last item
  std::int64_t moved_ns = 0;  ///< for how long communication had moved when its item was last seen
  SpanId cause = {};          ///< cause of its current state
  SpanId last = {};
  std::uint32_t arrival_span = kNoIndex;

  /// Later items that are already done. Several threads can issue to the stream.
  std::set<std::uint64_t> done_ahead;

  [[nodiscard]] bool is_empty() const { return head == queue.size(); }
  /// Returns true if its first item is already on the device.
  [[nodiscard]] bool has_begun() const {
    return does == StreamDoes::kOperates || does == StreamDoes::kWaitsForRanks ||
           does == StreamDoes::kMoves;
  }
  [[nodiscard]] const Item& front() const { return queue[head]; }
  [[nodiscard]] std::size_t queued() const { return queue.size() - head; }
  void pop();
};

enum class HostDoes : std::uint8_t {
  kGap,
  kWaitsBefore,
  kOperates,
  kStalls,
  kWaitsBehind,
  kWaitsForIteration,  ///< until the step's own thread begins the next iteration
  kIsDone
};

struct HostState {
  std::uint32_t task = 0;
  std::uint32_t iteration = 0;
  HostDoes does = HostDoes::kGap;
  std::int64_t next_ns = kNever;
  std::int64_t begin_ns = 0;  ///< start of the gap
  std::int64_t start_ns = 0;  ///< start of the operator or the wait
  SpanId cause = {};
  SpanId last = {};
};

/// A class of ranks in the simulation.
struct RankState {
  const ProgramPlan* plan = nullptr;
  const std::vector<ChannelCall>* calls = nullptr;
  std::vector<HostState> hosts;
  std::vector<StreamState> streams;
  std::int64_t next_ns = kNever;
  Doing doing;
  Accounts accounts;
  std::vector<std::int64_t> host_ends_ns;  ///< by iteration
  std::vector<std::int64_t> ends_ns;       ///< by iteration: when its host and streams are done
  std::vector<Span> spans;
};

/// Simulates all classes in order of time.
class Engine {
 public:
  Engine(const Job& job, const SimulateOptions& options, const std::vector<ProgramPlan>& plans,
         const Channels& channels, std::vector<RankClass>& classes);
  /// Fills in the results of the classes and returns the number of events.
  std::uint64_t run();
  /// Returns the time at which all ranks finished an iteration; `before` counts back from the last
  /// one. Before the first iteration it is the start of the first rank.
  [[nodiscard]] std::int64_t last_end_ns(std::uint32_t before) const;
  /// Returns the mean of the iterations that count.
  [[nodiscard]] double iteration_ns() const;

 private:
  struct Arrival {
    std::uint32_t rank_class;
    std::uint32_t stream;
  };
  /// A call of a channel in progress.
  struct Meeting {
    std::uint32_t count = 0;  ///< members that have arrived, including those that continued at once
    std::vector<Arrival> waiting;
  };
  struct Meetings {
    std::uint64_t first = 0;  ///< number of calls before the oldest one in progress
    std::deque<Meeting> open;
  };

  void step(std::uint32_t c, std::int64_t now_ns);
  void update(std::uint32_t c);
  [[nodiscard]] static std::int64_t next_of(const RankState& rank);
  // Hosts.
  void begin_task(std::uint32_t c, std::uint32_t h, std::int64_t now_ns);
  void start_or_wait(std::uint32_t c, std::uint32_t h, std::int64_t now_ns);
  /// `start_ns` is `now_ns`, or the end of the gap that begins at `now_ns`.
  void start_task(std::uint32_t c, std::uint32_t h, std::int64_t start_ns, std::int64_t now_ns);
  void issue(std::uint32_t c, const Task& task, const HostState& host, std::int64_t now_ns);
  void end_task(std::uint32_t c, std::uint32_t h, std::int64_t now_ns);
  void end_wait(std::uint32_t c, std::uint32_t h, std::int64_t now_ns, SpanId cause);
  void stall_or_finish(std::uint32_t c, std::uint32_t h, std::int64_t now_ns);
  void finish_task(std::uint32_t c, std::uint32_t h, std::int64_t now_ns);
  [[nodiscard]] bool can_start(const RankState& rank, const HostState& host,
                               const Task& task) const;
  [[nodiscard]] bool are_done(const RankState& rank, PlanRange deps, std::uint32_t iteration) const;
  // Streams.
  /// Brings the first item that can begin to the front of the queue.
  void bring_forward(const RankState& rank, StreamState& stream) const;
  void advance(std::uint32_t c, std::uint32_t s, std::int64_t now_ns, SpanId cause);
  void begin_item(std::uint32_t c, std::uint32_t s, std::int64_t now_ns);
  void end_item(std::uint32_t c, std::uint32_t s, std::int64_t now_ns);
  void arrive(std::uint32_t c, std::uint32_t s, std::int64_t now_ns);
  /// `current` is the class whose step() runs.
  void start_moving(std::uint32_t current, std::int64_t duration_ns,
                    const std::vector<Arrival>& arrivals, SpanId last_arrival, std::int64_t now_ns);
  /// Continues everything that waited for the ended work of the class.
  void wake(std::uint32_t c, std::int64_t now_ns, SpanId cause);
  void note_end(std::uint32_t c, std::int64_t now_ns);
  SpanId add_span(std::uint32_t c, std::uint32_t iteration, const Span& span);
  [[nodiscard]] bool is_kept(std::uint32_t iteration) const;
  [[noreturn]] void fail_deadlock() const;

  const Job& job_;
  const SimulateOptions& options_;
  const Channels& channels_;
  std::vector<RankClass>& classes_;
  std::uint32_t iterations_;  ///< warmup and counted iterations
  std::vector<RankState> ranks_;
  std::vector<Meetings> meetings_;  ///< by channel
  std::size_t unfinished_;
  std::uint64_t events_ = 0;
  using Entry = std::pair<std::int64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace understudy::predictor
