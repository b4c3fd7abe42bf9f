#include "cupti.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "cupti_host.h"
#include "et_schema/base/error.h"
#include "et_schema/facts/counter_formulas.h"
#include "replayer/cuda/driver.h"

namespace understudy::replayer {
namespace {

using et_schema::CounterFormula;
using et_schema::Counters;

/// Links carry what a whole GPU sends and receives, beside the work of a range, and cannot be
/// counted together with a range's other counters. GPM counts them.
bool is_of_links(std::string_view counter) {
  return counter == "nvlink_bytes" || counter == "pcie_bytes";
}

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

/// Returns the image of the device's counters. A user without the privilege is refused here.
std::vector<std::uint8_t> availability(const CuptiLibrary& library, CUcontext context) {
  constexpr const char* function = "cuptiProfilerGetCounterAvailability";
  auto asked =
      library.call(function, CUPTI_BLOCK(CUpti_Profiler_GetCounterAvailability_Params, context));
  std::vector<std::uint8_t> image(asked.counterAvailabilityImageSize);
  asked.pCounterAvailabilityImage = image.data();
  library.call(function, asked);
  return image;
}

/// Counts ranges, by the Range Profiler.
class CuptiRanges : public CounterSource {
 public:
  explicit CuptiRanges(c10::Device device) : device_(device), gpu_(device.type()) {
    gpu_.setDevice(device_);
    wait();  // makes the device's context current on this thread
    if (const int status = cuda_driver().get_context(&context_); status != 0) {
      throw et_schema::run_failed("CUDA tells no context",
                                  {.field = "cuCtxGetCurrent", .got = std::to_string(status)});
    }
    library_.call("cuptiProfilerInitialize", CUPTI_BLOCK(CUpti_Profiler_Initialize_Params));
    refuse_unsupported();
    auto chip = CUPTI_BLOCK(CUpti_Device_GetChipName_Params);
    chip.deviceIndex = static_cast<std::uint8_t>(device_.index());
    chip = library_.call("cuptiDeviceGetChipName", chip);
    host_.emplace(library_, chip.pChipName, availability(library_, context_));
  }
  ~CuptiRanges() override {
    object_.reset();
    library_.end("cuptiProfilerDeInitialize", CUPTI_BLOCK(CUpti_Profiler_DeInitialize_Params));
  }

  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const et_schema::CounterFact& fact : et_schema::counter_facts()) {
      const std::string name(fact.name);
      if (std::ranges::any_of(cupti_formulas(name), [this](const CounterFormula& formula) {
            return configured({}, formula).has_value();
          })) {
        names.push_back(name);
      }
    }
    std::ranges::move(host_->metrics(), std::back_inserter(names));
    return names;
  }

