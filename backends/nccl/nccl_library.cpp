#include "nccl_library.h"

#include <fmt/format.h>

#include <cstdlib>
#include <type_traits>

#include "backends/half.h"
#include "cannot_use.h"
#include "et_schema/support/error.h"

namespace understudy::backends {
namespace {

using et_schema::DType;

constexpr const char* kNcclLibrary = "libnccl.so.2";
constexpr int kNcclSuccess = 0;
constexpr int kInProgress = 7;

/// LibTorch may bring NCCL as a library beside its own, or within.
et_schema::SharedLibrary open_library() {
  const auto refusal = cannot_use("NCCL",
                                  "A torch wheel of CUDA brings NCCL; the variable UNDERSTUDY_NCCL "
                                  "names another libnccl.so.");
  const char* const named = std::getenv("UNDERSTUDY_NCCL");
  if (named != nullptr && *named != '\0') {
    // Its own functions come first for it: LibTorch's are known to the whole process.
    return {named, RTLD_LOCAL | RTLD_DEEPBIND, refusal};
  }
  if (void* const loaded = dlopen(kNcclLibrary, RTLD_NOW | RTLD_NOLOAD)) {
    return {loaded, refusal};
  }
  if (dlsym(RTLD_DEFAULT, "ncclGetVersion") != nullptr) {
    return {RTLD_DEFAULT, refusal};
  }
  return {kNcclLibrary, RTLD_LOCAL, refusal};
}

/// The dtype that elements are reduced as.
std::optional<NcclDType> reduced_as(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return NcclDType::kInt8;
    case DType::kUInt8:
    case DType::kBool:
      return NcclDType::kUInt8;
    case DType::kInt32:
      return NcclDType::kInt32;
    case DType::kUInt32:
      return NcclDType::kUInt32;
    case DType::kInt64:
      return NcclDType::kInt64;
    case DType::kUInt64:
      return NcclDType::kUInt64;
    case DType::kFloat16:
    case DType::kComplexFloat16:
      return NcclDType::kFloat16;
    case DType::kFloat32:
    case DType::kComplexFloat32:
      return NcclDType::kFloat32;
    case DType::kFloat64:
    case DType::kComplexFloat64:
      return NcclDType::kFloat64;
    case DType::kBFloat16:
      return NcclDType::kBFloat16;
    default:
      return std::nullopt;
  }
}

/// Of bytes that are 0 or 1.
std::optional<NcclOp> op_of_bools(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMax:
    case ReduceOp::kBor:
      return NcclOp::kMax;
    case ReduceOp::kProduct:
    case ReduceOp::kMin:
    case ReduceOp::kBand:
      return NcclOp::kMin;
    case ReduceOp::kAvg:
    case ReduceOp::kBxor:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<NcclOp> op_of_numbers(ReduceOp op, bool complex) {
  switch (op) {
    case ReduceOp::kSum:
      return NcclOp::kSum;
    case ReduceOp::kAvg:
      return NcclOp::kAvg;
    case ReduceOp::kProduct:
      return complex ? std::nullopt : std::optional(NcclOp::kProduct);
    case ReduceOp::kMin:
      return complex ? std::nullopt : std::optional(NcclOp::kMin);
    case ReduceOp::kMax:
      return complex ? std::nullopt : std::optional(NcclOp::kMax);
    case ReduceOp::kBand:
    case ReduceOp::kBor:
    case ReduceOp::kBxor:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<NcclReduction> nccl_reduction(DType dtype, ReduceOp op, double factor) {
  const std::optional<NcclDType> as = reduced_as(dtype);
  const bool complex = et_schema::is_complex(dtype);
  const std::optional<NcclOp> how =
      dtype == DType::kBool ? op_of_bools(op) : op_of_numbers(op, complex);
  if (!as || !how || (factor != 1 && as == NcclDType::kFloat16)) {
    return std::nullopt;
  }
  return NcclReduction{*as, *how, complex ? std::size_t{2} : std::size_t{1}, factor};
}

NcclLibrary::NcclLibrary() {
  const et_schema::SharedLibrary library = open_library();
  library.find(get_version_, "ncclGetVersion");
  library.find(error_text_, "ncclGetErrorString");
  library.find(last_error_, "ncclGetLastError");
  library.find(get_id_, "ncclGetUniqueId");
  library.find(init_rank_, "ncclCommInitRankConfig");
  split_ = library.function<std::remove_pointer_t<decltype(split_)>>("ncclCommSplit");  // of 2.18
  register_ = library.function<std::remove_pointer_t<decltype(register_)>>("ncclCommRegister");
  deregister_ =
      library.function<std::remove_pointer_t<decltype(deregister_)>>("ncclCommDeregister");
  library.find(finalize_, "ncclCommFinalize");
  library.find(destroy_, "ncclCommDestroy");
  library.find(abort_, "ncclCommAbort");
  library.find(async_error_, "ncclCommGetAsyncError");
  library.find(premultiplied_sum_, "ncclRedOpCreatePreMulSum");
  library.find(group_start_, "ncclGroupStart");
  library.find(group_end_, "ncclGroupEnd");
  library.find(all_reduce_, "ncclAllReduce");
  library.find(reduce_, "ncclReduce");
  library.find(reduce_scatter_, "ncclReduceScatter");
  library.find(broadcast_, "ncclBroadcast");
  library.find(all_gather_, "ncclAllGather");
  library.find(send_, "ncclSend");
  library.find(receive_, "ncclRecv");
}

void NcclLibrary::check(Status status, const char* function) const {
  if (status == kNcclSuccess || status == kInProgress) {
    return;
  }
  const char* const last = last_error_(nullptr);
  const bool has_more = last != nullptr && *last != '\0';
  throw et_schema::run_failed(
      "NCCL failed", {.field = function,
                      .expected = "success",
                      .got = fmt::format("{} ({}){}{}", error_text_(status), status,
                                         has_more ? ": " : "", has_more ? last : ""),
                      .hint = "NCCL_DEBUG=INFO in the environment has NCCL say what it does."});
}

std::string NcclLibrary::version() const {
  int code = 0;
  check(get_version_(&code), "ncclGetVersion");
  // Major, minor and patch in decimal digits: 2 · 2 · 2 since 2.9, 1 · 1 · 2 before.
  constexpr int kNewForm = 10000;
  const int unit = code >= kNewForm ? kNewForm : 1000;
  constexpr int kHundred = 100;
  return fmt::format("{}.{}.{}", code / unit, code % unit / kHundred, code % kHundred);
}

NcclId NcclLibrary::make_id() const {
  NcclId id;
  check(get_id_(&id), "ncclGetUniqueId");
  return id;
}

NcclComm NcclLibrary::begin_comm(const NcclId& id, int size, int rank) const {
  NcclComm comm = nullptr;
  NcclConfig config;
  check(init_rank_(&comm, size, id, rank, &config), "ncclCommInitRankConfig");
  return comm;
}

void NcclLibrary::begin_split(NcclComm parent, int color, int key, NcclComm& made) const {
  check(split_(parent, color, key, &made, nullptr), "ncclCommSplit");
}

void NcclLibrary::leave_split(NcclComm parent) const {
  NcclComm none = nullptr;
  begin_split(parent, kNoColor, 0, none);
}

bool NcclLibrary::is_in_progress(NcclComm comm) const {
  Status status = kNcclSuccess;
  check(async_error_(comm, &status), "ncclCommGetAsyncError");
  return status == kInProgress;
}

void* NcclLibrary::register_buffer(NcclComm comm, void* data, std::size_t bytes) const {
  if (register_ == nullptr || deregister_ == nullptr) {
    throw et_schema::run_failed("buffers cannot be registered",
                                {.field = "--register-buffers",
                                 .expected = "NCCL 2.19 or newer",
                                 .got = version(),
                                 .hint = "The variable UNDERSTUDY_NCCL names another libnccl.so."});
  }
  void* handle = nullptr;
  check(register_(comm, data, bytes, &handle), "ncclCommRegister");
  return handle;
}

void NcclLibrary::deregister_buffer(NcclComm comm, void* handle) const {
  check(deregister_(comm, handle), "ncclCommDeregister");
}

void NcclLibrary::finalize(NcclComm comm) const {
  check(finalize_(comm), "ncclCommFinalize");
}

void NcclLibrary::destroy(NcclComm comm) const noexcept {
  destroy_(comm);
}

NcclOp NcclLibrary::make_premultiplied_sum(const NcclReduction& how, NcclComm comm) const {
  constexpr int kHostImmediate = 1;
  // The factor in the elements' own type, which NCCL copies.
  auto single = static_cast<float>(how.factor);
  double wide = how.factor;
  std::uint16_t half = BFloat16::from_float(single);
  void* const scalar = how.dtype == NcclDType::kFloat64    ? static_cast<void*>(&wide)
                       : how.dtype == NcclDType::kBFloat16 ? static_cast<void*>(&half)
                                                           : static_cast<void*>(&single);
  int op = 0;
  check(premultiplied_sum_(&op, scalar, static_cast<int>(how.dtype), kHostImmediate, comm),
        "ncclRedOpCreatePreMulSum");
  return static_cast<NcclOp>(op);
}

void NcclLibrary::abort(std::span<const NcclComm> comms) const noexcept {
  group_start_();
  for (const NcclComm comm : comms) {
    abort_(comm);
  }
  group_end_();
}

std::string NcclLibrary::failure_of(NcclComm comm) const {
  Status status = kNcclSuccess;
  if (async_error_(comm, &status) != kNcclSuccess || status == kNcclSuccess ||
      status == kInProgress) {
    return {};
  }
  return fmt::format("{} ({})", error_text_(status), status);
}

void NcclLibrary::group_start() const {
  check(group_start_(), "ncclGroupStart");
}

void NcclLibrary::group_end() const {
  check(group_end_(), "ncclGroupEnd");
}

void NcclLibrary::all_reduce(const void* from, void* to, std::size_t count,
                             const NcclReduction& how, NcclComm comm, CudaStream stream) const {
  check(all_reduce_(from, to, count * how.elements_of_one, static_cast<int>(how.dtype),
                    static_cast<int>(how.op), comm, stream),
        "ncclAllReduce");
}

void NcclLibrary::reduce(const void* from, void* to, std::size_t count, const NcclReduction& how,
                         int root, NcclComm comm, CudaStream stream) const {
  check(reduce_(from, to, count * how.elements_of_one, static_cast<int>(how.dtype),
                static_cast<int>(how.op), root, comm, stream),
        "ncclReduce");
}

void NcclLibrary::reduce_scatter(const void* from, void* to, std::size_t count,
                                 const NcclReduction& how, NcclComm comm, CudaStream stream) const {
  check(reduce_scatter_(from, to, count * how.elements_of_one, static_cast<int>(how.dtype),
                        static_cast<int>(how.op), comm, stream),
        "ncclReduceScatter");
}

void NcclLibrary::broadcast(const void* from, void* to, std::size_t bytes, int root, NcclComm comm,
                            CudaStream stream) const {
  check(broadcast_(from, to, bytes, static_cast<int>(NcclDType::kUInt8), root, comm, stream),
        "ncclBroadcast");
}

void NcclLibrary::all_gather(const void* from, void* to, std::size_t bytes, NcclComm comm,
                             CudaStream stream) const {
  check(all_gather_(from, to, bytes, static_cast<int>(NcclDType::kUInt8), comm, stream),
        "ncclAllGather");
}

void NcclLibrary::send(const void* from, std::size_t bytes, int peer, NcclComm comm,
                       CudaStream stream) const {
  check(send_(from, bytes, static_cast<int>(NcclDType::kUInt8), peer, comm, stream), "ncclSend");
}

void NcclLibrary::receive(void* to, std::size_t bytes, int peer, NcclComm comm,
                          CudaStream stream) const {
  check(receive_(to, bytes, static_cast<int>(NcclDType::kUInt8), peer, comm, stream), "ncclRecv");
}

}  // namespace understudy::backends
