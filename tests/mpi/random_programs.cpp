#include "random_programs.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

#include "program_builder.h"

namespace understudy::tests {
namespace {

using et_schema::CommKind;
using et_schema::DType;
using et_schema::GroupId;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::SlotId;
using replayer::testing::constant;
using replayer::testing::ProgramBuilder;
using replayer::testing::ref;

constexpr std::uint64_t kMainThread = 1;
constexpr std::uint64_t kOtherThread = 7;
constexpr std::int64_t kOperatorNs = 20'000;
constexpr double kUntouched = -1;

/// One communication of the job.
struct Meeting {
  CommKind kind = CommKind::kBarrier;
  GroupId group = 0;
  std::vector<int> members;  ///< world ranks in group order
  std::size_t root = 0;      ///< in the group; the sender of a send
  std::size_t to = 0;        ///< the receiver
  std::int64_t elements = 1;
};

/// The next event of a rank: it starts a communication, or waits for it.
struct Event {
  std::size_t meeting = 0;
  bool is_wait = false;
};

/// Writes the program of one rank, event by event.
class ProgramWriter {
 public:
  ProgramWriter(int rank, std::mt19937& random) : rank_(rank), random_(random) {}

  void start(const Meeting& meeting, std::size_t id, bool is_async) {
    Tensors& tensors = tensors_[id];
    const auto size = static_cast<std::int64_t>(meeting.members.size());
    const std::int64_t n = meeting.elements;
    const auto self = static_cast<std::size_t>(
        std::find(meeting.members.begin(), meeting.members.end(), rank_) - meeting.members.begin());
    CommKind kind = meeting.kind;
    std::int64_t root_or_peer = static_cast<std::int64_t>(meeting.root);
    switch (kind) {
      case CommKind::kAllReduce:
        tensors = {{input(n)}, {output(n, sum(meeting))}};
        break;
      case CommKind::kReduce:
        tensors = {{input(n)}, {output(n, self == meeting.root ? sum(meeting) : kUntouched)}};
        break;
      case CommKind::kBroadcast:
        tensors = {{input(n)}, {output(n, held_by(meeting.members[meeting.root]))}};
        break;
      case CommKind::kAllGatherBase:
        tensors = {{input(n)}, {output_of_all(n, meeting)}};
        break;
      case CommKind::kAllGather:
        tensors = {{input(n)}, outputs_of_all(n, meeting)};
        break;
      case CommKind::kGather:
        tensors = {{input(n)}, {}};
        if (self == meeting.root) {
          tensors.outputs = outputs_of_all(n, meeting);
        }
        break;
      case CommKind::kScatter:
        tensors = {{}, {output(n, held_by(meeting.members[meeting.root]))}};
        if (self == meeting.root) {
          tensors.inputs = inputs(size, n);
        }
        break;
      case CommKind::kReduceScatterBase:
        tensors = {{input(n * size)}, {output(n, sum(meeting))}};
        break;
      case CommKind::kReduceScatter:
        tensors = {inputs(size, n), {output(n, sum(meeting))}};
        break;
      case CommKind::kAllToAll:
        if (n % 2 == 0) {
          tensors = {{input(n * size)}, {output_of_all(n, meeting)}};
        } else {
          tensors = {inputs(size, n), outputs_of_all(n, meeting)};
        }
        break;
      case CommKind::kSend:
        root_or_peer = static_cast<std::int64_t>(self == meeting.root ? meeting.to : meeting.root);
        if (self == meeting.root) {
          tensors = {{input(n)}, {}};
        } else {
          kind = CommKind::kRecv;
          tensors = {{}, {received(n)}};
          expect_later(tensors.outputs[0], n, held_by(meeting.members[meeting.root]));
        }
        break;
      default:
        break;
    }
    Instruction& comm =
        builder_.add_collective(kind, list_of(tensors.inputs), list_of(tensors.outputs));
    comm.kind = et_schema::is_message(kind) ? InstructionKind::kP2p : InstructionKind::kCollective;
    comm.comm->group = meeting.group;
    comm.comm->root_or_peer = root_or_peer;
    comm.comm->is_async = is_async;
    comm.comm->seq = ++numbers_[{meeting.group, et_schema::is_message(kind)}];
    tensors.seq = *comm.comm->seq;
    tensors.group = meeting.group;
    tensors.is_p2p = et_schema::is_message(kind);
    ++communications_;
  }

