#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/dtype.h"

namespace understudy::backends {

/// Version of this interface: a module of another version is refused when it is loaded.
inline constexpr int kBackendVersion = 2;

/// Contiguous memory that a collective reads or writes. Host memory for `single` and `mpi`.
struct Buffer {
  void* data = nullptr;
  std::int64_t count = 0;  ///< elements
  et_schema::DType dtype = et_schema::DType::kUndefined;
};

enum class ReduceOp : std::uint8_t { kSum, kAvg, kProduct, kMin, kMax, kBand, kBor, kBxor };

using GroupId = std::uint32_t;

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
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  std::vector<std::int64_t> in_splits;   ///< elements
  std::vector<std::int64_t> out_splits;  ///< elements
  int tag = 0;                           ///< of send and recv
};

/// A started communication; complete it with Backend::wait exactly once.
class Work {
 public:
  virtual ~Work() = default;
};

/// Runs communication between the ranks of a job. One thread calls it. Calls of one group run in
/// their order of issue; calls of different groups, and sends and receives, do not wait for each
/// other, so that ranks may issue them in different orders.
///
/// The ranks' calls must fit each other, which understudy_matching makes sure of before a run. A
/// size that differs is reported when it is seen, but a message that is larger than its buffer may
/// be written whole before that (Open MPI 4.1.4 does so where processes copy from each other).
///
/// Failures throw et_schema::Error: a group or buffer that does not fit the call, the transport's
/// own errors with its text, a rank that died, a call whose other ranks did not get on within the
/// time limit (who waits for whom). After one the job cannot go on: print it and call abort(), or
/// end the process with a status that is not 0. Destroying a backend ends this rank's part of the
/// job, and waits for the other ranks to do the same unless a call has failed or an exception is
/// under way.
class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string name() const = 0;     ///< "single", "mpi"
  [[nodiscard]] virtual std::string version() const = 0;  ///< the library's own version text
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  [[nodiscard]] virtual std::string host() const = 0;

  /// Makes a communicator; every rank of the world calls it with the same arguments in the same
  /// order. `ranks` are world ranks in group order; none: the whole world. A rank outside of the
  /// group gets an id it must not use. Group 0, the world, is there from the start.
  [[nodiscard]] virtual GroupId make_group(const std::string& name, std::span<const int> ranks) = 0;

  /// Starts a call; its buffers must live until wait() returned.
  [[nodiscard]] virtual std::unique_ptr<Work> start(const Call& call) = 0;
  virtual void wait(std::unique_ptr<Work> work) = 0;
  /// start() and wait() in one, without the cost of handing the call to another thread.
  virtual void run(const Call& call) { wait(start(call)); }

  /// Every rank's text on every rank, in order of rank. For matching programs and merging reports,
  /// not timed.
  [[nodiscard]] virtual std::vector<std::string> all_gather_text(const std::string& text) = 0;
  virtual void barrier() = 0;

  /// From now on: how many seconds a rank that another waits for may take without getting on.
  virtual void set_time_limit(double seconds) { static_cast<void>(seconds); }
  /// This rank gets on, though it may start no call for long.
  virtual void note_progress() {}
  /// Calls under way throw, and so do those that come. Any thread may call it.
  virtual void interrupt() {}

  /// Ends the job on all ranks at once with this exit status; does not return. Call after the error
  /// was printed.
  [[noreturn]] virtual void abort(int status) = 0;
};

struct BackendOptions {
  double time_limit_s = 300;  ///< set_time_limit(), from the start on
  int rank = 0;               ///< of `single`: the rank of the benchmark that this process plays
  int world_size = 1;         ///< of `single`: the ranks of the benchmark
};

/// What a module exports with C linkage under the names below.
using BackendVersionFn = int (*)();
using MakeBackendFn = Backend* (*)(const BackendOptions&);
inline constexpr const char* kBackendVersionSymbol = "understudy_backend_version";
inline constexpr const char* kMakeBackendSymbol = "understudy_make_backend";

/// The backend that needs nothing: one rank, in this process, everything complete at once. It takes
/// any group; in it this process is the group's first rank, or `options.rank` where the group has
/// that world rank. Calls of a group of one are exact. Of a larger group (one rank of a larger
/// benchmark, alone) it moves the bytes of this rank's part through local memory, and outputs get
/// values of this rank's own input, so that indices and lengths stay valid:
/// - all_reduce, broadcast, reduce: the input, as if it were the result;
/// - all_gather, gather on the root: the input in each rank's part; scatter on the root,
///   reduce_scatter: this rank's part of the input;
/// - all_to_all: input i in output i; all_to_allv: the input, repeated or cut to the output's size;
/// - recv, scatter elsewhere: zeros; send, gather elsewhere: the input is read.
[[nodiscard]] std::unique_ptr<Backend> make_single_backend(const BackendOptions& options);

/// Loads backend module `name` ("mpi") from `directory`; it stays loaded until the process ends.
/// Throws Error (usage) if it is not there, a library it needs is missing (what is missing and how
/// to get it), or it is of another version of this interface.
[[nodiscard]] std::unique_ptr<Backend> load_backend(const std::string& name,
                                                    const std::string& directory,
                                                    const BackendOptions& options);

}  // namespace understudy::backends
