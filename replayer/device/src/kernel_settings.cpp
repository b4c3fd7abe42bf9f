#include "replayer/device/kernel_settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <vector>

#include "et_schema/model/comm_traits.h"
#include "torch_versions.h"

namespace understudy::replayer {
namespace {

constexpr std::array<std::string_view, 6> kPrefixes = {
    "CUBLAS", "CUDNN_", "PYTORCH_CUDA_ALLOC", "PYTORCH_ALLOC", "TORCH_BLAS_", "TORCH_NCCL_"};
constexpr std::string_view kTf32Variable = "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE";
constexpr std::array<std::string_view, 4> kNames = {
    "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING", "NVIDIA_TF32_OVERRIDE", kTf32Variable};

/// Variables with one of these words in their names make libraries write files.
constexpr std::array<std::string_view, 5> kWrites = {"LOG", "DEBUG", "DUMP", "FILE", "PIPE"};

/// Variables of the CPU's libraries; a benchmark does not set them.
constexpr std::array<std::string_view, 8> kCpuPrefixes = {
    "OMP_", "GOMP_", "KMP_", "MKL_", "DNNL_", "ONEDNN_", "MALLOC_", "ATEN_CPU_CAPABILITY"};

bool has_prefix(std::span<const std::string_view> prefixes, std::string_view name) {
  return std::ranges::any_of(prefixes,
                             [name](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string on_or_off(bool value) {
  return value ? "on" : "off";
}

std::optional<bool> parse_switch(const std::string& text) {
  return text == "on" ? std::optional(true) : text == "off" ? std::optional(false) : std::nullopt;
}

/// A setting with its getter and setter; set() returns false for an unknown value.
struct Setting {
  std::string_view name;
  std::function<std::string()> get;
  std::function<bool(const std::string&)> set;
  std::string_view variable = {};  ///< variable that LibTorch reads the setting from when it is
                                   ///< loaded
};

using Getter = bool (at::Context::*)() const;
using Setter = void (at::Context::*)(bool);

Setting switch_of(std::string_view name, Getter get, Setter set) {
  return {name, [get] { return on_or_off((at::globalContext().*get)()); },
          [set](const std::string& text) {
            const std::optional<bool> value = parse_switch(text);
            if (value) {
              (at::globalContext().*set)(*value);
            }
            return value.has_value();
          }};
}

template <typename Option, typename... Switches>
Setting reduction(std::string_view name, Option (at::Context::*get)() const,
                  void (at::Context::*set)(Switches...)) {
  if constexpr (std::is_same_v<Option, bool>) {  // until LibTorch 2.9
    return switch_of(name, get, set);
  } else {
    return {name,
            [get]() -> std::string {
              switch ((at::globalContext().*get)()) {
                case Option::AllowReducedPrecisionWithSplitK:
                  return "on";
                case Option::DisallowReducedPrecisionAllowSplitK:
                  return "off";
                case Option::DisallowReducedPrecisionDisallowSplitK:
                  return "off without split-k";
              }
              return "unknown";
            },
            [set](const std::string& text) {
              const bool known = text == "on" || text == "off" || text == "off without split-k";
              if (known) {
                (at::globalContext().*set)(text == "on", text != "off without split-k");
              }
              return known;
            }};
  }
}

/// The precision of float32 by library and operator, in newer versions of LibTorch.
Setting precision(std::string_view name, const std::string& library, const std::string& op,
                  std::string_view variable = {}) {
  return {name, [library, op] { return float32_precision(library, op); },
          [library, op](const std::string& text) {
            set_float32_precision(library, op, text);
            return true;
          },
          variable};
}

std::string deterministic_algorithms() {
  const at::Context& context = at::globalContext();
  return !context.deterministicAlgorithms()          ? "off"
         : context.deterministicAlgorithmsWarnOnly() ? "warn"
                                                     : "on";
}

bool set_deterministic_algorithms(const std::string& text) {
  const bool known = text == "off" || text == "warn" || text == "on";
  if (known) {
    at::globalContext().setDeterministicAlgorithms(text != "off", text == "warn");
  }
  return known;
}

bool set_benchmark_limit(const std::string& text) {
  int limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  const bool known = error == std::errc() && end == text.data() + text.size() && limit >= 0;
  if (known) {
    at::globalContext().setBenchmarkLimitCuDNN(limit);
  }
  return known;
}

constexpr std::array<std::string_view, at::num_sdp_backends> kAttentions = {
    "math", "flash", "mem_efficient", "cudnn", "overrideable"};  // indexed by at::SDPBackend

/// Returns the attention backends in the order in which they are tried.
std::string attention_priority() {
  std::string text;
  for (const at::SDPBackend backend : at::globalContext().sDPPriorityOrder()) {
    text += text.empty() ? "" : " ";
    text += kAttentions.at(static_cast<std::size_t>(backend));
  }
  return text;
}

bool set_attention_priority(const std::string& text) {
  std::vector<std::int64_t> order;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto* const found = std::ranges::find(kAttentions, word);
    if (found == kAttentions.end() ||
        std::ranges::find(order, found - kAttentions.begin()) != order.end()) {
      return false;
    }
    order.push_back(found - kAttentions.begin());
  }
  if (order.size() != kAttentions.size()) {
    return false;
  }
  at::globalContext().setSDPPriorityOrder(order);
  return true;
}

constexpr std::array<std::string_view, 4> kBlasLibraries = {"default", "cublas", "cublaslt",
                                                            "ck"};  // indexed by at::BlasBackend

std::string blas_library() {
  return std::string(
      kBlasLibraries.at(static_cast<std::size_t>(at::globalContext().blasPreferredBackend())));
}

bool set_blas_library(const std::string& text) {
  const auto* const found = std::ranges::find(kBlasLibraries, text);
  if (found != kBlasLibraries.end()) {
    at::globalContext().setBlasPreferredBackend(
        static_cast<at::BlasBackend>(found - kBlasLibraries.begin()));
  }
  return found != kBlasLibraries.end();
}

/// All settings in the order in which they are set: the legacy name of the matmul precision
/// precedes the names by library.
const std::vector<Setting>& all_settings() {
  using at::Context;
  static const std::vector<Setting> kSettings = {
      {"float32_matmul_precision",
       []() -> std::string {
         constexpr std::array<const char*, 3> kTexts = {"highest", "high", "medium"};
         return kTexts.at(static_cast<std::size_t>(at::globalContext().float32MatmulPrecision()));
       },
       [](const std::string& text) {
         const bool known = text == "highest" || text == "high" || text == "medium";
         if (known) {
           at::globalContext().setFloat32MatmulPrecision(text);
         }
         return known;
       },
       kTf32Variable},
      precision("fp32_precision.cuda.matmul", "cuda", "matmul", kTf32Variable),
      precision("fp32_precision.cuda.conv", "cuda", "conv"),
      precision("fp32_precision.cuda.rnn", "cuda", "rnn"),
      precision("fp32_precision.mkldnn.matmul", "mkldnn", "matmul"),
      precision("fp32_precision.mkldnn.conv", "mkldnn", "conv"),
      precision("fp32_precision.mkldnn.rnn", "mkldnn", "rnn"),
      reduction("fp16_reduction", &Context::allowFP16ReductionCuBLAS,
                &Context::setAllowFP16ReductionCuBLAS),
      reduction("bf16_reduction", &Context::allowBF16ReductionCuBLAS,
                &Context::setAllowBF16ReductionCuBLAS),
      switch_of("fp16_accumulation", &Context::allowFP16AccumulationCuBLAS,
                &Context::setAllowFP16AccumulationCuBLAS),
      switch_of("cudnn.enabled", &Context::userEnabledCuDNN, &Context::setUserEnabledCuDNN),
      switch_of("cudnn.benchmark", &Context::benchmarkCuDNN, &Context::setBenchmarkCuDNN),
      {"cudnn.benchmark_limit",
       [] { return std::to_string(at::globalContext().benchmarkLimitCuDNN()); },
       set_benchmark_limit},
      switch_of("cudnn.deterministic", &Context::deterministicCuDNN,
                &Context::setDeterministicCuDNN),
      switch_of("mkldnn.enabled", &Context::userEnabledMkldnn, &Context::setUserEnabledMkldnn),
      switch_of("mkldnn.deterministic", &Context::deterministicMkldnn,
                &Context::setDeterministicMkldnn),
      switch_of("sdp.flash", &Context::userEnabledFlashSDP, &Context::setSDPUseFlash),
      switch_of("sdp.mem_efficient", &Context::userEnabledMemEfficientSDP,
                &Context::setSDPUseMemEfficient),
      switch_of("sdp.math", &Context::userEnabledMathSDP, &Context::setSDPUseMath),
      switch_of("sdp.cudnn", &Context::userEnabledCuDNNSDP, &Context::setSDPUseCuDNN),
      {"sdp.priority", attention_priority, set_attention_priority},
      {"blas_library", blas_library, set_blas_library},
      {"deterministic_algorithms", deterministic_algorithms, set_deterministic_algorithms},
      // Decided by --threads.
      {"threads", [] { return std::to_string(at::get_num_threads()); },
       [](const std::string&) { return true; }}};
  return kSettings;
}

std::string beside(const std::string& now, const std::string& recorded) {
  return now == recorded ? now : fmt::format("{}, recorded {}", now, recorded);
}

/// Sets or checks a setting. LibTorch throws if two names of the same setting are mixed.
std::string apply(const Setting& setting, const std::string& recorded, const Settings& own) {
  try {
    if (!own.contains(std::string(setting.variable)) && !setting.set(recorded)) {
      return beside("unknown", recorded);
    }
    return beside(setting.get(), recorded);
  } catch (const c10::Error&) {
    return beside("unknown", recorded);
  }
}

}  // namespace

bool is_kernel_variable(const std::string& name, const std::string& value) {
  const bool is_known = et_schema::tunes_nccl(name) ||
                        std::ranges::find(kNames, name) != kNames.end() ||
                        has_prefix(kPrefixes, name);
  const bool writes = std::ranges::any_of(
      kWrites, [&](std::string_view word) { return name.find(word) != std::string::npos; });
  return is_known && !writes && value.find('/') == std::string::npos;
}

Settings own_variables() {
  Settings own;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    const std::string value(text.substr(std::min(name.size() + 1, text.size())));
    if (is_kernel_variable(name, value) || has_prefix(kCpuPrefixes, name)) {
      own[name] = value;
    }
  }
  return own;
}

Settings apply_variables(const Settings& recorded) {
  Settings in_force;
  for (const auto& [name, value] : recorded) {
    if (et_schema::is_of_its_host(name)) {
      in_force[name] = "recorded, not set";
      continue;
    }
    if (!is_kernel_variable(name, value)) {
      continue;
    }
    const char* const own = std::getenv(name.c_str());
    if (own == nullptr) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    in_force[name] = beside(own == nullptr ? value : own, value);
  }
  return in_force;
}

Settings apply_kernel_settings(const Settings& recorded, const Settings& own) {
  Settings in_force;
  for (const Setting& setting : all_settings()) {
    if (const auto found = recorded.find(std::string(setting.name)); found != recorded.end()) {
      in_force[found->first] = apply(setting, found->second, own);
    }
  }
  for (const auto& [name, value] : recorded) {
    in_force.try_emplace(name, beside("unknown", value));
  }
  return in_force;
}

}  // namespace understudy::replayer
