#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "replayer/backends/interface/communicator.h"
#include "replayer/cuda/driver.h"

namespace understudy::backends {

using et_schema::StatusFunction;
using replayer::CudaContext;
using replayer::CudaDriver;
using replayer::CudaEvent;
using replayer::CudaStream;

using NcclComm = struct ncclComm*;

constexpr std::size_t kNcclIdBytes = 128;
/// The id by which ranks find each other: one rank makes it, all receive its bytes. The layout is
/// that of ncclUniqueId, which NCCL's functions receive by value.
struct NcclId {
  std::array<char, kNcclIdBytes> bytes{};
};

/// Settings of a new communicator. The layout is that of ncclConfig_t in 2.14, which later versions
/// accept.
struct NcclConfig {
  static constexpr unsigned kMagic = 0xcafebeef;
  static constexpr unsigned kVersion = 21400;
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = kMagic;
  unsigned version = kVersion;
  int blocking = 0;
};

/// NCCL's numbers for dtypes and reductions.
enum class NcclDType : int {
  kInt8 = 0,
  kUInt8 = 1,
  kInt32 = 2,
  kUInt32 = 3,
  kInt64 = 4,
  kUInt64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBFloat16 = 9
};
enum class NcclOp : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3, kAvg = 4 };

/// A reduction in NCCL's terms: a complex number is two elements, a bool is a byte.
struct NcclReduction {
  NcclDType dtype = NcclDType::kUInt8;
  NcclOp op = NcclOp::kSum;
  std::size_t elements_of_one = 1;
  double factor = 1;  ///< of a sum; needs an operator that belongs to the communicator
  bool operator==(const NcclReduction&) const = default;
};

/// Returns nothing if NCCL has no such reduction: 16-bit integers, bitwise operations, a dtype that
/// can only be moved, premultiplied float16 (which no framework uses).
[[nodiscard]] std::optional<NcclReduction> nccl_reduction(et_schema::DType dtype, ReduceOp op,
                                                          double factor = 1);

/// NCCL, resolved at run time: the library that the variable UNDERSTUDY_NCCL names, else the one
/// that LibTorch has loaded, else the system's. The build does not need NCCL. Functions and numbers
/// are those of nccl.h, 2.14 or later; a test compares them.
class NcclLibrary {
 public:
  /// Throws Error (usage) if there is no NCCL, or it lacks a needed function.
  NcclLibrary();

  /// "2.28.9"
  [[nodiscard]] std::string version() const;
  [[nodiscard]] NcclId make_id() const;
  // Communicators do not block: a begun operation, and the first call of each kind, stays in
  // progress for a while. Until it is done, nothing else may be called on the communicator.
  /// Begins to connect to the other ranks of `size`.
  [[nodiscard]] NcclComm begin_comm(const NcclId& id, int size, int rank) const;
  /// Returns true if NCCL can split communicators (2.18 or later).
  [[nodiscard]] bool can_split() const { return split_ != nullptr; }
  /// Begins to split `parent`; all its ranks must call it. The ranks of one `color` form a
  /// communicator, ordered by `key`. `made` is set once the parent is no longer in progress.
  void begin_split(NcclComm parent, int color, int key, NcclComm& made) const;
  /// Takes part in the split of `parent` without joining a new communicator.
  void leave_split(NcclComm parent) const;
  [[nodiscard]] bool is_in_progress(NcclComm comm) const;
  /// Registers a buffer, so that NCCL can avoid copies. Throws Error (failed), also if NCCL is
  /// older than 2.19.
  [[nodiscard]] void* register_buffer(NcclComm comm, void* data, std::size_t bytes) const;
  void deregister_buffer(NcclComm comm, void* handle) const;
  /// Begins to end a communicator that has no work in progress.
  void finalize(NcclComm comm) const;
  void destroy(NcclComm comm) const noexcept;
  /// Makes the operator that sums elements times `how.factor`; it lives as long as `comm`.
  [[nodiscard]] NcclOp make_premultiplied_sum(const NcclReduction& how, NcclComm comm) const;
  /// Aborts the communicators' work and frees them, all together: NCCL waits for the device to free
  /// one, and the device may be blocked in another. May be called from any thread, but not
  /// concurrently with another call.
  void abort(std::span<const NcclComm> comms) const noexcept;
  /// Returns the communicator's asynchronous error; empty if none.
  [[nodiscard]] std::string failure_of(NcclComm comm) const;

