#include "measure.h"

#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <variant>

#include "cli/common/output_path.h"
#include "cli/common/stop_signals.h"
#include "et_schema/base/error.h"
#include "et_schema/base/version.h"
#include "et_schema/facts/schema_text.h"
#include "replayer/calibrator/design/ceilings.h"
#include "replayer/calibrator/measure/caller.h"
#include "replayer/calibrator/measure/page_fault.h"
#include "replayer/cuda/nvml.h"
#include "replayer/device/device.h"
#include "replayer/job/replay.h"

namespace understudy::cli {
namespace {

using calibrator::Call;
using et_schema::MeasuredCall;

/// Returns the header of the rows' file. A calibration can only continue a file with the same
/// header.
et_schema::OperatorTimes header_of(const std::vector<int>& threads, c10::Device device) {
  et_schema::OperatorTimes times;
  times.tool_version = et_schema::kToolVersion;
  const std::string gpu = gpu_name(device);
  times.benchmark = fmt::format("{}{}{}, torch {}", replayer::describe_environment({}).cpu_model,
                                gpu.empty() ? "" : ", ", gpu, TORCH_VERSION);
  times.device = replayer::device_text(device);
  times.threads = device.is_cpu() ? *std::ranges::max_element(threads) : 1;
  return times;
}

class Measuring {
 public:
  Measuring(const CalibrateArguments& arguments, Progress& progress)
      : arguments_(arguments),
        progress_(progress),
        device_(replayer::open_device(arguments.device, std::nullopt)),
        threads_(device_.is_cpu() ? arguments.threads : std::vector<int>{1}),
        journal_(arguments.rows, header_of(arguments.threads, device_)),
        caller_({.threads = threads_, .limits = {}, .seed = 0, .device = device_}) {
    summary_.found_rows = journal_.found();
    summary_.found_s = journal_.found_s();
    summary_.found_cut_line = journal_.found_cut_line();
  }

  CalibrationSummary run() {
    progress_.show("host");
    summary_.page_fault_ns = calibrator::measure_page_fault_ns();
    signals_.listen(arguments_.fit.quiet ? nullptr : kEndingWords);
    measure_ceilings();
    if (wants_tables()) {
      // Tables get a tenth of the budget. The rest is for some hundred operators.
      summary_.tables = measure_tables(
          {.path = tables_file(arguments_.rows),
           .threads = threads_.front(),
           .budget_s = arguments_.budget_s / 10},
          [this] { return is_over(); }, progress_);
    }
    sweep();
    summary_.rows = journal_.times().rows.size();
    summary_.spent_s = spent_s();
    summary_.signal = StopSignals::signal();
    return std::move(summary_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Tables are measured on a CPU only. On a GPU, FBGEMM's operators access tables, and replays of
  /// benchmarks measure these calls.
  [[nodiscard]] bool wants_tables() const {
    return device_.is_cpu() && (arguments_.only.empty() || arguments_.only == "embedding");
  }

  [[nodiscard]] double spent_s() const {
    return journal_.found_s() + std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  [[nodiscard]] double left_s() const { return arguments_.budget_s - spent_s(); }
  [[nodiscard]] bool is_over() const { return StopSignals::signal() != 0 || left_s() <= 0; }

  /// Calls that this LibTorch refuses have no ceiling.
  void measure_ceilings() {
    const bool is_host = device_.is_cpu();
    for (const calibrator::CeilingCall& asked : calibrator::ceiling_calls(!is_host)) {
      progress_.show("ceilings");
      auto outcome = is_over() ? calibrator::Refusal() : caller_.time(asked.call);
      if (auto* const rows = std::get_if<std::vector<MeasuredCall>>(&outcome)) {
        for (const MeasuredCall& row : *rows) {
          if (row.conditions->is_cold == (asked.name == "DRAM")) {
            summary_.ceilings.push_back({is_host ? "cpu" : "cuda",
                                         is_host ? row.conditions->threads : 0, asked.is_bandwidth,
                                         asked.name, asked.work / row.time().min_ns * 1e9});
          }
        }
      }
    }
  }

  /// Measures the call with all requested thread counts, or finds its rows. Returns its time;
  /// nothing if the call is refused.
  std::optional<double> time(const Call& call, const std::string& text) {
    if (const std::optional<double> known = known_ns(text)) {
      return known;
    }
    auto outcome = caller_.time(call);
    if (const auto* refusal = std::get_if<calibrator::Refusal>(&outcome)) {
      ++summary_
            .refused[fmt::format("{}: {}", et_schema::operator_name(call.schema), refusal->reason)];
      return std::nullopt;
    }
    auto& rows = std::get<std::vector<MeasuredCall>>(outcome);
    const double ns = rows.front().time().median_ns;
    for (MeasuredCall& row : rows) {
      row.instruction = journal_.times().rows.size();
      row.conditions->call = text;
      row.conditions->at_s = spent_s();
      journal_.add(std::move(row));
    }
    return ns;
  }

  /// Returns the cold time with the first thread count, if the call was timed with all of them.
  std::optional<double> known_ns(const std::string& text) const {
    std::set<int> threads;
    std::optional<double> ns;
    for (const MeasuredCall* const row : journal_.rows_of(text)) {
      threads.insert(row->conditions->threads);
      if (row->conditions->is_cold && row->conditions->threads == threads_.front()) {
        ns = row->time().median_ns;
      }
    }
    const bool has_all =
        std::ranges::all_of(threads_, [&](int number) { return threads.contains(number); });
    return has_all ? ns : std::nullopt;
  }

  void sweep() {
    calibrator::Rotation rotation(calibrator::make_areas(
        arguments_.only, device_.is_cpu() ? calibrator::CallLimits{} : calibrator::kGpuLimits));
    for (std::size_t done = 0; !is_over(); ++done) {
      const std::optional<Call> call = rotation.next();
      if (!call) {
        break;
      }
      progress_.show({"operators", done, std::nullopt, left_s()});
      const double begin_s = spent_s();
      const bool is_timed = time(*call, to_text(*call)).has_value();
      rotation.add(is_timed, spent_s() - begin_s);
    }
    summary_.areas = rotation.counts();
  }

  const CalibrateArguments& arguments_;
  Progress& progress_;
  c10::Device device_;
  std::vector<int> threads_;
  calibrator::Journal journal_;
  calibrator::Caller caller_;
  StopSignals signals_;
  CalibrationSummary summary_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

std::string gpu_name(c10::Device device) {
  if (device.is_cpu()) {
    return "";
  }
  try {
    const replayer::GpuMonitor monitor(replayer::nvml_library(),
                                       replayer::device_pci_bus_id(device));
    return monitor.name();
  } catch (const et_schema::Error&) {
    return "";
  }
}

std::string tables_file(const std::string& rows) {
  return rows + ".tables";
}

CalibrationSummary measure_operators(const CalibrateArguments& arguments, Progress& progress) {
  refuse_output(arguments.rows, {}, "--output");
  return Measuring(arguments, progress).run();
}

}  // namespace understudy::cli
