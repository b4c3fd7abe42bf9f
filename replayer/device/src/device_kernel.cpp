#include "replayer/device/device_kernel.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "et_schema/base/content_hash.h"
#include "replayer/cuda/driver.h"
#include "replayer/device/device.h"

namespace understudy::replayer {
namespace {

// From cuda.h: CUdevice_attribute, CUfunction_attribute, CUlaunchAttributeID.
constexpr int kMajor = 75;
constexpr int kMinor = 76;
constexpr int kMostSharedBytes = 8;
constexpr int kAnyClusterSize = 14;
constexpr int kCooperative = 2;
constexpr int kClusterSize = 4;
constexpr int kClusterScheduling = 5;
constexpr int kDependent = 6;
constexpr unsigned kSpread = 1;

constexpr std::int64_t kUsualSharedBytes = 48 * 1024;
constexpr std::int64_t kUsualClusterBlocks = 8;
constexpr unsigned kWarpThreads = 32;

/// The attributes that Triton's own launcher sets (3.6, backends/nvidia/driver.py).
struct Attributes {
  explicit Attributes(const et_schema::KernelBuild& build) {
    if (build.is_dependent) {
      add(kDependent, {1, 0, 0});
    }
    if (build.is_cooperative) {
      add(kCooperative, {1, 0, 0});
    }
    if (build.cluster_blocks > 1) {
      add(kClusterSize, {static_cast<unsigned>(build.cluster_blocks), 1, 1});
      add(kClusterScheduling, {kSpread, 0, 0});
    }
  }
  void add(int id, const std::array<unsigned, 3>& value) {
    CudaLaunchAttribute& attribute = list.at(count++);
    attribute.id = id;
    std::copy(value.begin(), value.end(), attribute.value);
  }
  std::array<CudaLaunchAttribute, 4> list;
  unsigned count = 0;
};

/// Finds a build's function; the module is loaded once per device. Returns the driver's status.
int find_function(const et_schema::KernelBuild& build, c10::Device device, void*& function) {
  using Key = std::tuple<std::uint64_t, std::string, int>;
  static std::mutex mutex;
  static std::map<Key, void*> known;
  const std::scoped_lock lock(mutex);
  const Key key(et_schema::content_hash(*build.cubin.bytes), build.function, device.index());
  if (const auto found = known.find(key); found != known.end()) {
    function = found->second;
    return 0;
  }
  void* loaded = nullptr;
  int status = cuda_driver().load_module(&loaded, build.cubin.bytes->data());
  if (status == 0) {
    status = cuda_driver().get_function(&function, loaded, build.function.c_str());
  }
  if (status == 0) {
    known.emplace(key, function);
  }
  return status;
}

}  // namespace

std::optional<int> device_architecture(c10::Device device) {
  int major = 0;
  int minor = 0;
  const CudaDriver& driver = cuda_driver();
  if (!device.is_cuda() || !driver.device_attribute ||
      driver.device_attribute(&major, kMajor, device.index()) != 0 ||
      driver.device_attribute(&minor, kMinor, device.index()) != 0) {
    return std::nullopt;
  }
  return major * 10 + minor;
}

std::variant<DeviceKernel, std::string> DeviceKernel::load(const et_schema::KernelBuild& build,
                                                           c10::Device device) {
  const CudaDriver& driver = cuda_driver();
  if (!driver.load_module || !driver.get_function || !driver.set_attribute || !driver.launch_with) {
    return "CUDA's driver lacks cuLaunchKernelEx or what goes before it";
  }
  DeviceKernel kernel;
  kernel.device_ = device;
  kernel.build_ = build;
  int status = find_function(build, device, kernel.function_);
  if (status == 0 && build.shared_bytes > kUsualSharedBytes) {
    status = driver.set_attribute(kernel.function_, kMostSharedBytes,
                                  static_cast<int>(build.shared_bytes));
  }
  if (status == 0 && build.cluster_blocks > kUsualClusterBlocks) {
    status = driver.set_attribute(kernel.function_, kAnyClusterSize, 1);
  }
  if (status != 0) {
    return fmt::format("CUDA's driver does not take its machine code (status {})", status);
  }
  return kernel;
}

void DeviceKernel::launch(const std::array<std::int64_t, 3>& grid, void** arguments) const {
  if (grid[0] * grid[1] * grid[2] == 0) {
    return;
  }
  Attributes attributes(build_);
  CudaLaunch launch;
  launch.grid[0] = static_cast<unsigned>(grid[0] * build_.cluster_blocks);
  launch.grid[1] = static_cast<unsigned>(grid[1]);
  launch.grid[2] = static_cast<unsigned>(grid[2]);
  launch.block[0] = kWarpThreads * static_cast<unsigned>(build_.warps);
  launch.shared_bytes = static_cast<unsigned>(build_.shared_bytes);
  launch.stream = native_stream(device_);
  launch.attributes = attributes.list.data();
  launch.attribute_count = attributes.count;
  const int status = cuda_driver().launch_with(&launch, function_, arguments, nullptr);
  TORCH_CHECK(status == 0, "cuLaunchKernelEx failed with status ", status, " of CUDA's driver");
}

}  // namespace understudy::replayer
