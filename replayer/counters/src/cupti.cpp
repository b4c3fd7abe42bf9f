#include "cupti.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "cupti_host.h"
#include "cupti_ranges.h"
#include "et_schema/base/error.h"
#include "et_schema/facts/counter_formulas.h"

namespace understudy::replayer {
namespace {

using et_schema::CounterFormula;
using et_schema::Counters;

/// Returns a counter's formulas; a metric of NVIDIA's is its own.
std::vector<CounterFormula> cupti_formulas(const std::string& counter) {
  std::vector<CounterFormula> formulas;
  std::ranges::copy_if(et_schema::counter_formulas(), std::back_inserter(formulas),
                       [&](const CounterFormula& formula) { return formula.counter == counter; });
  formulas.push_back({counter, {{counter}}});
  return formulas;
}

/// Returns the metrics of a configuration and those of a formula.
std::vector<std::string> cupti_metrics(std::vector<std::string> metrics,
                                       const CounterFormula& formula) {
  for (const CounterFormula::Term& term : formula.terms) {
    if (std::ranges::find(metrics, term.metric) == metrics.end()) {
      metrics.push_back(term.metric);
    }
  }
  return metrics;
}

class CuptiSource : public CounterSource {
 public:
  explicit CuptiSource(c10::Device device) : device_(device), gpu_(device.type()) {
    gpu_.setDevice(device_);
    wait();  // makes the device's context current on this thread
    const et_schema::SharedLibrary driver("libcuda.so.1", RTLD_LOCAL);
    if (auto* const current = driver.function<int(CUcontext*)>("cuCtxGetCurrent")) {
      current(&context_);
    }
    library_.call("cuptiProfilerInitialize", CUPTI_BLOCK(CUpti_Profiler_Initialize_Params));
    refuse_unsupported();
    auto chip = CUPTI_BLOCK(CUpti_Device_GetChipName_Params);
    chip.deviceIndex = static_cast<std::size_t>(device_.index());
    chip = library_.call("cuptiDeviceGetChipName", chip);
    host_.emplace(library_, chip.pChipName, availability());
  }
  ~CuptiSource() override {
    ranges_.reset();
    auto ended = CUPTI_BLOCK(CUpti_Profiler_DeInitialize_Params);
    static_cast<void>(library_.status_of("cuptiProfilerDeInitialize", ended));
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const et_schema::CounterFact& fact : et_schema::counter_facts()) {
      const std::string name(fact.name);
      if (std::ranges::any_of(cupti_formulas(name), [this](const CounterFormula& formula) {
            return host_->configure(cupti_metrics({}, formula)).has_value();
          })) {
        names.push_back(name);
      }
    }
    std::ranges::move(host_->metrics(), std::back_inserter(names));
    return names;
  }

  bool counts_calls() const override { return true; }

  std::size_t prepare(const std::vector<std::string>& names, std::size_t ranges) override {
    ranges_.reset();
    chosen_.clear();
    configurations_.clear();
    counted_ = 0;
    metrics_.assign(ranges, {});
    for (const std::string& name : names) {
      const std::vector<CounterFormula> formulas = cupti_formulas(name);
      const auto chosen = std::ranges::find_if(
          formulas, [this](const CounterFormula& formula) { return can_add(formula); });
      if (chosen != formulas.end()) {
        chosen_.push_back(*chosen);
      }
    }
    std::size_t passes = 0;
    for (const CuptiConfiguration& configuration : configurations_) {
      passes += configuration.passes;
    }
    return passes;
  }

  void begin_pass() override {
    if (ranges_ == nullptr && counted_ < configurations_.size()) {
      ranges_ = std::make_unique<CuptiRanges>(library_, context_, configurations_[counted_],
                                              metrics_.size());
    }
    if (ranges_ != nullptr) {
      ranges_->begin_pass();
    }
  }

  void begin_range(std::size_t range) override {
    wait();
    if (ranges_ != nullptr) {
      ranges_->begin_range(range);
    }
  }

