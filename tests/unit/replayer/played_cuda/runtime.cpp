// CUDA's runtime as LibTorch calls it, on the host's memory: see played_cuda.h. Device memory is
// mapped without being touched, so that a large model costs nothing.

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "capture.h"
#include "played_cuda.h"
#include "queues.h"

namespace queues = played_cuda::queues;

namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

constexpr double kLatencyNs = 2000;
constexpr double kNanoOfMilli = 1e6;
constexpr double kDeviceBytesPerNs = 2000;
constexpr double kBusBytesPerNs = 25;
constexpr double kSpinClocksPerNs = 2;
constexpr std::size_t kPage = 4096;

struct Block {
  std::size_t bytes = 0;
  bool is_host = false;
};

struct Event {
  Clock::time_point time;
  bool keeps_time = false;
  bool is_recorded = false;
};

struct Gpu {
  std::mutex mutex;
  std::map<std::uintptr_t, Block> blocks;
  std::map<cudaStream_t, Clock::time_point> streams;  ///< when each will have done all it was given
  std::map<const void*, std::string> kernels;         ///< by the host's function: their names
  std::size_t memory = played_cuda::kUsualMemory;
  std::size_t taken = 0;
  std::uint64_t launches = 0;
  std::uint64_t moves = 0;  ///< copies and fills
  std::atomic<double> event_cost_ns = 0;
  played_cuda::Waits waits;
  std::uintptr_t handles = 0x1000;
  unsigned long long energy_mj = 0;
  std::int64_t energy_step = 0;  ///< of the clock, at which it was counted
  int old_driver = 0;            ///< its version; 0: it is none
  std::vector<played_cuda::Issued>* issues = nullptr;
  bool fails_next = false;
  bool has_failed = false;
  bool fails_for_good = true;
};

Gpu& gpu() {
  // Libraries register and unregister kernels before and behind everything of ours.
  static auto& the_gpu = *std::make_unique<Gpu>().release();
  return the_gpu;
}

/// The time that stands while a StoppedClock lives, in ticks; 0: it goes on.
std::atomic<Clock::rep> stopped_at = 0;

Clock::time_point now() {
  const Clock::rep ticks = stopped_at;
  return ticks == 0 ? Clock::now() : Clock::time_point(Clock::duration(ticks));
}

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t fail(cudaError_t error) {
  last_error = error;
  return error;
}

/// What every call says from the moment on at which a kernel has gone wrong.
cudaError_t state_of_gpu() {
  const std::scoped_lock lock(gpu().mutex);
  return gpu().has_failed ? fail(cudaErrorIllegalAddress) : cudaSuccess;
}

std::size_t pages(std::size_t bytes) {
  return std::max<std::size_t>((bytes + kPage - 1) / kPage, 1) * kPage;
}

cudaError_t take(void** block, std::size_t bytes, bool is_host) {
  Gpu& it = gpu();
  const std::scoped_lock lock(it.mutex);
  *block = nullptr;
  if (!is_host && it.taken + bytes > it.memory) {
    return fail(cudaErrorMemoryAllocation);
  }
  void* const memory = mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(cudaErrorMemoryAllocation);
  }
  it.blocks[reinterpret_cast<std::uintptr_t>(memory)] = {bytes, is_host};
  it.taken += is_host ? 0 : bytes;
  *block = memory;
  return cudaSuccess;
}

cudaError_t give_back(void* block) {
  Gpu& it = gpu();
  const std::scoped_lock lock(it.mutex);
  const auto found = it.blocks.find(reinterpret_cast<std::uintptr_t>(block));
  if (found != it.blocks.end()) {
    it.taken -= found->second.is_host ? 0 : found->second.bytes;
    munmap(block, pages(found->second.bytes));
    it.blocks.erase(found);
  }
  return cudaSuccess;
}