  void wait(std::size_t id) {
    const Tensors& tensors = tensors_.at(id);
    const std::vector<SlotId>& shown = tensors.outputs.empty() ? tensors.inputs : tensors.outputs;
    const bool has_tensor = !shown.empty();
    const SlotId tensor = has_tensor ? shown.back() : 0;
    const auto way = has_tensor ? static_cast<unsigned>(random_() % 3) : 0U;
    if (way == 2) {
      const SlotId read = builder_.intermediate(DType::kFloat32, builder_.slot(tensor).sizes);
      builder_.add_op(replayer::testing::kRelu, {ref(tensor)}, {ref(read)});
      return;
    }
    Instruction recorded;
    recorded.kind = InstructionKind::kWait;
    recorded.name = "wait";
    recorded.comm.emplace();
    recorded.comm->kind = CommKind::kWait;
    if (way == 1) {
      recorded.args = {ref(tensor)};
    } else {
      recorded.comm->seq = tensors.seq;
      recorded.comm->group = tensors.group;
      recorded.comm->names_group = true;
      recorded.comm->is_p2p = tensors.is_p2p;
    }
    builder_.add(std::move(recorded));
  }

  void compute_somewhere() { compute(random_() % 2 == 0 ? kOtherThread : kMainThread); }

  [[nodiscard]] et_schema::Program finish() {
    for (const auto& [from, elements, value] : kept_) {
      const SlotId to = output(elements);
      builder_.add_op(
          "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
          {ref(to), ref(from), replayer::testing::flag(false)}, {ref(to)});
      expect(to, {value});
    }
    compute(kOtherThread);
    while (elsewhere_ >= 0) {
      compute(kMainThread);  // the step's own thread is the one with the most to do
    }
    add_times();
    return std::move(builder_.program());
  }
  [[nodiscard]] std::vector<ExpectedTensor> expected() { return std::move(expected_); }
  [[nodiscard]] std::uint64_t communications() const { return communications_; }

 private:
  struct Tensors {
    std::vector<SlotId> inputs = {};
    std::vector<SlotId> outputs = {};
    std::int64_t seq = 0;
    GroupId group = 0;
    bool is_p2p = false;
  };

  static double held_by(int rank) { return rank + 1; }
  static double sum(const Meeting& meeting) {
    return std::accumulate(meeting.members.begin(), meeting.members.end(), 0.0,
                           [](double total, int rank) { return total + held_by(rank); });
  }
  static std::vector<et_schema::Argument> list_of(const std::vector<SlotId>& slots) {
    std::vector<et_schema::Argument> arguments;
    std::transform(slots.begin(), slots.end(), std::back_inserter(arguments),
                   [](SlotId slot) { return ref(slot); });
    return arguments;
  }

  SlotId input(std::int64_t elements) {
    return builder_.external(DType::kFloat32, {elements}, constant(held_by(rank_)));
  }
  std::vector<SlotId> inputs(std::int64_t count, std::int64_t elements) {
    std::vector<SlotId> slots(static_cast<std::size_t>(count));
    std::generate(slots.begin(), slots.end(), [&] { return input(elements); });
    return slots;
  }
  SlotId output(std::int64_t elements) {
    return builder_.external(DType::kFloat32, {elements}, constant(kUntouched));
  }
  SlotId output(std::int64_t elements, double value) {
    const SlotId slot = output(elements);
    expect(slot, {value});
    return slot;
  }
  /// An output with a part for each member.
  SlotId output_of_all(std::int64_t elements, const Meeting& meeting) {
    const SlotId slot = output(elements * static_cast<std::int64_t>(meeting.members.size()));
    std::vector<double> parts;
    std::transform(meeting.members.begin(), meeting.members.end(), std::back_inserter(parts),
                   held_by);
    expect(slot, std::move(parts));
    return slot;
  }
  /// Outputs with one tensor for each member.
  std::vector<SlotId> outputs_of_all(std::int64_t elements, const Meeting& meeting) {
    std::vector<SlotId> slots;
    std::transform(meeting.members.begin(), meeting.members.end(), std::back_inserter(slots),
                   [&](int member) { return output(elements, held_by(member)); });
    return slots;
  }
  SlotId received(std::int64_t elements) {
    return builder_.intermediate(DType::kFloat32, {elements});  // the receive makes it
  }
  void compute(std::uint64_t thread) {
    const SlotId made = builder_.intermediate(DType::kFloat32, {64});
    builder_.add_op(replayer::testing::kRelu, {ref(operand())}, {ref(made)}).thread = thread;
    elsewhere_ += thread == kMainThread ? -1 : 1;
  }
  SlotId operand() {
    if (!operand_) {
      operand_ = builder_.external(DType::kFloat32, {64}, constant(1));
    }
    return *operand_;
  }
  void expect(SlotId slot, std::vector<double> parts) {
    expected_.push_back({slot, std::move(parts)});
  }
  void expect_later(SlotId slot, std::int64_t elements, double value) {
    kept_.emplace_back(slot, elements, value);
  }

