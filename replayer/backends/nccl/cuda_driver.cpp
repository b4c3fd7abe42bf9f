#include "cuda_driver.h"

#include <fmt/format.h>

#include <string>

#include "cannot_use.h"
#include "et_schema/base/error.h"

namespace understudy::backends {
namespace {

constexpr int kSuccess = 0;
constexpr int kNotReady = 600;
constexpr unsigned kNonBlocking = 1;    // CU_STREAM_NON_BLOCKING
constexpr unsigned kDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING

}  // namespace

CudaDriver::CudaDriver()
    : driver_("libcuda.so.1", RTLD_LOCAL,
              cannot_use("CUDA's driver", "The driver comes with the GPU's system.")) {}

void CudaDriver::check(Status status, const char* function) const {
  if (status == kSuccess) {
    return;
  }
  const char* text = nullptr;
  const bool is_known = error_text_.call(status, &text) == kSuccess && text != nullptr;
  throw et_schema::run_failed(
      "the GPU failed beside a communication",
      {.field = function,
       .expected = "success",
       .got = is_known ? fmt::format("{} ({})", text, status) : std::to_string(status)});
}

CudaContext CudaDriver::current_context() const {
  CudaContext context = nullptr;
  run(get_context_, &context);
  return context;
}

void CudaDriver::use(CudaContext context) const {
  if (current_context() != context) {
    run(set_context_, context);
  }
}

CudaDriver::Stream CudaDriver::make_stream() const {
  CudaStream stream = nullptr;
  run(create_stream_, &stream, kNonBlocking);
  return Stream(stream, Destroy{this});
}

bool CudaDriver::is_idle(CudaStream stream) const {
  const Status status = query_stream_.call(stream);
  if (status == kNotReady) {
    return false;
  }
  check(status, query_stream_.name);
  return true;
}

void CudaDriver::synchronize(CudaStream stream) const {
  run(synchronize_stream_, stream);
}

CudaDriver::Event CudaDriver::make_event() const {
  CudaEvent event = nullptr;
  run(create_event_, &event, kDisableTiming);
  return Event(event, Destroy{this});
}

void CudaDriver::Destroy::operator()(CudaStream stream) const noexcept {
  cuda->destroy_stream_.call(stream);
}

void CudaDriver::Destroy::operator()(CudaEvent event) const noexcept {
  cuda->destroy_event_.call(event);
}

void CudaDriver::Destroy::operator()(std::byte* block) const noexcept {
  cuda->free_.call(reinterpret_cast<Address>(block));
}

void CudaDriver::record(CudaEvent event, CudaStream stream) const {
  run(record_event_, event, stream);
}

void CudaDriver::wait(CudaStream stream, CudaEvent event) const {
  run(stream_waits_, stream, event, 0U);
}

CudaDriver::Block CudaDriver::allocate(std::size_t bytes) const {
  Address block = 0;
  check(allocate_.call(&block, bytes), "cuMemAlloc");
  return Block(reinterpret_cast<std::byte*>(block), Destroy{this});
}

void CudaDriver::copy(void* to, const void* from, std::size_t bytes, CudaStream stream) const {
  run(copy_, reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes, stream);
}

}  // namespace understudy::backends