  // `count` is in elements. The calls return when they are enqueued on the stream. They throw Error
  // (failed).
  void group_start() const;
  void group_end() const;
  void all_reduce(const void* from, void* to, std::size_t count, const NcclReduction& how,
                  NcclComm comm, CudaStream stream) const;
  void reduce(const void* from, void* to, std::size_t count, const NcclReduction& how, int root,
              NcclComm comm, CudaStream stream) const;
  void reduce_scatter(const void* from, void* to, std::size_t count, const NcclReduction& how,
                      NcclComm comm, CudaStream stream) const;
  void broadcast(const void* from, void* to, std::size_t bytes, int root, NcclComm comm,
                 CudaStream stream) const;
  void all_gather(const void* from, void* to, std::size_t bytes, NcclComm comm,
                  CudaStream stream) const;
  void send(const void* from, std::size_t bytes, int peer, NcclComm comm, CudaStream stream) const;
  void receive(void* to, std::size_t bytes, int peer, NcclComm comm, CudaStream stream) const;

 private:
  using Status = int;

  static constexpr int kNoColor = -1;  // NCCL_SPLIT_NOCOLOR

  void check(Status status, const char* function) const;
  template <typename... Parameters, typename... Arguments>
  void run(const StatusFunction<Parameters...>& function, Arguments... arguments) const {
    check(function(arguments...), function.name);
  }

  et_schema::SharedLibrary library_;  // must precede the functions, which are found in it
  const char* (*error_text_)(Status) = nullptr;
  const char* (*last_error_)(NcclComm) = nullptr;
  StatusFunction<int*> get_version_{library_, "ncclGetVersion"};
  StatusFunction<NcclId*> get_id_{library_, "ncclGetUniqueId"};
  StatusFunction<NcclComm*, int, NcclId, int, NcclConfig*> init_rank_{library_,
                                                                      "ncclCommInitRankConfig"};
  // From versions after 2.14; null if NCCL lacks them.
  Status (*split_)(NcclComm, int, int, NcclComm*, NcclConfig*) = nullptr;
  Status (*register_)(NcclComm, void*, std::size_t, void**) = nullptr;
  Status (*deregister_)(NcclComm, void*) = nullptr;
  StatusFunction<NcclComm> finalize_{library_, "ncclCommFinalize"};
  StatusFunction<NcclComm> destroy_{library_, "ncclCommDestroy"};
  StatusFunction<NcclComm> abort_{library_, "ncclCommAbort"};
  StatusFunction<NcclComm, Status*> async_error_{library_, "ncclCommGetAsyncError"};
  StatusFunction<int*, void*, int, int, NcclComm> premultiplied_sum_{library_,
                                                                     "ncclRedOpCreatePreMulSum"};
  StatusFunction<> group_start_{library_, "ncclGroupStart"};
  StatusFunction<> group_end_{library_, "ncclGroupEnd"};
  StatusFunction<const void*, void*, std::size_t, int, int, NcclComm, CudaStream> all_reduce_{
      library_, "ncclAllReduce"};
  StatusFunction<const void*, void*, std::size_t, int, int, int, NcclComm, CudaStream> reduce_{
      library_, "ncclReduce"};
  StatusFunction<const void*, void*, std::size_t, int, int, NcclComm, CudaStream> reduce_scatter_{
      library_, "ncclReduceScatter"};
  StatusFunction<const void*, void*, std::size_t, int, int, NcclComm, CudaStream> broadcast_{
      library_, "ncclBroadcast"};
  StatusFunction<const void*, void*, std::size_t, int, NcclComm, CudaStream> all_gather_{
      library_, "ncclAllGather"};
  StatusFunction<const void*, std::size_t, int, int, NcclComm, CudaStream> send_{library_,
                                                                                 "ncclSend"};
  StatusFunction<void*, std::size_t, int, int, NcclComm, CudaStream> receive_{library_, "ncclRecv"};
};

}  // namespace understudy::backends
