#include "measure.h"

#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "cli/common/output_path.h"
#include "cli/common/stop_signals.h"
#include "et_schema/base/error.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/version.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/formats/operator_times/operator_times.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/calibrator/design/area.h"
#include "replayer/calibrator/measure/made.h"
#include "replayer/cuda/nvml.h"
#include "replayer/device/device.h"
#include "replayer/job/replay.h"
#include "replayer/memory/heap.h"
#include "replayer/memory/page_fault.h"

namespace understudy::cli {
namespace {

using calibrator::Area, calibrator::Call;
using et_schema::MeasuredCall, et_schema::OperatorTimes;

constexpr int kPasses = 2;
constexpr double kSustainedS = 2;
/// A benchmark has so many calls or less: enough that those between two of an operator make it
/// cold.
constexpr std::size_t kMostCalls = 48;
/// The tensors of a benchmark take so many times the largest call's, and one call more.
constexpr std::int64_t kMostBytes = 4;

/// Returns the header of the rows' file. A calibration can only continue a file with the same
/// header.
OperatorTimes header_of(const std::vector<int>& threads, c10::Device device) {
  OperatorTimes times;
  times.tool_version = et_schema::kToolVersion;
  const std::string gpu = gpu_name(device);
  times.benchmark = fmt::format("{}{}{}, torch {}", replayer::describe_environment({}).cpu_model,
                                gpu.empty() ? "" : ", ", gpu, TORCH_VERSION);
  times.device = replayer::device_text(device);
  times.threads = device.is_cpu() ? *std::ranges::max_element(threads) : 1;
  return times;
}

/// Returns the header with the rows of an interrupted calibration.
OperatorTimes rows_in(const std::string& path, OperatorTimes header) {
  if (!std::filesystem::exists(path)) {
    return header;
  }
  OperatorTimes there = et_schema::parse_operator_times(
      et_schema::read_file(path, et_schema::process_limits()), path);
  for (const auto& [field, expected, got] :
       {std::tuple("tool_version", header.tool_version, there.tool_version),
        {"benchmark", header.benchmark, there.benchmark},
        {"device", header.device, there.device}}) {
    refuse_if(expected != got,
              "an interrupted calibration is there that this one cannot go on with", field,
              expected, got, "Remove the file to begin anew, or name another with --output.", path);
  }
  header.rows = std::move(there.rows);
  return header;
}

class Measuring {
 public:
  Measuring(const CalibrateArguments& arguments, Progress& progress)
      : arguments_(arguments),
        progress_(progress),
        device_(replayer::open_device(arguments.device, std::nullopt)),
        limits_(device_.is_cpu() ? calibrator::CallLimits() : calibrator::kGpuLimits),
        threads_(device_.is_cpu() ? arguments.threads : std::vector<int>{1}),
        times_(rows_in(arguments.rows, header_of(arguments.threads, device_))) {
    summary_.found_rows = times_.rows.size();
    for (const MeasuredCall& row : times_.rows) {
      known_.insert(row.conditions ? row.conditions->call : "");
    }
    replayer::HeapPages::keep_heap();  // a page fault has a figure of its own
  }

