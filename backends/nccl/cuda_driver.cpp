#include "cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "et_schema/support/error.h"

namespace understudy::backends {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kSuccess = 0;
constexpr int kNotReady = 600;
constexpr unsigned kNonBlocking = 1;    // CU_STREAM_NON_BLOCKING
constexpr unsigned kDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING

[[noreturn]] void refuse(std::string expected, std::string got) {
  throw et_schema::usage_error(
      "NCCL cannot be used",
      {.field = "CUDA's driver",
       .expected = std::move(expected),
       .got = std::move(got),
       .hint = "The driver comes with the GPU's system. --comms host sends tensors through host "
               "memory instead."});
}

}  // namespace

template <typename Function>
void CudaDriver::find(void* library, Function& function, const char* symbol) const {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function == nullptr) {
    refuse(symbol, fmt::format("a {} without it", kLibrary));
  }
}

CudaDriver::CudaDriver() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    refuse(kLibrary, dlerror());
  }
  find(library, error_text_, "cuGetErrorString");
  find(library, get_context_, "cuCtxGetCurrent");
  find(library, set_context_, "cuCtxSetCurrent");
  find(library, create_stream_, "cuStreamCreate");
  find(library, destroy_stream_, "cuStreamDestroy_v2");
  find(library, query_stream_, "cuStreamQuery");
  find(library, synchronize_stream_, "cuStreamSynchronize");
  find(library, stream_waits_, "cuStreamWaitEvent");
  find(library, create_event_, "cuEventCreate");
  find(library, destroy_event_, "cuEventDestroy_v2");
  find(library, record_event_, "cuEventRecord");
  find(library, allocate_, "cuMemAlloc_v2");
  find(library, free_, "cuMemFree_v2");
  find(library, copy_, "cuMemcpyAsync");
}

void CudaDriver::check(Status status, const char* function) const {
  if (status == kSuccess) {
    return;
  }
  const char* text = nullptr;
  const bool is_known = error_text_(status, &text) == kSuccess && text != nullptr;
  throw et_schema::run_failed(
      "the GPU failed beside a communication",
      {.field = function,
       .expected = "success",
       .got = is_known ? fmt::format("{} ({})", text, status) : std::to_string(status)});
}

CudaContext CudaDriver::current_context() const {
  CudaContext context = nullptr;
  check(get_context_(&context), "cuCtxGetCurrent");
  return context;
}

void CudaDriver::use(CudaContext context) const {
  if (current_context() != context) {
    check(set_context_(context), "cuCtxSetCurrent");
  }
}

CudaStream CudaDriver::make_stream() const {
  CudaStream stream = nullptr;
  check(create_stream_(&stream, kNonBlocking), "cuStreamCreate");
  return stream;
}

void CudaDriver::destroy(CudaStream stream) const noexcept {
  destroy_stream_(stream);
}

bool CudaDriver::is_idle(CudaStream stream) const {
  const Status status = query_stream_(stream);
  if (status == kNotReady) {
    return false;
  }
  check(status, "cuStreamQuery");
  return true;
}

void CudaDriver::synchronize(CudaStream stream) const {
  check(synchronize_stream_(stream), "cuStreamSynchronize");
}

CudaEvent CudaDriver::make_event() const {
  CudaEvent event = nullptr;
  check(create_event_(&event, kDisableTiming), "cuEventCreate");
  return event;
}

void CudaDriver::destroy(CudaEvent event) const noexcept {
  destroy_event_(event);
}

void CudaDriver::record(CudaEvent event, CudaStream stream) const {
  check(record_event_(event, stream), "cuEventRecord");
}

void CudaDriver::wait(CudaStream stream, CudaEvent event) const {
  check(stream_waits_(stream, event, 0), "cuStreamWaitEvent");
}

void* CudaDriver::allocate(std::size_t bytes) const {
  Address block = 0;
  check(allocate_(&block, bytes), "cuMemAlloc");
  return reinterpret_cast<void*>(block);
}

void CudaDriver::free(void* block) const noexcept {
  free_(reinterpret_cast<Address>(block));
}

void CudaDriver::copy(void* to, const void* from, std::size_t bytes, CudaStream stream) const {
  check(copy_(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes, stream),
        "cuMemcpyAsync");
}

}  // namespace understudy::backends
