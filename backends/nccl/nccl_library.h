#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "backends/communicator.h"
#include "cuda_driver.h"

namespace understudy::backends {

using NcclComm = struct ncclComm*;

constexpr std::size_t kNcclIdBytes = 128;
/// What ranks find each other by: one makes it, all get its bytes. Laid out as ncclUniqueId, which
/// NCCL's functions take by value.
struct NcclId {
  std::array<char, kNcclIdBytes> bytes{};
};

/// How a communicator is made: laid out as ncclConfig_t was in 2.14, which later versions take.
struct NcclConfig {
  static constexpr unsigned kMagic = 0xcafebeef;
  static constexpr unsigned kVersion = 21400;
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = kMagic;
  unsigned version = kVersion;
  int blocking = 0;
};

/// NCCL's numbers of dtypes and reductions.
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

/// A reduction as NCCL does it: complex numbers are two elements each, bool is a byte.
struct NcclReduction {
  NcclDType dtype = NcclDType::kUInt8;
  NcclOp op = NcclOp::kSum;
  std::size_t elements_of_one = 1;
  double factor = 1;  ///< of a sum: it needs an operator of the communicator's own
  bool operator==(const NcclReduction&) const = default;
};

/// None where NCCL has no such reduction: of 16-bit integers, by bits, of a dtype that is only
/// moved; nor is there one for premultiplied float16, which no framework asks for.
[[nodiscard]] std::optional<NcclReduction> nccl_reduction(et_schema::DType dtype, ReduceOp op,
                                                          double factor = 1);

/// NCCL, found at run time: what the variable UNDERSTUDY_NCCL names, else the one that LibTorch has
/// loaded, else the system's. Nothing of it is needed to build. The functions and numbers are those
/// of nccl.h, which a test holds them against: of 2.14 at least.
class NcclLibrary {
 public:
  /// Throws Error (usage) where there is none, or one without a function that is needed.
  NcclLibrary();

  /// "2.28.9"
  [[nodiscard]] std::string version() const;
  [[nodiscard]] NcclId make_id() const;
  // Communicators do not block: what begins, and the first call of each kind, is in progress for a
  // while, in which nothing else may be called on the communicator.
  /// Begins to meet the other ranks of `size`.
  [[nodiscard]] NcclComm begin_comm(const NcclId& id, int size, int rank) const;
  /// Whether NCCL can make communicators of a part of another one's ranks.
  [[nodiscard]] bool can_split() const { return split_ != nullptr; }
  /// All ranks of `parent` call it: those of one `color` become a communicator, ordered by `key`.
  /// `made` has it once the parent is in progress no more.
  void begin_split(NcclComm parent, int color, int key, NcclComm& made) const;
  /// The same for a rank that joins none of them.
  void leave_split(NcclComm parent) const;
  [[nodiscard]] bool is_in_progress(NcclComm comm) const;
  /// What NCCL knows of can go without copies. Throws Error (failed), also where it is older than
  /// 2.19.
  [[nodiscard]] void* register_buffer(NcclComm comm, void* data, std::size_t bytes) const;
  void deregister_buffer(NcclComm comm, void* handle) const;
  /// Begins to end a communicator that has no work under way.
  void finalize(NcclComm comm) const;
  void destroy(NcclComm comm) const noexcept;
  /// The operator that sums elements times `how.factor`; it lives as long as `comm`.
  [[nodiscard]] NcclOp make_premultiplied_sum(const NcclReduction& how, NcclComm comm) const;
  /// Ends what they have under way and frees them, all together: to free one NCCL waits for the
  /// device, which may stand still in another one. From any thread, but not beside another call.
  void abort(std::span<const NcclComm> comms) const noexcept;
  /// What went wrong since; empty: nothing.
  [[nodiscard]] std::string failure_of(NcclComm comm) const;

  // Counts are elements; the calls return when the stream has them. They throw Error (failed).
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

  Status (*get_version_)(int*) = nullptr;
  const char* (*error_text_)(Status) = nullptr;
  const char* (*last_error_)(NcclComm) = nullptr;
  Status (*get_id_)(NcclId*) = nullptr;
  Status (*init_rank_)(NcclComm*, int, NcclId, int, NcclConfig*) = nullptr;
  Status (*split_)(NcclComm, int, int, NcclComm*, NcclConfig*) = nullptr;
  Status (*register_)(NcclComm, void*, std::size_t, void**) = nullptr;
  Status (*deregister_)(NcclComm, void*) = nullptr;
  Status (*finalize_)(NcclComm) = nullptr;
  Status (*destroy_)(NcclComm) = nullptr;
  Status (*abort_)(NcclComm) = nullptr;
  Status (*async_error_)(NcclComm, Status*) = nullptr;
  Status (*premultiplied_sum_)(int*, void*, int, int, NcclComm) = nullptr;
  Status (*group_start_)() = nullptr;
  Status (*group_end_)() = nullptr;
  Status (*all_reduce_)(const void*, void*, std::size_t, int, int, NcclComm, CudaStream) = nullptr;
  Status (*reduce_)(const void*, void*, std::size_t, int, int, int, NcclComm, CudaStream) = nullptr;
  Status (*reduce_scatter_)(const void*, void*, std::size_t, int, int, NcclComm,
                            CudaStream) = nullptr;
  Status (*broadcast_)(const void*, void*, std::size_t, int, int, NcclComm, CudaStream) = nullptr;
  Status (*all_gather_)(const void*, void*, std::size_t, int, NcclComm, CudaStream) = nullptr;
  Status (*send_)(const void*, std::size_t, int, int, NcclComm, CudaStream) = nullptr;
  Status (*receive_)(void*, std::size_t, int, int, NcclComm, CudaStream) = nullptr;
};

}  // namespace understudy::backends
