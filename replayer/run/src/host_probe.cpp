#include "replayer/run/host_probe.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>

#include "host_probe_source.h"

namespace understudy::replayer {
namespace {

/// These are the values of capture/understudy_capture/host_probe.py. If they or the program change,
/// the probe needs another name.
constexpr const char* kName = "torchscript-1";
constexpr std::int64_t kRounds = 400;
constexpr int kRuns = 3;
constexpr int kSettlingRuns = 10;

}  // namespace

struct HostProbe::Program {
  torch::jit::CompilationUnit unit;
  torch::jit::Function* function = nullptr;

  double run_us(std::int64_t rounds) const {
    torch::jit::Stack stack{rounds};
    const auto begin = std::chrono::steady_clock::now();
    function->run(stack);
    const std::chrono::duration<double, std::micro> spent =
        std::chrono::steady_clock::now() - begin;
    return spent.count();
  }
};

HostProbe::HostProbe() : program_(std::make_unique<Program>()) {
  program_->unit.define(std::nullopt, kHostProbeSource, torch::jit::nativeResolver(), nullptr);
  program_->function = &program_->unit.get_function(c10::QualifiedName("probe"));
  for (int i = 0; i < kSettlingRuns; ++i) {
    static_cast<void>(measure_us());
  }
}

HostProbe::~HostProbe() = default;

double HostProbe::measure_us() {
  double whole_us = std::numeric_limits<double>::infinity();
  double call_us = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRuns; ++i) {
    whole_us = std::min(whole_us, program_->run_us(kRounds));
    call_us = std::min(call_us, program_->run_us(0));  // a caller in another language takes longer
  }
  return whole_us - call_us;
}

std::string HostProbe::kind() {
  const std::string_view version = TORCH_VERSION;
  return std::string(kName) + " " + std::string(version.substr(0, version.find('+')));
}

}  // namespace understudy::replayer
