#include "replayer/cuda/driver.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "et_schema/base/error.h"

namespace understudy::replayer {
namespace {

constexpr const char* kCudaLibrary = "libcuda.so.1";
constexpr int kCudaSuccess = 0;
constexpr int kNotReady = 600;
constexpr unsigned kNonBlocking = 1;    // CU_STREAM_NON_BLOCKING
constexpr unsigned kDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING

}  // namespace

CudaDriver::CudaDriver(et_schema::SharedLibrary::Refusal refusal)
    : library(kCudaLibrary, RTLD_LOCAL, std::move(refusal)), same(kCudaLibrary, RTLD_LOCAL) {}

const CudaDriver& cuda_driver() {
  static const CudaDriver driver;
  return driver;
}

void CudaDriver::check(Status status, const char* function) const {
  if (status == kCudaSuccess) {
    return;
  }
  const char* text = nullptr;
  const bool is_known = error_text(status, &text) == kCudaSuccess && text != nullptr;
  throw et_schema::run_failed(
      "the GPU failed beside a communication",
      {.field = function,
       .expected = "success",
       .got = is_known ? fmt::format("{} ({})", text, status) : std::to_string(status)});
}

CudaContext CudaDriver::current_context() const {
  CudaContext context = nullptr;
  run(get_context, &context);
  return context;
}

void CudaDriver::use(CudaContext context) const {
  if (current_context() != context) {
    run(set_context, context);
  }
}

CudaDriver::Stream CudaDriver::make_stream() const {
  CudaStream stream = nullptr;
  run(create_stream, &stream, kNonBlocking);
  return Stream(stream, Destroy{this});
}

bool CudaDriver::is_idle(CudaStream stream) const {
  const Status status = query_stream(stream);
  if (status == kNotReady) {
    return false;
  }
  check(status, query_stream.name);
  return true;
}

CudaDriver::Event CudaDriver::make_event() const {
  CudaEvent event = nullptr;
  run(create_event, &event, kDisableTiming);
  return Event(event, Destroy{this});
}

CudaDriver::Block CudaDriver::allocate(std::size_t bytes) const {
  Address block = 0;
  check(allocate_block(&block, bytes), "cuMemAlloc");
  return Block(reinterpret_cast<std::byte*>(block), Destroy{this});
}

void CudaDriver::copy(void* to, const void* from, std::size_t bytes, CudaStream stream) const {
  run(copy_async, reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes, stream);
}

}  // namespace understudy::replayer