cudaMemoryType type_of(const void* pointer) {
  Gpu& it = gpu();
  const std::scoped_lock lock(it.mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  auto block = it.blocks.upper_bound(address);
  if (block == it.blocks.begin() || address >= (--block)->first + block->second.bytes) {
    return cudaMemoryTypeUnregistered;
  }
  return block->second.is_host ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}

void count_move() {
  const std::scoped_lock lock(gpu().mutex);
  ++gpu().moves;
}

/// With the lock held.
void keep(played_cuda::Issued::Kind kind, const void* stream, const void* event = nullptr) {
  if (gpu().issues != nullptr) {
    gpu().issues->push_back({kind, stream, event});
  }
}

void issue(cudaStream_t stream, double ns, double latency_ns = kLatencyNs) {
  Gpu& it = gpu();
  const std::scoped_lock lock(it.mutex);
  keep(played_cuda::Issued::Kind::kWork, stream);
  Clock::time_point& end = it.streams[stream];
  const auto nanoseconds = [](double count) { return Nanoseconds(static_cast<long>(count)); };
  end = std::max(end, now() + nanoseconds(latency_ns)) + nanoseconds(ns);
}

Clock::time_point end_of(cudaStream_t stream) {
  Gpu& it = gpu();
  const std::scoped_lock lock(it.mutex);
  return it.streams[stream];
}

Clock::time_point end_of_all() {
  Gpu& it = gpu();
  const std::scoped_lock lock(it.mutex);
  Clock::time_point end;
  for (const auto& [stream, time] : it.streams) {
    end = std::max(end, time);
  }
  return end;
}

cudaError_t wait_until(Clock::time_point time) {
  while (now() < time) {
    if (stopped_at != 0) {
      stopped_at = time.time_since_epoch().count();
    }
  }
  const cudaError_t state = state_of_gpu();
  const std::scoped_lock lock(gpu().mutex);
  gpu().has_failed = gpu().has_failed && gpu().fails_for_good;
  return state;
}

cudaError_t is_over(Clock::time_point time) {
  return time <= now() ? cudaSuccess : fail(cudaErrorNotReady);
}

cudaError_t launch(const void* kernel, void** arguments, cudaStream_t stream) {
  Gpu& it = gpu();
  double ns = played_cuda::kKernelMs * kNanoOfMilli;
  if (const cudaError_t state = state_of_gpu(); state != cudaSuccess) {
    return state;
  }
  if (const auto captured = played_cuda::capture::take(stream, ns)) {
    return *captured == cudaSuccess ? cudaSuccess : fail(*captured);
  }
  {
    const std::scoped_lock lock(it.mutex);
    ++it.launches;
    it.has_failed = std::exchange(it.fails_next, false);
    const auto name = it.kernels.find(kernel);
    if (name != it.kernels.end() && name->second.find("spin_kernel") != std::string::npos) {
      ns = static_cast<double>(*static_cast<std::int64_t*>(arguments[0])) / kSpinClocksPerNs;
    }
  }
  issue(stream, ns);
  return cudaSuccess;
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  const cudaMemoryType target = type_of(to);
  const cudaMemoryType source = type_of(from);
  const bool within = target == cudaMemoryTypeDevice && source == cudaMemoryTypeDevice;
  const bool waits = target == cudaMemoryTypeUnregistered || source == cudaMemoryTypeUnregistered;
  const double ns = static_cast<double>(bytes) / (within ? kDeviceBytesPerNs : kBusBytesPerNs);
  if (const auto captured =
          played_cuda::capture::take(stream, ns, [=] { std::memmove(to, from, bytes); })) {
    return *captured == cudaSuccess ? cudaSuccess : fail(*captured);
  }
  count_move();
  issue(stream, ns);
  const bool is_behind = queues::is_busy(stream);
  queues::run(stream, [=] { std::memmove(to, from, bytes); });
  return waits && !is_behind ? wait_until(end_of(stream)) : cudaSuccess;
}

Event* event_of(cudaEvent_t event) {
  return reinterpret_cast<Event*>(event);
}

/// In the place of each of the driver's that the runtime is asked for.
int succeed() {
  return 0;
}

}  // namespace