  CalibrationSummary run() {
    write_rows();
    progress_.show("host");
    summary_.page_fault_ns = replayer::measure_page_fault_ns();
    signals_.listen(arguments_.fit.quiet ? nullptr : kEndingWords);
    progress_.show("ceilings");
    replayer::ReplayOptions options = options_of_replay();
    options.sustained_s = device_.is_cpu() ? 0 : kSustainedS;  // a host's steps are its bursts
    summary_.ceilings =
        calibrator::measure_ceilings(options, threads_, [this] { return is_over(); });
    times_.ceilings = summary_.ceilings;
    write_rows();
    measure_areas();
    summary_.rows = times_.rows.size();
    summary_.spent_s = spent_s();
    summary_.signal = StopSignals::signal();
    return std::move(summary_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Counts = std::map<std::string, std::uint64_t>;

  [[nodiscard]] double spent_s() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  [[nodiscard]] double left_s() const { return arguments_.budget_s - spent_s(); }
  /// Also if the ceilings took the whole budget, one benchmark of calls is measured.
  [[nodiscard]] bool is_over() const {
    return StopSignals::signal() != 0 || (left_s() <= 0 && !times_.rows.empty());
  }

  [[nodiscard]] replayer::ReplayOptions options_of_replay() const {
    replayer::ReplayOptions options;
    options.device = arguments_.device;
    options.passes = kPasses;
    options.cold = true;
    options.monitor.stop_signal = &StopSignals::signal();
    return options;
  }

  /// Measures calls of all areas in rounds, until the budget is spent or no area has another call.
  void measure_areas() {
    std::vector<Area> areas = calibrator::make_areas(arguments_.only, limits_);
    std::vector<std::size_t> round;
    for (std::size_t i = 0; i < areas.size(); ++i) {
      round.insert(round.end(), static_cast<std::size_t>(areas[i].calls()), i);
    }
    // Calls of related operators are apart, so that none warms another's code.
    std::ranges::shuffle(round, std::mt19937_64(0));
    bool has_more = true;
    for (std::size_t done = 0; has_more && !is_over();) {
      has_more = false;
      for (std::size_t i = 0; i < round.size() && !is_over();) {
        std::vector<Call> calls;
        std::int64_t bytes = 0;
        for (; i < round.size() && calls.size() < kMostCalls && bytes < kMostBytes * limits_.bytes;
             ++i) {
          if (std::optional<Call> call = areas[round[i]].next()) {
            has_more = true;
            bytes += tensor_bytes(*call);
            add(*std::move(call), calls);
          }
        }
        progress_.show({"operators", done, std::nullopt, left_s()});
        done += calls.size();
        measure(calls);
      }
    }
  }

  /// Adds a call, unless its rows are there or no LibTorch has it.
  void add(Call call, std::vector<Call>& calls) {
    if (const std::string problem = calibrator::complete(call); !problem.empty()) {
      ++summary_.refused[fmt::format("{}: {}", call.schema, problem)];
    } else if (!known_.contains(to_text(call))) {
      calls.push_back(std::move(call));
    }
  }

  /// Measures the calls with all numbers of threads, and adds their rows to the file.
  void measure(const std::vector<Call>& calls) {
    std::vector<MeasuredCall> rows;
    for (const int threads : threads_) {
      replayer::ReplayOptions options = options_of_replay();
      options.threads = threads;
      calibrator::CallRows made = calibrator::replay_calls(calls, *backend_, options);
      std::ranges::move(made.rows, std::back_inserter(rows));
      // Calls that do not run with one number of threads run with none.
      for (const auto& [what, count] : threads == threads_.front() ? made.refused : Counts()) {
        summary_.refused[what] += count;
      }
    }
    if (!rows.empty() && StopSignals::signal() == 0) {
      std::ranges::move(rows, std::back_inserter(times_.rows));
      write_rows();
    }
  }

  void write_rows() const {
    et_schema::write_file_atomically(arguments_.rows, et_schema::to_json_lines(times_));
  }

  const CalibrateArguments& arguments_;
  Progress& progress_;
  c10::Device device_;
  calibrator::CallLimits limits_;
  std::vector<int> threads_;
  OperatorTimes times_;
  std::set<std::string> known_;  ///< the texts of calls with rows
  std::unique_ptr<backends::Backend> backend_ = backends::make_single_backend({});
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
    return replayer::GpuMonitor(replayer::nvml_library(), replayer::device_pci_bus_id(device))
        .name();
  } catch (const et_schema::Error&) {
    return "";
  }
}

CalibrationSummary measure_operators(const CalibrateArguments& arguments, Progress& progress) {
  refuse_output(arguments.rows, {}, "--output");
  return Measuring(arguments, progress).run();
}

}  // namespace understudy::cli
