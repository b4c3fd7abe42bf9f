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

/// Contiguous memory that a collective reads or writes, of a kind that the communicator takes.
struct Buffer {
  void* data = nullptr;
  std::int64_t count = 0;  ///< elements
  et_schema::DType dtype = et_schema::DType::kUndefined;
};

using et_schema::ReduceOp;

using GroupId = std::uint32_t;

/// What a send or receive shares a connection with, where that decides on the order: as
/// ProcessGroupNCCL does it. Host memory needs to know of none.
enum class MessagePath : std::uint8_t {
  kDirection,  ///< with those from this rank to that: both may send before they receive
  kPair,       ///< with those between the two
  kBatch       ///< with the group's collectives; what one batch holds goes together
};

/// One communication as a backend runs it. All buffers of a call have one dtype. With n ranks in
/// the group, inputs and outputs by kind:
/// - all_reduce, broadcast, reduce: outputs[i] of the same size as inputs[i], mostly the same
/// memory
///   (in place); several are one coalesced call. If they differ the input is copied to the output
///   first. `reduce` leaves the outputs of other ranks than the root as they are;
/// - send: inputs, in order; recv: outputs, in order;
/// - all_gather: inputs[i] → outputs[i·n …], one a rank, which may be of different sizes;
///   all_gather_base: inputs[i] → outputs[i] of n equal parts;
/// - reduce_scatter: inputs[i·n …], one a rank → outputs[i]; reduce_scatter_base: inputs[i] of n
///   equal parts → outputs[i];
/// - gather: inputs[0] → n outputs, on the root only; scatter: n inputs, on the root only →
///   outputs[0];
/// - all_to_all: n buffers each way, or one buffer of n equal parts each way;
/// - all_to_allv: one buffer each way; splits in elements, one a rank;
/// - barrier: none.
/// Sum, product, minimum and maximum of bool are or, and, and, or. Averages of integers are
/// truncated. float8 and quantised types are moved, never reduced.
struct Call {
  et_schema::CommKind kind = et_schema::CommKind::kBarrier;
  GroupId group = 0;
  int root_or_peer = 0;  ///< rank in the group
  ReduceOp op = ReduceOp::kSum;
  double factor = 1;  ///< of a sum of floating-point numbers: et_schema::Reduction::factor
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  std::vector<std::int64_t> in_splits;         ///< elements
  std::vector<std::int64_t> out_splits;        ///< elements
  int tag = 0;                                 ///< of send and recv
  MessagePath path = MessagePath::kDirection;  ///< of send and recv; kBatch of any in a batch
  /// Where all of its buffers lie: on the host, or on the device of this rank (kCuda).
  et_schema::DeviceType memory = et_schema::DeviceType::kCpu;
  /// Where no other rank takes part: how long it is to take, behind those of its group that were
  /// issued before. Others leave it alone.
  std::chrono::nanoseconds lasts{0};
};

/// When a transfer ended, which may be long before anybody asked; none: it cannot be told.
using Ended = std::optional<std::chrono::steady_clock::time_point>;

/// A started communication; complete it with Communicator::wait exactly once.
class Work {
 public:
  virtual ~Work() = default;
};

/// Moves tensors between the ranks of a job. One thread calls it. Calls of one group run in their
/// order of issue; calls of different groups, and sends and receives, do not wait for each other,
/// so that ranks may issue them in different orders.
///
/// The ranks' calls must fit each other, which understudy_matching makes sure of before a run. A
/// size that differs is reported when it is seen, but a message that is larger than its buffer may
/// be written whole before that (Open MPI 4.1.4 does so where processes copy from each other).
///
/// Failures throw et_schema::Error: a group or buffer that does not fit the call, the transport's
/// own errors with its text, a rank that died, a call whose other ranks made no progress within the
/// time limit (who waits for whom). After a failure the job cannot go on: see Job::abort().
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Whether it runs this call with its buffers where they lie. Every communicator takes what
  /// fits its kind in host memory.
  [[nodiscard]] virtual bool takes(const Call& call) const {
    return call.memory == et_schema::DeviceType::kCpu;
  }

  /// Makes the connections that these calls need. Every rank of the world calls it with the calls
  /// that it will start, before it starts any in memory of a device.
  virtual void prepare(std::span<const Call> calls) { static_cast<void>(calls); }

  /// Makes a communicator; every rank of the world calls it with the same arguments in the same
  /// order. `ranks` are world ranks in group order; none: the whole world. A rank outside of the
  /// group gets an id it must not use. Group 0, the world, is there from the start.
  [[nodiscard]] virtual GroupId make_group(const std::string& name, std::span<const int> ranks) = 0;

  /// Starts a call; its buffers must live until wait() returned. In a device's memory it runs
  /// behind what its stream holds so far, and wait() makes that stream wait, not the host.
  [[nodiscard]] virtual std::unique_ptr<Work> start(const Call& call) = 0;
  /// Starts calls of one group that wait for each other in any order; their paths are kBatch.
  [[nodiscard]] virtual std::vector<std::unique_ptr<Work>> start_batch(
      std::span<const Call* const> calls) {
    std::vector<std::unique_ptr<Work>> works;
    for (const Call* const call : calls) {
      works.push_back(start(*call));
    }
    return works;
  }
  virtual Ended wait(std::unique_ptr<Work> work) = 0;
  /// start() and wait() in one, without the cost of handing the call to another thread.
  virtual void run(const Call& call) { wait(start(call)); }

  /// Calls under way throw, and so do those that come. Any thread may call it.
  virtual void interrupt() {}
};

}  // namespace understudy::backends
