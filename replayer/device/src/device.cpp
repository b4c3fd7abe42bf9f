#include "replayer/device/device.h"

#include <ATen/Context.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <latch>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/open_library.h"
#include "loaded_function.h"
#include "replayer/cuda/driver.h"
#include "torch_versions.h"

namespace understudy::replayer {
namespace {

[[noreturn]] void refuse(const std::string& text, std::string expected, std::string got,
                         std::string hint) {
  throw et_schema::usage_error("the replay cannot run on " + text, {.field = "--device",
                                                                    .expected = std::move(expected),
                                                                    .got = std::move(got),
                                                                    .hint = std::move(hint)});
}

/// Parses a device. A CUDA device without an index is this rank's.
std::optional<c10::Device> parse(const std::string& text) {
  if (text == "cpu") {
    return c10::Device(c10::kCPU);
  }
  const std::string cuda = "cuda";
  if (text == cuda) {
    return c10::Device(c10::kCUDA);
  }
  const std::string digits = text.size() > cuda.size() ? text.substr(cuda.size() + 1) : "";
  constexpr std::size_t kMostDigits = 2;
  if (text.rfind(cuda + ":", 0) != 0 || digits.empty() || digits.size() > kMostDigits ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(std::stoi(digits)));
}

/// Returns the folder of this process's LibTorch.
std::filesystem::path torch_folder() {
  Dl_info info{};
  const void* const address = reinterpret_cast<const void*>(&at::globalContext);
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  return std::filesystem::path(info.dli_fname).parent_path();
}

void load_cuda(const std::string& text) {
  const std::filesystem::path library = torch_folder() / "libtorch_cuda.so";
  if (et_schema::open_library(library) == nullptr) {
    refuse(text, "a LibTorch with CUDA", dlerror(),
           "Build with -DUNDERSTUDY_TORCH_ROOT=DIR of a CUDA build of LibTorch or of the torch "
           "wheel, or use --device cpu.");
  }
}

/// Calls a function of the runtime, which must exist and succeed.
template <typename... Parameters>
void call_runtime(const char* name, std::type_identity_t<Parameters>... arguments) {
  auto* const function = loaded_function<int(Parameters...)>(name);
  TORCH_CHECK(function != nullptr, "CUDA's runtime has no ", name);
  const int status = function(arguments...);
  TORCH_CHECK(status == 0, name, " failed with status ", status, " of CUDA's runtime");
}

/// Frees memory of cudaMalloc, which the allocator does not know.
void free_block(void* block) {
  loaded_function<int(void*)>("cudaFree")(block);
}

/// Clears the error of a failed call. Otherwise LibTorch would find it after its next kernel and
/// attribute it to that kernel.
void forget_error() {
  if (auto* const get = loaded_function<int()>("cudaGetLastError")) {
    static_cast<void>(get());
  }
}

/// Returns LibTorch's reason for the missing GPU; empty if it has none.
std::string why_no_gpu() {
  auto* const count =
      loaded_function<c10::DeviceIndex()>("_ZN3c104cuda28device_count_ensure_non_zeroEv");
  try {
    if (count != nullptr) {
      static_cast<void>(count());
    }
    return {};
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return text.substr(0, text.find('\n'));
  }
}

}  // namespace

std::optional<int> choose_gpu(std::optional<int> local_rank, int count) {
  if (!local_rank || count == 1) {
    return count > 0 ? std::optional(0) : std::nullopt;
  }
  return *local_rank < count ? local_rank : std::nullopt;
}

c10::Device open_device(const std::string& text, std::optional<int> local_rank) {
  std::optional<c10::Device> device = parse(text);
  if (!device) {
    refuse("'" + text + "'", "cpu, cuda or cuda:N", text, "");
  }
  if (device->is_cpu()) {
    return *device;
  }
  load_cuda(text);
  if (!c10::impl::hasDeviceGuardImpl(device->type())) {
    refuse(text, "a LibTorch with CUDA", "one that does not know the device",
           "Build with -DUNDERSTUDY_TORCH_ROOT=DIR of a CUDA build of LibTorch, or use --device "
           "cpu.");
  }
  const c10::DeviceIndex count = c10::impl::VirtualGuardImpl(device->type()).deviceCount();
  if (count > 0 && !device->has_index()) {
    const std::optional<int> own = choose_gpu(local_rank, count);
    if (!own) {
      refuse(fmt::format("{}: rank {} of this host has no GPU of its own", text, *local_rank),
             fmt::format("at least {} GPUs, or a single one that is visible to each rank",
                         *local_rank + 1),
             fmt::format("{} GPUs", count),
             "Start as many ranks a host as it has GPUs, or name the GPU that they share: --device "
             "cuda:0.");
    }
    device->set_index(static_cast<c10::DeviceIndex>(*own));
  }
  if (count == 0 || device->index() >= count) {
    const std::string why = count == 0 ? why_no_gpu() : "";
    refuse(text, "a GPU of that number and its driver",
           why.empty() ? fmt::format("{} GPUs", count) : why,
           "nvidia-smi lists the GPUs of this machine; use --device cpu where there is none.");
  }
  at::globalContext().lazyInitDevice(device->type());
  c10::impl::VirtualGuardImpl(device->type()).setDevice(*device);
  return *device;
}

void synchronize(c10::Device device) {
  if (!device.is_cpu()) {
    c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
  }
}

void synchronize_stream(c10::Device device) {
  if (!device.is_cpu()) {
    c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
  }
}

void* native_stream(c10::Device device) {
  return device.is_cpu()
             ? nullptr
             : native_handle(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

std::uint64_t device_peak_bytes(c10::Device device) {
  if (device.is_cpu()) {
    return 0;
  }
  const auto stats = at::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  return static_cast<std::uint64_t>(stats.allocated_bytes[0].peak);
}

void reset_device_peak(c10::Device device) {
  if (!device.is_cpu()) {
    at::getDeviceAllocator(device.type())->resetPeakStats(device.index());
  }
}

void open_product_handles(c10::Device device, std::size_t threads) {
  if (!device.is_cuda() || threads < 2) {
    return;
  }
  const auto multiply = [device] {
    try {
      c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
      const at::Tensor numbers = at::ones({8, 8}, at::TensorOptions().device(device));
      static_cast<void>(at::mm(numbers, numbers));
    } catch (const c10::Error&) {
      // The step's own products report the error.
    }
  };
  multiply();
  std::latch all(static_cast<std::ptrdiff_t>(threads) - 1);
  std::vector<std::jthread> others;
  while (others.size() + 1 < threads) {
    others.emplace_back([&] {
      multiply();
      all.arrive_and_wait();  // a handle of an ended thread would be reused by the next one
    });
  }
}

void reset_device_counts(c10::Device device) {
  if (!device.is_cpu()) {
    at::getDeviceAllocator(device.type())->resetAccumulatedStats(device.index());
  }
}

std::optional<et_schema::DeviceMemory> device_memory(c10::Device device) {
  if (device.is_cpu()) {
    return std::nullopt;
  }
  const auto stats = at::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  const auto count = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  et_schema::DeviceMemory memory;
  memory.peak_bytes = count(stats.allocated_bytes[0].peak);
  memory.peak_requested_bytes = count(stats.requested_bytes[0].peak);
  memory.peak_reserved_bytes = count(stats.reserved_bytes[0].peak);
  memory.allocations = count(stats.allocation[0].allocated);
  memory.driver_allocations = count(stats.num_device_alloc);
  memory.driver_frees = count(stats.num_device_free);
  memory.retries = count(stats.num_alloc_retries);
  return memory;
}

std::optional<std::uint64_t> device_free_bytes(c10::Device device) {
  if (device.is_cpu()) {
    return std::nullopt;
  }
  try {
    return free_bytes(*at::getDeviceAllocator(device.type()), device.index());
  } catch (const c10::NotImplementedError&) {
    return std::nullopt;
  }
}

void empty_device_cache(c10::Device device) {
  if (!device.is_cpu()) {
    at::getDeviceAllocator(device.type())->emptyCache();
  }
}

bool hold_stream(c10::Device device, double ms) {
  if (!device.is_cuda()) {
    return false;
  }
  // LibTorch's kernel that spins for a number of SM clocks (ATen/cuda/Sleep.h).
  static auto* const sleep = loaded_function<void(std::int64_t)>("_ZN2at4cuda5sleepEl");
  if (sleep == nullptr) {
    return false;
  }
  constexpr double kFastestClocksPerMs = 2e6;
  sleep(static_cast<std::int64_t>(ms * kFastestClocksPerMs));
  return true;
}

std::string device_pci_bus_id(c10::Device device) {
  auto* const get = loaded_function<int(char*, int, int)>("cudaDeviceGetPCIBusId");
  constexpr int kTextBytes = 32;
  std::array<char, kTextBytes> text{};
  if (!device.is_cuda() || get == nullptr || get(text.data(), kTextBytes, device.index()) != 0) {
    return {};
  }
  return text.data();
}

std::string device_uuid(c10::Device device) {
  constexpr std::size_t kBytes = 16;
  std::array<unsigned char, kBytes> bytes{};
  const auto& get = cuda_driver().device_uuid;
  if (!device.is_cuda() || !get || get(bytes.data(), device.index()) != 0) {
    return {};
  }
  std::string text;
  for (std::size_t i = 0; i < kBytes; ++i) {
    const bool begins_group = i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", begins_group ? "-" : "", bytes[i]);
  }
  return text;
}

c10::Storage device_block(c10::Device device, std::size_t bytes) {
  auto* const allocate = loaded_function<int(void**, std::size_t)>("cudaMalloc");
  if (!device.is_cuda() || allocate == nullptr) {
    return {};
  }
  void* block = nullptr;
  if (allocate(&block, bytes) != 0) {
    forget_error();
    return {};
  }
  return {c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(block, block, &free_block, device),
          nullptr, false};
}

void copy_on_device(c10::Device device, void* to, const void* from, std::size_t bytes) {
  constexpr int kDeviceToDevice = 3;
  call_runtime<void*, const void*, std::size_t, int, void*>("cudaMemcpyAsync", to, from, bytes,
                                                            kDeviceToDevice, native_stream(device));
}

void fill_zeros_on_device(c10::Device device, void* to, std::size_t bytes) {
  call_runtime<void*, int, std::size_t, void*>("cudaMemsetAsync", to, 0, bytes,
                                               native_stream(device));
}

void seed_generators(c10::Device device, std::uint64_t seed) {
  std::vector<c10::Device> devices = {c10::Device(c10::kCPU)};
  if (!device.is_cpu()) {
    devices.push_back(device);
  }
  for (const c10::Device& each : devices) {
    at::Generator generator = at::globalContext().defaultGenerator(each);
    const std::scoped_lock lock(generator.mutex());
    generator.set_current_seed(seed);
  }
}

std::string device_text(c10::Device device) {
  return device.str();
}

}  // namespace understudy::replayer
