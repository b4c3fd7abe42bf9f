#include "fleet/gallery/gallery.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/zip.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/report/report_json.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/open_comms.h"
#include "fleet/comparer/device_work.h"
#include "fleet/comparer/run.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;

using et_schema::Program;

constexpr const char* kBenchmarkName = "bench.et";
constexpr const char* kRecordedEnding = ".et";
constexpr const char* kReportEnding = ".json.gz";

bool was_on_device(const et_schema::Bench& bench) {
  return std::ranges::any_of(bench.programs, [](const Program& program) {
    return program.profile && program.profile->operators_device_ns > 0;
  });
}

/// Returns the recorded times of a benchmark as a report: the device's if it had one, else the
/// host's.
et_schema::Report recorded_report(const et_schema::Bench& bench) {
  constexpr double kMsPerNs = 1e-6;
  const bool on_device = was_on_device(bench);
  std::map<std::string, et_schema::OperatorTime> operators;
  for (const Program& program : bench.programs) {
    for (const et_schema::Instruction& instruction : program.instructions) {
      if (const auto& timing = instruction.timing) {
        et_schema::OperatorTime& row = operators[instruction.name];
        row.name = instruction.name;
        row.op_class = et_schema::is_communication(instruction)
                           ? "communication"
                           : et_schema::op_class(instruction.name);
        ++row.count;
        row.ms += static_cast<double>(on_device ? timing->device_ns : timing->host_ns) * kMsPerNs;
      }
    }
  }
  et_schema::Report report;
  report.total.operators = et_schema::values_of(std::move(operators));
  return report;
}

et_schema::Report read_report(const std::string& path) {
  et_schema::Report report;
  et_schema::read_input_files(path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
    report = et_schema::parse_report(file.data, file.name);
  });
  return report;
}

/// Makers of GPUs have operators of their own, so hashes of recorded steps may differ.
void refuse_other_operators(const et_schema::Report& own, const std::string& benchmark,
                            const et_schema::Report& recorded, const std::string& file) {
  comparer::Run a = comparer::run_of(own, benchmark);
  comparer::Run b = comparer::run_of(recorded, file);
  a.is_profile = b.is_profile = true;
  comparer::refuse_different_operators(a, b);
}

/// `own`: the recorded times of the step's benchmark.
void add_references(const et_schema::Report& own, GalleryStep& step) {
  std::map<std::pair<std::string, bool>, GalleryReference> references;
  std::vector<fs::path> paths(fs::directory_iterator(step.folder), fs::directory_iterator{});
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    const std::string file = path.string();
    const std::string name = path.filename().string();
    const bool is_recorded = name != kBenchmarkName && name.ends_with(kRecordedEnding);
    if (!is_recorded && !name.ends_with(kReportEnding)) {
      continue;
    }
    et_schema::Report report =
        is_recorded ? recorded_report(et_schema::read_bench(file)) : read_report(file);
    if (is_recorded) {
      refuse_other_operators(own, step.benchmark(), report, file);
    } else if (report.environment.benchmark_hash != step.hash) {
      throw et_schema::bad_input("a reference of another benchmark",
                                 {.file = file,
                                  .field = "environment.benchmark_hash",
                                  .expected = step.hash,
                                  .got = report.environment.benchmark_hash,
                                  .hint = "delete it if the benchmark was made again"});
    }
    const std::string platform = name.substr(0, name.find('.'));
    GalleryReference& reference = references[{platform, is_recorded}];
    reference.platform = platform;
    reference.is_recorded = is_recorded;
    reference.reports.push_back(std::move(report));
  }
  step.references = et_schema::values_of(std::move(references));
}

GalleryStep read_step(const fs::path& folder) {
  GalleryStep step;
  step.folder = folder.string();
  step.name = fs::canonical(folder).filename().string();
  const et_schema::Bench bench = et_schema::read_bench(step.benchmark());
  step.hash = et_schema::benchmark_hash(bench);
  step.on_device = was_on_device(bench);
  const et_schema::Report own = recorded_report(bench);
  for (const et_schema::OperatorTime& row : own.total.operators) {
    step.classes.insert(row.op_class);
  }
  add_references(own, step);
  return step;
}

}  // namespace

std::vector<GalleryStep> read_gallery(const std::string& folder) {
  std::vector<fs::path> folders = {folder};
  if (fs::is_directory(folder)) {
    folders.insert(folders.end(), fs::directory_iterator(folder), fs::directory_iterator{});
  }
  std::erase_if(folders, [](const fs::path& each) { return !fs::exists(each / kBenchmarkName); });
  if (folders.empty()) {
    throw et_schema::usage_error("no step to replay",
                                 {.file = folder,
                                  .expected = "a folder whose folders hold a bench.et each",
                                  .got = fs::exists(folder) ? "none" : "no such folder",
                                  .hint = "docs/gallery.md says how steps are added"});
  }
  std::ranges::sort(folders);
  std::vector<GalleryStep> steps;
  std::ranges::transform(folders, std::back_inserter(steps), read_step);
  return steps;
}

std::string reference_path(const GalleryStep& step, const std::string& platform,
                           std::size_t number) {
  return fmt::format("{}/{}.{}{}", step.folder, platform, number, kReportEnding);
}

void save_reference(const GalleryStep& step, const std::string& platform,
                    std::vector<et_schema::Report> reports) {
  std::size_t number = 0;
  for (et_schema::Report& report : reports) {
    for (et_schema::RankReport& rank : report.ranks) {
      static_cast<et_schema::RunFigures&>(rank) = {};  // the job's figures are compared
    }
    et_schema::write_file_atomically(reference_path(step, platform, ++number),
                                     et_schema::gzip_bytes(et_schema::to_json(report)));
  }
  while (fs::remove(reference_path(step, platform, ++number))) {
  }
}

}  // namespace understudy::fleet