  /// Sets the times: operators follow one another on each thread, and threads run beside each
  /// other.
  void add_times() {
    std::map<std::uint64_t, std::int64_t> ends;
    for (Instruction& instruction : builder_.program().instructions) {
      if (instruction.kind != InstructionKind::kOp) {
        continue;
      }
      std::int64_t& end = ends[instruction.thread];
      instruction.timing.emplace();
      instruction.timing->start_ns = end;
      instruction.timing->host_ns = kOperatorNs;
      end += kOperatorNs;
    }
    builder_.program().profile.emplace();
    builder_.program().profile->step_ns =
        std::max_element(ends.begin(), ends.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->second;
  }

  int rank_;
  std::mt19937& random_;
  ProgramBuilder builder_;
  std::map<std::size_t, Tensors> tensors_;  ///< by meeting
  std::map<std::pair<GroupId, bool>, std::int64_t> numbers_;
  std::vector<std::tuple<SlotId, std::int64_t, double>> kept_;
  std::vector<ExpectedTensor> expected_;
  std::optional<SlotId> operand_;
  int elsewhere_ = 0;  ///< number of computations of the other thread beyond those of the main one
  std::uint64_t communications_ = 0;
};

class JobMaker {
 public:
  JobMaker(unsigned seed, int ranks) : random_(seed), ranks_(ranks) {}

  RandomJob make() {
    make_groups();
    for (int i = below(8) + 8; i > 0; --i) {
      meetings_.push_back(make_meeting());
    }
    for (std::size_t id = 0; id < meetings_.size(); ++id) {
      is_async_.push_back(meetings_[id].kind != CommKind::kBarrier && below(5) != 0);
    }
    RandomJob job;
    job.bench.groups = groups_;
    for (int rank = 0; rank < ranks_; ++rank) {
      ProgramWriter writer(rank, random_);
      for (const Event& event : events_of(rank)) {
        if (event.is_wait) {
          writer.wait(event.meeting);
        } else {
          writer.start(meetings_[event.meeting], event.meeting, is_async_[event.meeting]);
        }
        if (below(3) == 0) {
          writer.compute_somewhere();
        }
      }
      job.bench.programs.push_back(writer.finish());
      job.expected.push_back(writer.expected());
      job.communications.push_back(writer.communications());
    }
    return job;
  }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }

  void make_groups() {
    std::vector<std::int64_t> world(static_cast<std::size_t>(ranks_));
    std::iota(world.begin(), world.end(), 0);
    groups_.push_back({"world", "", "", world, ranks_});
    groups_.push_back({"twin", "", "", world, ranks_});
    groups_.push_back({"another twin", "", "", world, ranks_});
    for (int i = 0; i < 4; ++i) {
      std::vector<std::int64_t> members = world;
      std::shuffle(members.begin(), members.end(), random_);
      members.resize(static_cast<std::size_t>(1 + below(ranks_)));
      const auto size = static_cast<std::int64_t>(members.size());
      groups_.push_back({"group " + std::to_string(i), "", "", std::move(members), size});
    }
  }

