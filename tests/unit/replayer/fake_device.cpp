#include "fake_device.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <memory>

namespace understudy::replayer::testing {
namespace {

struct State {
  std::vector<std::string> log;
  int failures = 0;
};

State& state() {
  static State the_state;
  return the_state;
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  [[nodiscard]] c10::DeviceType type() const override { return c10::kPrivateUse1; }
  [[nodiscard]] c10::Device exchangeDevice(c10::Device) const override { return getDevice(); }
  [[nodiscard]] c10::Device getDevice() const override { return FakeDevice::device(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  [[nodiscard]] c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  [[nodiscard]] c10::Stream exchangeStream(c10::Stream stream) const override {
    return getStream(stream.device());
  }
  [[nodiscard]] c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
    state().log.emplace_back(*event == nullptr ? "event" : "record");
    if (*event == nullptr) {
      *event = std::make_unique<int>(0).release();
    }
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    const std::unique_ptr<int> owner(static_cast<int*>(event));
  }
  [[nodiscard]] bool queryEvent(void*) const override { return true; }
  [[nodiscard]] double elapsedTime(void*, void*, c10::DeviceIndex) const override {
    return FakeDevice::kElapsedMs;
  }
  void synchronizeDevice(c10::DeviceIndex) const override { wait(); }
  void synchronizeStream(const c10::Stream&) const override { wait(); }

 private:
  static void wait() {
    state().log.emplace_back("synchronize");
    if (state().failures > 0) {
      --state().failures;
      TORCH_CHECK(false, "an illegal memory access");
    }
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

}  // namespace

void FakeDevice::reset() {
  state() = {};
}

const std::vector<std::string>& FakeDevice::log() {
  return state().log;
}

void FakeDevice::fail_synchronizations(int count) {
  state().failures = count;
}

}  // namespace understudy::replayer::testing
