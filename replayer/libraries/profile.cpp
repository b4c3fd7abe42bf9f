// Profiles the process that loads it, from then until the process ends, into the file named by the
// variable UNDERSTUDY_PROFILE: `replay --op-library libunderstudy_profile.so --sandbox off`. The
// profile shows the kernels that a replay launches, in order and with their grids, as
// torch.profiler shows the original's.

#include <ATen/Context.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <cstdlib>
#include <set>
#include <string>

namespace {

using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

class ProcessProfile {
 public:
  ProcessProfile() {
    const char* const named = std::getenv("UNDERSTUDY_PROFILE");
    if (named == nullptr) {
      return;
    }
    path_ = named;
    std::set<ActivityType> activities{ActivityType::CPU};
    if (at::hasCUDA()) {
      at::globalContext().lazyInitDevice(at::kCUDA);
      activities.insert(ActivityType::CUDA);
    }
    const ProfilerConfig config(ProfilerState::KINETO);
    torch::autograd::profiler::prepareProfiler(config, activities);
    torch::autograd::profiler::enableProfiler(config, activities, {at::RecordScope::FUNCTION});
  }
  ProcessProfile(const ProcessProfile&) = delete;
  ProcessProfile& operator=(const ProcessProfile&) = delete;
  ~ProcessProfile() {
    if (!path_.empty()) {
      torch::autograd::profiler::disableProfiler()->save(path_);
    }
  }

 private:
  std::string path_;
};

/// Thread-local objects of the main thread are destroyed before static ones, and LibTorch's older
/// record of this thread's profiler is destroyed after this one.
const ProcessProfile& profile_of_process() {
  thread_local const ProcessProfile profile;
  return profile;
}

[[maybe_unused]] const ProcessProfile& profile = profile_of_process();

}  // namespace