  Meeting make_meeting() {
    // Some kinds are more frequent, as in real jobs.
    constexpr std::array kKinds = {
        CommKind::kAllReduce, CommKind::kBroadcast,     CommKind::kAllGatherBase,
        CommKind::kBarrier,   CommKind::kReduceScatter, CommKind::kReduceScatterBase,
        CommKind::kSend,      CommKind::kSend,          CommKind::kSend,
        CommKind::kAllReduce, CommKind::kAllGather,     CommKind::kAllToAll,
        CommKind::kAllToAll,  CommKind::kReduce,        CommKind::kGather,
        CommKind::kScatter};
    Meeting meeting;
    meeting.group = static_cast<GroupId>(below(static_cast<int>(groups_.size())));
    for (const std::int64_t rank : groups_[meeting.group].ranks) {
      meeting.members.push_back(static_cast<int>(rank));
    }
    const auto size = static_cast<int>(meeting.members.size());
    meeting.kind = kKinds[static_cast<std::size_t>(below(static_cast<int>(kKinds.size())))];
    if (meeting.kind == CommKind::kSend && size == 1) {
      meeting.kind = CommKind::kAllReduce;
    }
    meeting.root = static_cast<std::size_t>(below(size));
    meeting.to = (meeting.root + 1 + static_cast<std::size_t>(below(std::max(1, size - 1)))) %
                 static_cast<std::size_t>(size);
    // Some are large, others so small that they are sent at once.
    meeting.elements = below(3) == 0 ? 50'000 + below(1000) : 1 + below(100);
    return meeting;
  }

  [[nodiscard]] bool has_part(int rank, const Meeting& meeting) const {
    if (meeting.kind == CommKind::kSend) {
      return rank == meeting.members[meeting.root] || rank == meeting.members[meeting.to];
    }
    return std::find(meeting.members.begin(), meeting.members.end(), rank) != meeting.members.end();
  }

  /// What keeps its order on a rank: the collectives of a group, or the messages of a pair of
  /// ranks.
  [[nodiscard]] std::tuple<GroupId, bool, std::size_t, std::size_t> line_of(std::size_t id) const {
    const Meeting& meeting = meetings_[id];
    const bool is_message = meeting.kind == CommKind::kSend;
    return {meeting.group, is_message, is_message ? meeting.root : 0, is_message ? meeting.to : 0};
  }

  std::vector<Event> events_of(int rank) {
    std::vector<std::vector<std::size_t>> due(meetings_.size());  // waits, by the time they come
    std::vector<Event> events;
    std::vector<std::size_t> segment;
    const auto close = [&] {
      for (const std::size_t id : shuffled(segment)) {
        events.push_back({id, false});
      }
      segment.clear();
    };
    for (std::size_t time = 0; time < meetings_.size(); ++time) {
      if (has_part(rank, meetings_[time])) {
        if (is_async_[time]) {
          segment.push_back(time);
          const std::size_t end = time + 1 + static_cast<std::size_t>(below(6));
          if (end < meetings_.size()) {
            due[end].push_back(time);
          }
        } else {
          close();
          events.push_back({time, false});
        }
      }
      if (!due[time].empty()) {
        close();
      }
      for (const std::size_t id : due[time]) {
        events.push_back({id, true});
      }
    }
    close();
    return events;
  }

  /// Shuffles, but keeps the order within each line.
  std::vector<std::size_t> shuffled(std::vector<std::size_t> ids) {
    const std::vector<std::size_t> sorted = ids;
    std::shuffle(ids.begin(), ids.end(), random_);
    std::map<std::tuple<GroupId, bool, std::size_t, std::size_t>, std::vector<std::size_t>> lines;
    for (auto id = sorted.rbegin(); id != sorted.rend(); ++id) {
      lines[line_of(*id)].push_back(*id);
    }
    for (std::size_t& id : ids) {
      std::vector<std::size_t>& line = lines[line_of(id)];
      id = line.back();
      line.pop_back();
    }
    return ids;
  }

  std::mt19937 random_;
  int ranks_;
  std::vector<et_schema::ProcessGroup> groups_;
  std::vector<Meeting> meetings_;  ///< in the job's order, which is that of time
  std::vector<bool> is_async_;
};

}  // namespace

RandomJob random_job(unsigned seed, int ranks) {
  return JobMaker(seed, ranks).make();
}

}  // namespace understudy::tests
