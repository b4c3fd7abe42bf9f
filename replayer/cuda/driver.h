#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "et_schema/base/shared_library.h"

namespace understudy::replayer {

// The parts of CUDA's driver in use, declared as in cuda.h of CUDA 12, so that the build needs no
// CUDA header.

using CudaContext = struct CUctx_st*;
using CudaStream = struct CUstream_st*;
using CudaEvent = struct CUevent_st*;

/// CUlaunchAttribute.
struct CudaLaunchAttribute {
  int id = 0;
  alignas(8) unsigned value[16] = {};
};

/// CUlaunchConfig.
struct CudaLaunch {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void* stream = nullptr;
  CudaLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

/// CUDA's driver, resolved at run time. The runtime is not used, because the name of its library
/// depends on its version. Member functions are of communications and throw Error (failed) with the
/// driver's message.
struct CudaDriver {
  /// Releases streams, events and memory to the driver, which must outlive this object.
  struct Destroy {
    const CudaDriver* cuda = nullptr;
    void operator()(CudaStream stream) const noexcept { cuda->destroy_stream(stream); }
    void operator()(CudaEvent event) const noexcept { cuda->destroy_event(event); }
    void operator()(std::byte* block) const noexcept {
      cuda->free_block(reinterpret_cast<Address>(block));
    }
  };
  using Stream = std::unique_ptr<CUstream_st, Destroy>;
  using Event = std::unique_ptr<CUevent_st, Destroy>;
  using Block = std::unique_ptr<std::byte, Destroy>;  ///< device memory

  /// Throws the refusal if there is no driver, or the driver lacks a function that orders streams.
  /// Without a refusal, functions that are missing are null.
  explicit CudaDriver(et_schema::SharedLibrary::Refusal refusal = nullptr);

  /// Returns the device's context that is current on this thread; null if none is.
  [[nodiscard]] CudaContext current_context() const;
  /// Makes the context current on this thread, unless it already is.
  void use(CudaContext context) const;

  /// Makes a stream that does not synchronize with the default stream.
  [[nodiscard]] Stream make_stream() const;
  /// Returns true if all work issued to the stream is done.
  [[nodiscard]] bool is_idle(CudaStream stream) const;
  void synchronize(CudaStream stream) const { run(synchronize_stream, stream); }

  [[nodiscard]] Event make_event() const;
  void record(CudaEvent event, CudaStream stream) const { run(record_event, event, stream); }
  /// Makes work that is issued to the stream from now on wait for the event's last record.
  void wait(CudaStream stream, CudaEvent event) const { run(stream_waits, stream, event, 0U); }

  [[nodiscard]] Block allocate(std::size_t bytes) const;
  void copy(void* to, const void* from, std::size_t bytes, CudaStream stream) const;

  using Status = int;
  using Address = std::uint64_t;
  template <typename... Parameters>
  using Function = et_schema::StatusFunction<Parameters...>;

  // The libraries must precede the functions, which are found in them.
  et_schema::SharedLibrary library;
  et_schema::SharedLibrary same;  ///< without a refusal: functions that it lacks are null

  // From the documentation of CUDA's driver interface; the names include the functions' versions.
  Function<Status, const char**> error_text{library, "cuGetErrorString"};
  Function<CudaContext*> get_context{library, "cuCtxGetCurrent"};
  Function<CudaContext> set_context{library, "cuCtxSetCurrent"};
  Function<CudaStream*, unsigned> create_stream{library, "cuStreamCreate"};
  Function<CudaStream> destroy_stream{library, "cuStreamDestroy_v2"};
  Function<CudaStream> query_stream{library, "cuStreamQuery"};
  Function<CudaStream> synchronize_stream{library, "cuStreamSynchronize"};
  Function<CudaStream, CudaEvent, unsigned> stream_waits{library, "cuStreamWaitEvent"};
  Function<CudaEvent*, unsigned> create_event{library, "cuEventCreate"};
  Function<CudaEvent> destroy_event{library, "cuEventDestroy_v2"};
  Function<CudaEvent, CudaStream> record_event{library, "cuEventRecord"};
  Function<Address*, std::size_t> allocate_block{library, "cuMemAlloc_v2"};
  Function<Address> free_block{library, "cuMemFree_v2"};
  Function<Address, Address, std::size_t, CudaStream> copy_async{library, "cuMemcpyAsync"};

  Function<void**, const void*> load_module{same, "cuModuleLoadData"};
  Function<void**, void*, const char*> get_function{same, "cuModuleGetFunction"};
  Function<void*, int, int> set_attribute{same, "cuFuncSetAttribute"};
  /// For an instance of a GPU (MIG) it returns the instance's UUID.
  Function<unsigned char*, int> device_uuid{same, "cuDeviceGetUuid_v2"};
  Function<int*, int, int> device_attribute{same, "cuDeviceGetAttribute"};
  Function<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
           void**, void**>
      launch{same, "cuLaunchKernel"};
  Function<const CudaLaunch*, void*, void**, void**> launch_with{same, "cuLaunchKernelEx"};

 private:
  void check(Status status, const char* function) const;
  template <typename... Parameters, typename... Arguments>
  void run(const Function<Parameters...>& function, Arguments... arguments) const {
    check(function(arguments...), function.name);
  }
};

/// Returns the driver, which is loaded once a device is open; its functions may be null.
[[nodiscard]] const CudaDriver& cuda_driver();

}  // namespace understudy::replayer
