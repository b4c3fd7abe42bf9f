#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace understudy::backends {

using CudaContext = struct CUctx_st*;
using CudaStream = struct CUstream_st*;
using CudaEvent = struct CUevent_st*;

/// The functions of CUDA's driver that ordering streams takes. They are found at run time, so that
/// nothing of CUDA is needed to build, and in the driver, which has one name whatever version of
/// the runtime LibTorch brought. All throw Error (failed) with the driver's own words.
class CudaDriver {
 public:
  /// Gives back to the driver what it made; the driver must outlive it.
  struct Destroy {
    const CudaDriver* cuda = nullptr;
    void operator()(CudaStream stream) const noexcept;
    void operator()(CudaEvent event) const noexcept;
    void operator()(std::byte* block) const noexcept;
  };
  using Stream = std::unique_ptr<CUstream_st, Destroy>;
  using Event = std::unique_ptr<CUevent_st, Destroy>;
  using Block = std::unique_ptr<std::byte, Destroy>;  ///< memory of the device

  /// Throws Error (usage) where there is no driver, or one without a function that is needed.
  CudaDriver();

  /// The device's context that is current on this thread; null: none.
  [[nodiscard]] CudaContext current_context() const;
  /// Makes it current on this thread, unless it is.
  void use(CudaContext context) const;

  /// A stream that does not wait for the default one.
  [[nodiscard]] Stream make_stream() const;
  /// Whether all that was issued to it is done.
  [[nodiscard]] bool is_idle(CudaStream stream) const;
  void synchronize(CudaStream stream) const;

  [[nodiscard]] Event make_event() const;
  void record(CudaEvent event, CudaStream stream) const;
  /// What is issued to the stream from here on waits for what the event has recorded.
  void wait(CudaStream stream, CudaEvent event) const;

  [[nodiscard]] Block allocate(std::size_t bytes) const;
  void copy(void* to, const void* from, std::size_t bytes, CudaStream stream) const;

 private:
  using Status = int;
  using Address = std::uint64_t;

  void check(Status status, const char* function) const;

  // By the documentation of CUDA's driver interface; the names carry its versions of functions.
  Status (*error_text_)(Status, const char**) = nullptr;
  Status (*get_context_)(CudaContext*) = nullptr;
  Status (*set_context_)(CudaContext) = nullptr;
  Status (*create_stream_)(CudaStream*, unsigned) = nullptr;
  Status (*destroy_stream_)(CudaStream) = nullptr;
  Status (*query_stream_)(CudaStream) = nullptr;
  Status (*synchronize_stream_)(CudaStream) = nullptr;
  Status (*stream_waits_)(CudaStream, CudaEvent, unsigned) = nullptr;
  Status (*create_event_)(CudaEvent*, unsigned) = nullptr;
  Status (*destroy_event_)(CudaEvent) = nullptr;
  Status (*record_event_)(CudaEvent, CudaStream) = nullptr;
  Status (*allocate_)(Address*, std::size_t) = nullptr;
  Status (*free_)(Address) = nullptr;
  Status (*copy_)(Address, Address, std::size_t, CudaStream) = nullptr;
};

}  // namespace understudy::backends
