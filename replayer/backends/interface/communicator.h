#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"

namespace understudy::backends {

/// Contiguous memory that a collective reads or writes, of a kind that the communicator accepts.
struct Buffer {
  void* data = nullptr;
  std::int64_t count = 0;  ///< elements
  et_schema::DType dtype = et_schema::DType::kUndefined;
};

using et_schema::ReduceOp;

using GroupId = std::uint32_t;

/// Selects the connection of a send or receive in device memory, as ProcessGroupNCCL does. Calls on
/// one connection run in their order of issue. Ignored in host memory.
enum class MessagePath : std::uint8_t {
  kDirection,  ///< messages of the same direction: both ranks may send before they receive
  kPair,       ///< messages between the same two ranks
  kBatch       ///< the group's collectives; the calls of one batch are issued together
};

/// One communication as a backend runs it. All buffers of a call have one dtype. With n ranks in
/// the group, inputs and outputs by kind:
/// - all_reduce, broadcast, reduce: outputs[i] has the size of inputs[i] and mostly the same memory
///   (in place). If the memory differs, the input is copied to the output first. Several buffers
///   are one coalesced call. `reduce` leaves outputs unchanged except on the root;
/// - send: inputs, in order; recv: outputs, in order;
/// - all_gather: inputs[i] → outputs[i·n …], one a rank, which may be of different sizes;
///   all_gather_base: inputs[i] → outputs[i] of n equal parts;
/// - reduce_scatter: inputs[i·n …], one a rank → outputs[i]; reduce_scatter_base: inputs[i] of n
///   equal parts → outputs[i];
/// - gather: inputs[0] → n outputs, on the root only; scatter: n inputs, on the root only →
///   outputs[0];
/// - all_to_all: n buffers each way, or one buffer of n equal parts each way;
/// - all_to_allv: one buffer each way; splits in elements, one a rank;
/// - barrier: no buffers.
/// For bool, sum and maximum are "or", product and minimum are "and". Averages of integers are
/// truncated. float8 and quantised types can be moved, but not reduced.
struct Call {
  et_schema::CommKind kind = et_schema::CommKind::kBarrier;
  GroupId group = 0;
  int root_or_peer = 0;  ///< rank in the group
  ReduceOp op = ReduceOp::kSum;
  double factor = 1;  ///< scales sums of floating-point numbers (et_schema::Reduction::factor)
  std::vector<Buffer> inputs = {};
  std::vector<Buffer> outputs = {};
  std::vector<std::int64_t> in_splits = {};    ///< elements
  std::vector<std::int64_t> out_splits = {};   ///< elements
  int tag = 0;                                 ///< send and recv only
  MessagePath path = MessagePath::kDirection;  ///< send and recv only; kBatch for any in a batch
  /// Location of all buffers: on the host, or on the device of this rank (kCuda).
  et_schema::DeviceType memory = et_schema::DeviceType::kCpu;
  /// Duration of a call in which no other rank takes part. It begins after the earlier calls of its
  /// group. Backends of several ranks ignore it.
  std::chrono::nanoseconds lasts{0};
};

/// Time at which a transfer ended, possibly long before wait(). Empty if unknown.
using Ended = std::optional<std::chrono::steady_clock::time_point>;

/// A started communication. Communicator::wait must complete it exactly once.
class Work {
 public:
  virtual ~Work() = default;
};

/// Moves tensors between the ranks of a job. All calls but interrupt() must come from one thread.
/// Calls of one group run in their order of issue. Calls of different groups, and sends and
/// receives, do not wait for each other, so ranks may issue them in different orders.
///
/// The ranks' calls must match, which understudy_matching checks before a run. A size that differs
/// is reported when it is detected. Before that, a message larger than its buffer may already be
/// written in full (Open MPI 4.1.4 does so if processes copy from each other).
///
/// Failures throw et_schema::Error: a group or buffer that does not fit the call, an error of the
/// transport (with its text), a rank that died, a call whose other ranks made no progress within
/// the time limit (names who waits for whom). After a failure the job cannot continue: see
/// Job::abort().
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Returns true if the communicator can run this call with its buffers where they are. Every
  /// communicator accepts valid calls in host memory.
  [[nodiscard]] virtual bool takes(const Call& call) const {
    return call.memory == et_schema::DeviceType::kCpu;
  }

  /// Opens the connections that these calls need. Every rank of the world must call it with the
  /// calls that it will start, before it starts any call in device memory.
  virtual void prepare(std::span<const Call> calls) { static_cast<void>(calls); }

  /// Makes a communicator. Every rank of the world must call it with the same arguments in the same
  /// order. `ranks` are world ranks in group order; empty: the whole world. A rank outside of the
  /// group receives an id that it must not use. Group 0, the world, always exists.
  [[nodiscard]] virtual GroupId make_group(const std::string& name, std::span<const int> ranks) = 0;

  /// Starts a call; its buffers must live until wait() has returned. In device memory the call runs
  /// after the current work of its stream, and wait() makes that stream wait, not the host.
  [[nodiscard]] virtual std::unique_ptr<Work> start(const Call& call) = 0;
  /// Starts calls of one group that may wait for each other in any order. Their paths must be
  /// kBatch.
  [[nodiscard]] virtual std::vector<std::unique_ptr<Work>> start_batch(
      std::span<const Call* const> calls) {
    std::vector<std::unique_ptr<Work>> works;
    for (const Call* const call : calls) {
      works.push_back(start(*call));
    }
    return works;
  }
  virtual Ended wait(std::unique_ptr<Work> work) = 0;
  /// Does start() and wait(), without the cost of handing the call to another thread.
  virtual void run(const Call& call) { wait(start(call)); }

  /// Makes calls in progress and all later ones throw. May be called from any thread.
  virtual void interrupt() {}
};

}  // namespace understudy::backends
