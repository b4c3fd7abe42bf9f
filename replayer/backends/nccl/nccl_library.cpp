#include "nccl_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "cannot_use.h"
#include "et_schema/base/error.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/interface/half.h"

namespace understudy::backends {
namespace {

using et_schema::DType;

constexpr const char* kNcclLibrary = "libnccl.so.2";
constexpr int kNcclSuccess = 0;
constexpr int kInProgress = 7;

/// Opens NCCL. LibTorch may contain it, or bring it as a separate library.
et_schema::SharedLibrary open_library() {
  const auto refusal = cannot_use("NCCL",
                                  "A torch wheel of CUDA brings NCCL; the variable UNDERSTUDY_NCCL "
                                  "names another libnccl.so.");
  const char* const named = std::getenv("UNDERSTUDY_NCCL");
  if (named != nullptr && *named != '\0') {
    // The library must prefer its own functions, because LibTorch's are global in the process.
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

/// NCCL's types for the elements of reductions. Complex elements are pairs of numbers.
constexpr std::array<std::pair<DType, NcclDType>, 14> kReducedAs = {
    {{DType::kInt8, NcclDType::kInt8},
     {DType::kUInt8, NcclDType::kUInt8},
     {DType::kBool, NcclDType::kUInt8},
     {DType::kInt32, NcclDType::kInt32},
     {DType::kUInt32, NcclDType::kUInt32},
     {DType::kInt64, NcclDType::kInt64},
     {DType::kUInt64, NcclDType::kUInt64},
     {DType::kFloat16, NcclDType::kFloat16},
     {DType::kComplexFloat16, NcclDType::kFloat16},
     {DType::kFloat32, NcclDType::kFloat32},
     {DType::kComplexFloat32, NcclDType::kFloat32},
     {DType::kFloat64, NcclDType::kFloat64},
     {DType::kComplexFloat64, NcclDType::kFloat64},
     {DType::kBFloat16, NcclDType::kBFloat16}}};
constexpr std::array<std::pair<ReduceOp, NcclOp>, 5> kOps = {
    {{ReduceOp::kSum, NcclOp::kSum},
     {ReduceOp::kAvg, NcclOp::kAvg},
     {ReduceOp::kProduct, NcclOp::kProduct},
     {ReduceOp::kMin, NcclOp::kMin},
     {ReduceOp::kMax, NcclOp::kMax}}};

}  // namespace

std::optional<NcclReduction> nccl_reduction(DType dtype, ReduceOp op, double factor) {
  const bool complex = et_schema::is_complex(dtype);
  const auto as = std::ranges::find(kReducedAs, dtype, &std::pair<DType, NcclDType>::first);
  const auto how = std::ranges::find(kOps, dtype == DType::kBool ? of_bools(op) : op,
                                     &std::pair<ReduceOp, NcclOp>::first);
  if (!can_reduce(dtype, op) || (complex && op == ReduceOp::kProduct) || as == kReducedAs.end() ||
      how == kOps.end() || (factor != 1 && as->second == NcclDType::kFloat16)) {
    return std::nullopt;
  }
  return NcclReduction{as->second, how->second, complex ? std::size_t{2} : std::size_t{1}, factor};
}

NcclLibrary::NcclLibrary() : library_(open_library()) {
  library_.find(error_text_, "ncclGetErrorString");
  library_.find(last_error_, "ncclGetLastError");
  split_ = library_.function<std::remove_pointer_t<decltype(split_)>>("ncclCommSplit");  // 2.18 on
  register_ = library_.function<std::remove_pointer_t<decltype(register_)>>("ncclCommRegister");
  deregister_ =
      library_.function<std::remove_pointer_t<decltype(deregister_)>>("ncclCommDeregister");
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
  run(get_version_, &code);
  // Major, minor and patch in decimal digits: 2 + 2 + 2 since 2.9, 1 + 1 + 2 before.
  constexpr int kNewForm = 10000;
  const int unit = code >= kNewForm ? kNewForm : 1000;
  constexpr int kHundred = 100;
  return fmt::format("{}.{}.{}", code / unit, code % unit / kHundred, code % kHundred);
}

NcclId NcclLibrary::make_id() const {
  NcclId id;
  run(get_id_, &id);
  return id;
}

NcclComm NcclLibrary::begin_comm(const NcclId& id, int size, int rank) const {
  NcclComm comm = nullptr;
  NcclConfig config;
  run(init_rank_, &comm, size, id, rank, &config);
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
  run(async_error_, comm, &status);
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
  run(finalize_, comm);
}

void NcclLibrary::destroy(NcclComm comm) const noexcept {
  destroy_.call(comm);
}

NcclOp NcclLibrary::make_premultiplied_sum(const NcclReduction& how, NcclComm comm) const {
  constexpr int kHostImmediate = 1;
  // The factor must have the type of the elements; NCCL copies it.
  auto single = static_cast<float>(how.factor);
  double wide = how.factor;
  std::uint16_t half = BFloat16::from_float(single);
  void* const scalar = how.dtype == NcclDType::kFloat64    ? static_cast<void*>(&wide)
                       : how.dtype == NcclDType::kBFloat16 ? static_cast<void*>(&half)
                                                           : static_cast<void*>(&single);
  int op = 0;
  run(premultiplied_sum_, &op, scalar, static_cast<int>(how.dtype), kHostImmediate, comm);
  return static_cast<NcclOp>(op);
}

void NcclLibrary::abort(std::span<const NcclComm> comms) const noexcept {
  group_start_.call();
  for (const NcclComm comm : comms) {
    abort_.call(comm);
  }
  group_end_.call();
}

std::string NcclLibrary::failure_of(NcclComm comm) const {
  Status status = kNcclSuccess;
  if (async_error_.call(comm, &status) != kNcclSuccess || status == kNcclSuccess ||
      status == kInProgress) {
    return {};
  }
  return fmt::format("{} ({})", error_text_(status), status);
}

void NcclLibrary::group_start() const {
  run(group_start_);
}

void NcclLibrary::group_end() const {
  run(group_end_);
}

void NcclLibrary::all_reduce(const void* from, void* to, std::size_t count,
                             const NcclReduction& how, NcclComm comm, CudaStream stream) const {
  run(all_reduce_, from, to, count * how.elements_of_one, static_cast<int>(how.dtype),
      static_cast<int>(how.op), comm, stream);
}

void NcclLibrary::reduce(const void* from, void* to, std::size_t count, const NcclReduction& how,
                         int root, NcclComm comm, CudaStream stream) const {
  run(reduce_, from, to, count * how.elements_of_one, static_cast<int>(how.dtype),
      static_cast<int>(how.op), root, comm, stream);
}

void NcclLibrary::reduce_scatter(const void* from, void* to, std::size_t count,
                                 const NcclReduction& how, NcclComm comm, CudaStream stream) const {
  run(reduce_scatter_, from, to, count * how.elements_of_one, static_cast<int>(how.dtype),
      static_cast<int>(how.op), comm, stream);
}

void NcclLibrary::broadcast(const void* from, void* to, std::size_t bytes, int root, NcclComm comm,
                            CudaStream stream) const {
  run(broadcast_, from, to, bytes, static_cast<int>(NcclDType::kUInt8), root, comm, stream);
}

void NcclLibrary::all_gather(const void* from, void* to, std::size_t bytes, NcclComm comm,
                             CudaStream stream) const {
  run(all_gather_, from, to, bytes, static_cast<int>(NcclDType::kUInt8), comm, stream);
}

void NcclLibrary::send(const void* from, std::size_t bytes, int peer, NcclComm comm,
                       CudaStream stream) const {
  run(send_, from, bytes, static_cast<int>(NcclDType::kUInt8), peer, comm, stream);
}

void NcclLibrary::receive(void* to, std::size_t bytes, int peer, NcclComm comm,
                          CudaStream stream) const {
  run(receive_, to, bytes, static_cast<int>(NcclDType::kUInt8), peer, comm, stream);
}

}  // namespace understudy::backends