  void end_range() override {
    wait();
    if (ranges_ != nullptr) {
      ranges_->end_range();
    }
  }

  void end_pass() override {
    if (ranges_ != nullptr && ranges_->end_pass()) {
      ranges_->read(*host_, metrics_);
      ranges_.reset();
      ++counted_;
    }
  }

  std::vector<Counters> take() override {
    if (counted_ < configurations_.size()) {
      throw et_schema::run_failed("CUPTI needs more passes than it said", {.field = "cupti"});
    }
    std::vector<Counters> counters(metrics_.size());
    for (std::size_t i = 0; i < counters.size(); ++i) {
      for (const CounterFormula& formula : chosen_) {
        if (const std::optional<double> value = et_schema::value_of(formula, metrics_[i])) {
          counters[i].emplace(formula.counter, *value);
        }
      }
    }
    metrics_.clear();
    return counters;
  }

 private:
  void wait() const { gpu_.synchronizeDevice(device_.index()); }

  void refuse_unsupported() const {
    auto asked = CUPTI_BLOCK(CUpti_Profiler_DeviceSupported_Params);
    asked.cuDevice = device_.index();
    asked.api = CUPTI_PROFILER_RANGE_PROFILING;
    asked = library_.call("cuptiProfilerDeviceSupported", asked);
    const bool is_forbidden = asked.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED;
    const std::array<std::pair<CUpti_Profiler_Support_Level, CUptiResult>, 7> levels = {{
        {asked.architecture, CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED},
        {asked.sli, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED},
        {asked.vGpu, is_forbidden ? CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES
                                  : CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED},
        {asked.confidentialCompute, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED},
        {asked.cmp, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED},
        {asked.wsl, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED},
        {asked.isSupported, CUPTI_ERROR_NOT_SUPPORTED},
    }};
    for (const auto& [level, status] : levels) {
      const bool is_refused = level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ||
                              level == CUPTI_PROFILER_CONFIGURATION_DISABLED;
      library_.check("cuptiProfilerDeviceSupported", is_refused ? status : CUPTI_SUCCESS);
    }
  }

  /// Returns the image of the device's counters. A user without the privilege is refused here.
  [[nodiscard]] std::vector<std::uint8_t> availability() const {
    auto asked = CUPTI_BLOCK(CUpti_Profiler_GetCounterAvailability_Params);
    asked.ctx = context_;
    asked = library_.call("cuptiProfilerGetCounterAvailability", asked);
    std::vector<std::uint8_t> image(asked.counterAvailabilityImageSize);
    asked.pCounterAvailabilityImage = image.data();
    library_.call("cuptiProfilerGetCounterAvailability", asked);
    return image;
  }

  /// Adds the formula's metrics to the first configuration that can count them too, or as another
  /// one: links (NVLink, PCIe) cannot be counted together with a context's metrics.
  [[nodiscard]] bool can_add(const CounterFormula& formula) {
    for (CuptiConfiguration& configuration : configurations_) {
      if (auto joined = host_->configure(cupti_metrics(configuration.metrics, formula))) {
        configuration = std::move(*joined);
        return true;
      }
    }
    auto alone = host_->configure(cupti_metrics({}, formula));
    if (alone) {
      configurations_.push_back(std::move(*alone));
    }
    return alone.has_value();
  }

  c10::Device device_;
  c10::impl::VirtualGuardImpl gpu_;
  CuptiLibrary library_;
  CUcontext context_ = nullptr;
  std::optional<CuptiHost> host_;
  std::vector<CounterFormula> chosen_;
  std::vector<CuptiConfiguration> configurations_;
  std::size_t counted_ = 0;              ///< configurations of which all passes have run
  std::unique_ptr<CuptiRanges> ranges_;  ///< counts the configuration behind them
  std::vector<Counters> metrics_;        ///< of each range, by NVIDIA's names
};

}  // namespace

std::unique_ptr<CounterSource> open_cupti(c10::Device device) {
  return std::make_unique<CuptiSource>(device);
}

}  // namespace understudy::replayer
