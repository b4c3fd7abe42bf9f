#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "et_schema/base/shared_library.h"

namespace understudy::backends {

using CudaContext = struct CUctx_st*;
using CudaStream = struct CUstream_st*;
using CudaEvent = struct CUevent_st*;

/// A function of a library that is resolved at run time and returns a status.
template <typename... Parameters>
struct StatusFunction {
  /// Throws the library's refusal if the library has no function of this name.
  StatusFunction(const et_schema::SharedLibrary& library, const char* symbol) : name(symbol) {
    library.find(call, symbol);
  }
  const char* name;
  int (*call)(Parameters...) = nullptr;
};

/// The functions of CUDA's driver that are needed to order streams. They are resolved at run time,
/// so that the build does not need CUDA. The runtime is not used, because the name of its library
/// depends on its version. All throw Error (failed) with the driver's message.
class CudaDriver {
 public:
  /// Releases streams, events and memory to the driver, which must outlive this object.
  struct Destroy {
    const CudaDriver* cuda = nullptr;
    void operator()(CudaStream stream) const noexcept;
    void operator()(CudaEvent event) const noexcept;
    void operator()(std::byte* block) const noexcept;
  };
  using Stream = std::unique_ptr<CUstream_st, Destroy>;
  using Event = std::unique_ptr<CUevent_st, Destroy>;
  using Block = std::unique_ptr<std::byte, Destroy>;  ///< device memory

  /// Throws Error (usage) if there is no driver, or the driver lacks a needed function.
  CudaDriver();

  /// Returns the device's context that is current on this thread; null if none is.
  [[nodiscard]] CudaContext current_context() const;
  /// Makes the context current on this thread, unless it already is.
  void use(CudaContext context) const;

  /// Makes a stream that does not synchronize with the default stream.
  [[nodiscard]] Stream make_stream() const;
  /// Returns true if all work issued to the stream is done.
  [[nodiscard]] bool is_idle(CudaStream stream) const;
  void synchronize(CudaStream stream) const;

  [[nodiscard]] Event make_event() const;
  void record(CudaEvent event, CudaStream stream) const;
  /// Makes work that is issued to the stream from now on wait for the event's last record.
  void wait(CudaStream stream, CudaEvent event) const;

  [[nodiscard]] Block allocate(std::size_t bytes) const;
  void copy(void* to, const void* from, std::size_t bytes, CudaStream stream) const;

 private:
  using Status = int;
  using Address = std::uint64_t;

  void check(Status status, const char* function) const;
  template <typename... Parameters, typename... Arguments>
  void run(const StatusFunction<Parameters...>& function, Arguments... arguments) const {
    check(function.call(arguments...), function.name);
  }

  et_schema::SharedLibrary driver_;  // must precede the functions, which are found in it
  // From the documentation of CUDA's driver interface; the names include the functions' versions.
  StatusFunction<Status, const char**> error_text_{driver_, "cuGetErrorString"};
  StatusFunction<CudaContext*> get_context_{driver_, "cuCtxGetCurrent"};
  StatusFunction<CudaContext> set_context_{driver_, "cuCtxSetCurrent"};
  StatusFunction<CudaStream*, unsigned> create_stream_{driver_, "cuStreamCreate"};
  StatusFunction<CudaStream> destroy_stream_{driver_, "cuStreamDestroy_v2"};
  StatusFunction<CudaStream> query_stream_{driver_, "cuStreamQuery"};
  StatusFunction<CudaStream> synchronize_stream_{driver_, "cuStreamSynchronize"};
  StatusFunction<CudaStream, CudaEvent, unsigned> stream_waits_{driver_, "cuStreamWaitEvent"};
  StatusFunction<CudaEvent*, unsigned> create_event_{driver_, "cuEventCreate"};
  StatusFunction<CudaEvent> destroy_event_{driver_, "cuEventDestroy_v2"};
  StatusFunction<CudaEvent, CudaStream> record_event_{driver_, "cuEventRecord"};
  StatusFunction<Address*, std::size_t> allocate_{driver_, "cuMemAlloc_v2"};
  StatusFunction<Address> free_{driver_, "cuMemFree_v2"};
  StatusFunction<Address, Address, std::size_t, CudaStream> copy_{driver_, "cuMemcpyAsync"};
};

}  // namespace understudy::backends