  [[nodiscard]] std::size_t prepare(const std::vector<std::string>& names,
                                    std::size_t ranges) override {
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

  [[nodiscard]] std::vector<Counters> take() override {
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

  void begin_pass() override {
    if (object_ == nullptr && counted_ < configurations_.size()) {
      enable(configurations_[counted_]);
    }
    if (object_ != nullptr) {
      library_.call("cuptiRangeProfilerStart",
                    CUPTI_BLOCK(CUpti_RangeProfiler_Start_Params, object_.get()));
    }
  }

  void begin_range(std::size_t range) override {
    wait();
    if (object_ != nullptr) {
      const std::string name = std::to_string(range);
      library_.call("cuptiRangeProfilerPushRange",
                    CUPTI_BLOCK(CUpti_RangeProfiler_PushRange_Params, object_.get(), name.c_str()));
    }
  }

  void end_range() override {
    wait();
    if (object_ != nullptr) {
      library_.call("cuptiRangeProfilerPopRange",
                    CUPTI_BLOCK(CUpti_RangeProfiler_PopRange_Params, object_.get()));
    }
  }

  void end_pass() override {
    if (object_ != nullptr &&
        library_.call("cuptiRangeProfilerStop",
                      CUPTI_BLOCK(CUpti_RangeProfiler_Stop_Params, object_.get()))
                .isAllPassSubmitted != 0) {
      read(configurations_[counted_]);
      object_.reset();
      ++counted_;
    }
  }

 private:
  void wait() const { gpu_.synchronizeDevice(device_.index()); }

  void refuse_unsupported() const {
    auto asked = CUPTI_BLOCK(CUpti_Profiler_DeviceSupported_Params, device_.index());
    asked.api = CUPTI_PROFILER_RANGE_PROFILING;
    asked = library_.call("cuptiProfilerDeviceSupported", asked);
    library_.check("cuptiProfilerDeviceSupported",
                   asked.isSupported != CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ? CUPTI_SUCCESS
                   : asked.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED
                       ? CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES
                   : asked.vGpu == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
                       ? CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED
                       : CUPTI_ERROR_NOT_SUPPORTED);
  }

  /// Returns a configuration of the formula's metrics and these others; nothing if the chip cannot
  /// count them together.
  [[nodiscard]] std::optional<CuptiConfiguration> configured(std::vector<std::string> metrics,
                                                             const CounterFormula& formula) const {
    if (is_of_links(formula.counter)) {
      return std::nullopt;
    }
    return host_->configure(cupti_metrics(std::move(metrics), formula));
  }

  /// Adds the formula's metrics to the first configuration that can count them too, or as another
  /// one.
  [[nodiscard]] bool can_add(const CounterFormula& formula) {
    for (CuptiConfiguration& configuration : configurations_) {
      if (auto joined = configured(configuration.metrics, formula)) {
        configuration = std::move(*joined);
        return true;
      }
    }
    auto alone = configured({}, formula);
    if (alone) {
      configurations_.push_back(std::move(*alone));
    }
    return alone.has_value();
  }

  /// Prepares the context to count the configuration's metrics in ranges.
  void enable(const CuptiConfiguration& configuration) {
    const auto enabled = CUPTI_BLOCK(CUpti_RangeProfiler_Enable_Params, context_);
    object_ = {library_.call("cuptiRangeProfilerEnable", enabled).pRangeProfilerObject,
               [this](CUpti_RangeProfiler_Object* object) {
                 library_.end("cuptiRangeProfilerDisable",
                              CUPTI_BLOCK(CUpti_RangeProfiler_Disable_Params, object));
               }};
    std::vector<const char*> names = cupti_names(configuration.metrics);
    const auto sized =
        CUPTI_BLOCK(CUpti_RangeProfiler_GetCounterDataSize_Params, object_.get(), names.data(),
                    names.size(), metrics_.size(), static_cast<std::uint32_t>(metrics_.size()));
    data_.assign(library_.call("cuptiRangeProfilerGetCounterDataSize", sized).counterDataSize, 0);
    library_.call("cuptiRangeProfilerCounterDataImageInitialize",
                  CUPTI_BLOCK(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, object_.get(),
                              data_.size(), data_.data()));
    auto set = CUPTI_BLOCK(CUpti_RangeProfiler_SetConfig_Params, object_.get(),
                           configuration.image.size(), configuration.image.data(), data_.size(),
                           data_.data(), CUPTI_UserRange, CUPTI_UserReplay, metrics_.size());
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.targetNestingLevel = 1;
    library_.call("cuptiRangeProfilerSetConfig", set);
  }

  /// Stores the configuration's metrics of each range that ran.
  void read(const CuptiConfiguration& configuration) {
    library_.call("cuptiRangeProfilerDecodeData",
                  CUPTI_BLOCK(CUpti_RangeProfiler_DecodeData_Params, object_.get()));
    const auto held = library_.call(
        "cuptiRangeProfilerGetCounterDataInfo",
        CUPTI_BLOCK(CUpti_RangeProfiler_GetCounterDataInfo_Params, data_.data(), data_.size()));
    for (std::size_t i = 0; i < held.numTotalRanges; ++i) {
      const auto named = CUPTI_BLOCK(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
                                     data_.data(), data_.size(), i, "/");
      const char* const name =
          library_.call("cuptiRangeProfilerCounterDataGetRangeInfo", named).rangeName;
      std::size_t range = metrics_.size();
      std::from_chars(name, name + std::strlen(name), range);
      if (range < metrics_.size()) {
        metrics_[range].merge(host_->values(configuration.metrics, data_, i));
      }
    }
  }

  c10::Device device_;
  c10::impl::VirtualGuardImpl gpu_;
  CuptiLibrary library_;
  CUcontext context_ = nullptr;
  std::optional<CuptiHost> host_;
  std::vector<CounterFormula> chosen_;
  std::vector<CuptiConfiguration> configurations_;
  std::size_t counted_ = 0;         ///< configurations of which all passes have run
  std::vector<std::uint8_t> data_;  ///< CUPTI's image of counter data
  std::vector<Counters> metrics_;   ///< of each range, by NVIDIA's names
  /// Counts the configuration behind those that are counted, while its passes run.
  std::unique_ptr<CUpti_RangeProfiler_Object, std::function<void(CUpti_RangeProfiler_Object*)>>
      object_;
};

}  // namespace

std::unique_ptr<CounterSource> open_cupti(c10::Device device) {
  return std::make_unique<CuptiRanges>(device);
}

}  // namespace understudy::replayer
