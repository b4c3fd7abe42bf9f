#include "device_backend.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "replayer/backends/interface/device_communicator.h"

namespace understudy::tests {
namespace {

using backends::Backend;
using backends::Call;
using backends::GroupId;
using backends::Work;
using et_schema::CommKind;
using et_schema::DeviceType;

/// Waits with CUDA's runtime, as the program that has the tensors would do.
void wait_for_device() {
  using Synchronize = int (*)();
  void* const runtime = dlopen("libcudart.so.13", RTLD_NOW);
  const auto synchronize =
      runtime == nullptr ? nullptr
                         : reinterpret_cast<Synchronize>(dlsym(runtime, "cudaDeviceSynchronize"));
  if (synchronize == nullptr || synchronize() != 0) {
    throw std::runtime_error("CUDA's played runtime is not there");
  }
}

class DeviceBackend : public Backend {
 public:
  DeviceBackend(std::unique_ptr<Backend> host, double time_limit_s)
      : host_(std::move(host)), device_(connect_played(*host_, {.time_limit_s = time_limit_s})) {
    connect(0, {});
  }

  [[nodiscard]] std::string name() const override { return device_->name(); }
  [[nodiscard]] std::string version() const override { return device_->version(); }
  [[nodiscard]] int rank() const override { return host_->rank(); }
  [[nodiscard]] int world_size() const override { return host_->world_size(); }
  [[nodiscard]] std::vector<std::string> all_gather_text(const std::string& text) override {
    return host_->all_gather_text(text);
  }
  void barrier() override { host_->barrier(); }
  void set_time_limit(double seconds) override {
    host_->set_time_limit(seconds);
    device_->set_time_limit(seconds);
  }
  void note_progress() override { host_->note_progress(); }
  void interrupt() override { device_->interrupt(); }
  [[noreturn]] void abort(int status) override {
    host_->abort(status);
    std::_Exit(status);  // g++ does not trust a virtual function's [[noreturn]]
  }

  [[nodiscard]] GroupId make_group(const std::string& name, std::span<const int> ranks) override {
    const GroupId id = device_->make_group(name, ranks);
    connect(id, ranks);
    return id;
  }
  [[nodiscard]] std::unique_ptr<Work> start(const Call& call) override {
    return device_->start(placed(call));
  }
  void prepare(std::span<const Call> calls) override { device_->prepare(calls); }
  [[nodiscard]] std::vector<std::unique_ptr<Work>> start_batch(
      std::span<const Call* const> calls) override {
    std::vector<Call> all;
    for (const Call* const call : calls) {
      all.push_back(placed(*call));
    }
    std::vector<const Call*> pointers;
    for (const Call& call : all) {
      pointers.push_back(&call);
    }
    return device_->start_batch(pointers);
  }
  backends::Ended wait(std::unique_ptr<Work> work) override {
    const backends::Ended ended = device_->wait(std::move(work));
    wait_for_device();
    return ended;
  }
  void run(const Call& call) override {
    device_->run(placed(call));
    wait_for_device();
  }

 private:
  /// Connects all that this rank may call in the group; `ranks` are those of make_group().
  void connect(GroupId group, std::span<const int> ranks) {
    std::vector<int> members(ranks.begin(), ranks.end());
    if (members.empty()) {
      members.resize(static_cast<std::size_t>(world_size()));
      std::iota(members.begin(), members.end(), 0);
    }
    std::vector<Call> calls;
    if (std::ranges::find(members, rank()) != members.end()) {
      calls.push_back(call_of(CommKind::kBarrier, group));
      for (std::size_t peer = 0; peer < members.size(); ++peer) {
        if (members[peer] == rank()) {
          continue;
        }
        for (const CommKind kind : {CommKind::kSend, CommKind::kRecv}) {
          calls.push_back(call_of(kind, group));
          calls.back().root_or_peer = static_cast<int>(peer);
        }
      }
    }
    device_->prepare(calls);
  }
  [[nodiscard]] static Call call_of(CommKind kind, GroupId group) {
    return {.kind = kind, .group = group, .memory = DeviceType::kCuda};
  }
  [[nodiscard]] Call placed(Call call) const {
    call.memory = DeviceType::kCuda;
    call.memory = device_->takes(call) ? DeviceType::kCuda : DeviceType::kCpu;
    return call;
  }

  std::unique_ptr<Backend> host_;
  std::unique_ptr<backends::DeviceCommunicator> device_;  // after its host, so it ends first
};

/// A function that the fake has beside NCCL's; none where the fake is not loaded.
template <typename Function>
Function of_fake(const char* name) {
  void* const nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  return nccl == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(nccl, name));
}

}  // namespace

std::string nccl_log() {
  const auto log = of_fake<const char* (*)()>("fake_nccl_log");
  return log == nullptr ? std::string() : log();
}

std::unique_ptr<backends::DeviceCommunicator> connect_played(
    Backend& host, const backends::BackendOptions& options) {
  // Before LibTorch loads the real ones: it finds these by their names then.
  for (const char* const library : {"libcuda.so.1", "libcudart.so.13", "libnccl.so.2"}) {
    if (dlopen(library, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      throw std::runtime_error(dlerror());
    }
  }
  return backends::connect_devices(host, options);
}

std::unique_ptr<Backend> make_device_backend(std::unique_ptr<Backend> host, double time_limit_s) {
  return std::make_unique<DeviceBackend>(std::move(host), time_limit_s);
}

}  // namespace understudy::tests
