#include "cuda_driver.h"

#include <fmt/format.h>

#include <string>

#include "cannot_use.h"
#include "et_schema/support/error.h"

namespace understudy::backends {
namespace {

constexpr int kSuccess = 0;
constexpr int kNotReady = 600;
constexpr unsigned kNonBlocking = 1;    // CU_STREAM_NON_BLOCKING
constexpr unsigned kDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING

}  // namespace

CudaDriver::CudaDriver() {
  const et_schema::SharedLibrary driver(
      "libcuda.so.1", RTLD_LOCAL,
      cannot_use("CUDA's driver", "The driver comes with the GPU's system."));
  driver.find(error_text_, "cuGetErrorString");
  driver.find(get_context_, "cuCtxGetCurrent");
  driver.find(set_context_, "cuCtxSetCurrent");
  driver.find(create_stream_, "cuStreamCreate");
  driver.find(destroy_stream_, "cuStreamDestroy_v2");
  driver.find(query_stream_, "cuStreamQuery");
  driver.find(synchronize_stream_, "cuStreamSynchronize");
  driver.find(stream_waits_, "cuStreamWaitEvent");
  driver.find(create_event_, "cuEventCreate");
  driver.find(destroy_event_, "cuEventDestroy_v2");
  driver.find(record_event_, "cuEventRecord");
  driver.find(allocate_, "cuMemAlloc_v2");
  driver.find(free_, "cuMemFree_v2");
  driver.find(copy_, "cuMemcpyAsync");
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

CudaDriver::Stream CudaDriver::make_stream() const {
  CudaStream stream = nullptr;
  check(create_stream_(&stream, kNonBlocking), "cuStreamCreate");
  return Stream(stream, Destroy{this});
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

CudaDriver::Event CudaDriver::make_event() const {
  CudaEvent event = nullptr;
  check(create_event_(&event, kDisableTiming), "cuEventCreate");
  return Event(event, Destroy{this});
}

void CudaDriver::Destroy::operator()(CudaStream stream) const noexcept {
  cuda->destroy_stream_(stream);
}

void CudaDriver::Destroy::operator()(CudaEvent event) const noexcept {
  cuda->destroy_event_(event);
}

void CudaDriver::Destroy::operator()(std::byte* block) const noexcept {
  cuda->free_(reinterpret_cast<Address>(block));
}

void CudaDriver::record(CudaEvent event, CudaStream stream) const {
  check(record_event_(event, stream), "cuEventRecord");
}

void CudaDriver::wait(CudaStream stream, CudaEvent event) const {
  check(stream_waits_(stream, event, 0), "cuStreamWaitEvent");
}

CudaDriver::Block CudaDriver::allocate(std::size_t bytes) const {
  Address block = 0;
  check(allocate_(&block, bytes), "cuMemAlloc");
  return Block(reinterpret_cast<std::byte*>(block), Destroy{this});
}

void CudaDriver::copy(void* to, const void* from, std::size_t bytes, CudaStream stream) const {
  check(copy_(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes, stream),
        "cuMemcpyAsync");
}

}  // namespace understudy::backends