namespace played_cuda {

void capture::run_node(cudaStream_t stream, double ns, bool is_first) {
  {
    const std::scoped_lock lock(gpu().mutex);
    ++gpu().launches;
  }
  issue(stream, ns, is_first ? kLatencyNs : 0);
}

void set_memory(std::size_t bytes) {
  const std::scoped_lock lock(gpu().mutex);
  gpu().memory = bytes;
}

std::uint64_t launches() {
  const std::scoped_lock lock(gpu().mutex);
  return gpu().launches;
}

void keep_issues(std::vector<Issued>* issues) {
  const std::scoped_lock lock(gpu().mutex);
  gpu().issues = issues;
}

Waits waits() {
  const std::scoped_lock lock(gpu().mutex);
  return gpu().waits;
}

void set_old_driver(int version) {
  gpu().old_driver = version;
}

Fault::Fault(bool for_good) {
  const std::scoped_lock lock(gpu().mutex);
  gpu().fails_for_good = for_good;
  gpu().fails_next = true;
}

Fault::~Fault() {
  const std::scoped_lock lock(gpu().mutex);
  gpu().fails_next = gpu().has_failed = false;
  last_error = cudaSuccess;
}

int launch_of_module(const char* kernel, void** arguments, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  const cudaError_t status = launch(kernel, arguments, on);
  if (capture::take(on, 0).has_value()) {
    return status;  // what notes and waits of a graph do to its stream is not played
  }
  const std::scoped_lock lock(gpu().mutex);
  Clock::time_point& end = gpu().streams[on];
  const std::string name = kernel;
  if (name == "understudy_note") {
    **static_cast<std::int64_t**>(arguments[0]) = end.time_since_epoch().count();
  } else if (name == "understudy_wait") {
    auto* const noted = *static_cast<std::int64_t**>(arguments[0]);
    const auto ns = static_cast<std::int64_t>(*static_cast<std::uint64_t*>(arguments[1]));
    end = std::max(end, Clock::time_point(Nanoseconds(*noted + ns)));
  }
  return status;
}

StoppedClock::StoppedClock() {
  stopped_at = Clock::now().time_since_epoch().count();
}

StoppedClock::~StoppedClock() {
  stopped_at = 0;
}

void set_event_cost(double ms) {
  gpu().event_cost_ns = ms * kNanoOfMilli;
}

double busy_ms() {
  return std::chrono::duration<double, std::milli>(end_of_all() - now()).count();
}

}  // namespace played_cuda

extern "C" {

unsigned long long played_energy_millijoules() {
  constexpr unsigned long long kOfLaunch = 1000;
  constexpr unsigned long long kOfMove = 16'000;
  constexpr std::chrono::milliseconds kPeriod{100};
  const std::scoped_lock lock(gpu().mutex);
  if (const auto step = Clock::now().time_since_epoch() / kPeriod; step != gpu().energy_step) {
    gpu().energy_step = step;
    gpu().energy_mj = kOfLaunch * gpu().launches + kOfMove * gpu().moves;
  }
  return gpu().energy_mj;
}

// ---- errors, devices

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory"
         : error == cudaErrorStreamCaptureUnsupported
             ? "operation not permitted when stream is capturing"
         : error == cudaErrorIllegalAddress     ? "an illegal memory access was encountered"
         : error == cudaErrorInsufficientDriver ? "CUDA driver version is insufficient"
                                                : "an error of the played runtime";
}
const char* cudaGetErrorName(cudaError_t) {
  return "cudaErrorPlayed";
}
cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = state_of_gpu();
  return error;
}
cudaError_t cudaPeekAtLastError() {
  return last_error;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpu().old_driver == 0 ? 1 : 0;
  return *count == 1 ? cudaSuccess : fail(cudaErrorInsufficientDriver);
}
cudaError_t cudaDriverGetVersion(int* version) {
  constexpr int kVersion = 13000;
  *version = gpu().old_driver == 0 ? kVersion : gpu().old_driver;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t refused = played_cuda::capture::unsafe_call(); refused != cudaSuccess) {
    return fail(refused);
  }
  {
    const std::scoped_lock lock(gpu().mutex);
    ++gpu().waits.for_device;
  }
  queues::wait_for_all();
  return wait_until(end_of_all());
}
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *function = reinterpret_cast<void*>(&succeed);
  if (result != nullptr) {
    *result = cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}

// ---- memory

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::scoped_lock lock(gpu().mutex);
  *total = gpu().memory;
  *free = gpu().memory - std::min(gpu().memory, gpu().taken);
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  if (const cudaError_t refused = played_cuda::capture::unsafe_call(); refused != cudaSuccess) {
    return fail(refused);
  }
  return take(block, bytes, false);
}
cudaError_t cudaFree(void* block) {
  return give_back(block);
}
cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned) {
  return take(block, bytes, true);
}
cudaError_t cudaFreeHost(void* block) {
  return give_back(block);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  *attributes = {};
  attributes->type = type_of(pointer);
  attributes->device = attributes->type == cudaMemoryTypeUnregistered ? -1 : 0;
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  count_move();
  std::memmove(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return copy(to, from, bytes, stream);
}
cudaError_t cudaMemcpyToSymbol(const void*, const void*, std::size_t, std::size_t, cudaMemcpyKind) {
  return cudaSuccess;
}
cudaError_t cudaMemset(void* block, int value, std::size_t bytes) {
  count_move();
  std::memset(block, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* block, int value, std::size_t bytes, cudaStream_t stream) {
  const double ns = static_cast<double>(bytes) / kDeviceBytesPerNs;
  if (const auto captured =
          played_cuda::capture::take(stream, ns, [=] { std::memset(block, value, bytes); })) {
    return *captured == cudaSuccess ? cudaSuccess : fail(*captured);
  }
  count_move();
  issue(stream, ns);
  queues::run(stream, [=] { std::memset(block, value, bytes); });
  return cudaSuccess;
}

// ---- streams and events

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  const std::scoped_lock lock(gpu().mutex);
  *stream = reinterpret_cast<cudaStream_t>(++gpu().handles);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return queues::is_busy(stream) ? fail(cudaErrorNotReady) : is_over(end_of(stream));
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t refused = played_cuda::capture::wait_for_stream(stream);
      refused != cudaSuccess) {
    return fail(refused);
  }
  {
    const std::scoped_lock lock(gpu().mutex);
    ++gpu().waits.for_stream;
  }
  queues::wait(stream);
  return wait_until(end_of(stream));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  played_cuda::capture::join(stream, event);
  queues::follow(stream, event);
  const std::scoped_lock lock(gpu().mutex);
  keep(played_cuda::Issued::Kind::kWait, stream, event);
  Clock::time_point& end = gpu().streams[stream];
  end = std::max(end, event_of(event)->time);
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  auto made = std::make_unique<Event>();
  made->keeps_time = (flags & cudaEventDisableTiming) == 0;
  *event = reinterpret_cast<cudaEvent_t>(made.release());
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::unique_ptr<Event> owner(event_of(event));
  queues::forget(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  played_cuda::capture::record(event, stream);
  const double cost_ns = gpu().event_cost_ns.load();
  if (cost_ns > 0) {
    issue(stream, cost_ns);
  }
  queues::record(event, stream);
  event_of(event)->time = std::max(now(), end_of(stream));
  event_of(event)->is_recorded = true;
  const std::scoped_lock lock(gpu().mutex);
  keep(played_cuda::Issued::Kind::kRecord, stream, event);
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t refused = played_cuda::capture::wait_for_event(event);
      refused != cudaSuccess) {
    return fail(refused);
  }
  return queues::is_reached(event) ? is_over(event_of(event)->time) : fail(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  {
    const std::scoped_lock lock(gpu().mutex);
    ++gpu().waits.for_event;
  }
  queues::wait(event);
  return wait_until(event_of(event)->time);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  for (const Event* event : {event_of(begin), event_of(end)}) {
    if (!event->keeps_time || !event->is_recorded) {
      return fail(cudaErrorInvalidResourceHandle);
    }
  }
  const auto between = event_of(end)->time - event_of(begin)->time;
  *ms = std::chrono::duration<float, std::milli>(between).count();
  return cudaSuccess;
}

// ---- kernels

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->binaryVersion = attributes->ptxVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                   std::size_t, unsigned) {
  *blocks = 2;
  return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                void** arguments) {
  return launch(kernel, arguments, config->stream);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void** arguments, std::size_t,
                               cudaStream_t stream) {
  return launch(reinterpret_cast<const void*>(kernel), arguments, stream);
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
char __cudaInitModule(void**) {
  return 0;
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  const std::scoped_lock lock(gpu().mutex);
  gpu().kernels[function] = name;
}
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared = 0;
  void* stream = nullptr;
};
static thread_local Configuration configuration;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream) {
  configuration = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  std::memcpy(stream, &configuration.stream, sizeof(void*));
  return cudaSuccess;
}
}
