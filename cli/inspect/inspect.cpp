#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/common/output.h"
#include "cli/common/own_names.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "cli/compile/compile.h"
#include "cli/pages/report/report_page.h"
#include "documents.h"
#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "et_schema/formats/report/report_json.h"
#include "op_times.h"
#include "predictor/calls/measured_files.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    R"(  understudy inspect traces/                         counts of every rank in a folder
  understudy inspect traces/ --by phase              where the step's time went
  understudy inspect dlrm.tar.gz --collectives       each communication, with its bytes
  understudy inspect profile.json.gz --device-time   where a GPU's time went, from a profile alone
  understudy inspect bench.et                        a benchmark: instructions, bytes, losses
  understudy inspect bench.et --match                whether the ranks' communications fit
  understudy inspect bench.et --stragglers           which rank is slow, and the step without it
  understudy inspect out.json --format html > r.html a report of replay as a page, for a browser)";

/// What is shown: the content, or a page of its own.
enum class View : std::uint8_t { kContent, kMemory, kMatch, kStragglers, kDeviceTime, kKernels };

struct Arguments {
  std::vector<std::string> paths;
  Format format = Format::kText;
  InspectOptions shown;
  View view = View::kContent;
  std::string names;  ///< of a report
  ProfileChoice profiles;
  bool quiet = false;
  std::string of_traces;     ///< first flag in use that only traces accept
  std::string of_no_report;  ///< first flag in use that reports do not accept
};

void add_ops_options(CommandLine& line, Arguments& arguments) {
  line.begin(FlagGroup::kOutput);
  line.add_choice("--by WHAT",
                  {{"name", GroupBy::kName},
                   {"class", GroupBy::kClass},
                   {"module", GroupBy::kModule},
                   {"phase", GroupBy::kPhase},
                   {"shape", GroupBy::kShape}},
                  arguments.shown.by,
                  "Operators: calls, recorded times, shares of the whole; a row for each name, "
                  "class, module (labels around it), phase (forward, backward, optimizer, data) or "
                  "shape of its tensors");
  line.begin(FlagGroup::kInput);
  add_profile_option(line, arguments.profiles,
                     "With --by or --stragglers, of traces: Kineto profiles that give the times");
}

/// Adds the flags of separate pages. They exclude each other, and the details of traces.
void add_views(CommandLine& line, Arguments& arguments) {
  std::vector<std::string> others = {"--by", "--collectives", "--certificate", "--tree"};
  const auto add = [&](const char* flag, View view, const char* text) {
    line.add_flag(
            flag, [&arguments, view] { arguments.view = view; }, text)
        .excludes(others);
    others.emplace_back(flag);
  };
  add("--memory", View::kMemory, "Live tensors over the step, and the largest at its peak");
  add("--match", View::kMatch,
      "All ranks' communication matched against each other; status 1 if it does not match");
  add("--stragglers", View::kStragglers,
      "Of profiles of all ranks, or a benchmark with recorded times: which rank is slow and in "
      "what, the step without it, and each collective's time apart from waits");
  add("--device-time", View::kDeviceTime,
      "Of Kineto profiles, without a trace: all device time, by class, launch and kernel");
  add("--kernels", View::kKernels,
      "Of a benchmark: its compiled kernels, with registers, shared memory, share of device time");
}

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  CommandLine line(
      {.name = "understudy inspect",
       .description = "Shows what is in PyTorch execution traces and Chakra traces: nodes, "
                      "operators, collectives, and what was repaired.",
       .examples = kExamples,
       .success = "all was shown",
       .failure = "ranks do not match",
       .common = {"--profile", "--by", "--collectives", "--tree", "--memory", "--match",
                  "--stragglers", "--device-time", "--certificate", "--format"}});
  line.add("TRACE", arguments.paths,
           "Traces (plain or gzipped), archives (.tar, .tar.gz, .zip) or folders; or one bench.et; "
           "or one report of replay")
      .required();
  add_ops_options(line, arguments);
  line.begin(FlagGroup::kOutput);
  line.add_flag("--collectives", arguments.shown.collectives,
                "Each communication call; of a benchmark also what was decided of it, and why");
  line.add_flag("--certificate", arguments.shown.certificate,
                "A benchmark's certificate: hashes of it and of its sources");
  line.add_flag("--tree", arguments.shown.tree, "Every node, indented by its depth (traces only)");
  add_views(line, arguments);
  line.add_format(arguments.format);
  line.begin(FlagGroup::kInput);
  line.was_replaced("--platform", "understudy operators ROWS --platform FILE");
  add_names_option(line, arguments.names);
  line.add_quiet(arguments.quiet, "the result is printed");
  line.parse(argc, argv);
  arguments.of_traces = line.first_given({"--tree", "--profile"});
  refuse_if(!arguments.profiles.files.empty() && !arguments.shown.by &&
                arguments.view != View::kStragglers,
            "profiles without a question to them", "--profile", "--by or --stragglers with it",
            "neither", "understudy inspect --help shows examples");
  arguments.of_no_report = line.first_given(
      {"--by", "--collectives", "--certificate", "--tree", "--memory", "--match", "--stragglers"});
  return arguments;
}

void require_benchmark(const Arguments& arguments, const char* summary, const char* flag) {
  refuse_if(!is_one_benchmark(arguments.paths), summary, flag, "one bench.et",
            arguments.paths.size() == 1 ? "something else" : "several files",
            "generate makes benchmarks of traces", arguments.paths.front());
}

pages::Page inspect_traces(const Arguments& arguments, Progress& progress) {
  if (arguments.shown.certificate) {
    require_benchmark(arguments, "only a benchmark has a certificate", "--certificate");
  }
  JobTraces job = read_job(arguments.paths, "all");
  std::vector<RankOps> ops;
  if (arguments.shown.by) {
    const std::vector<generator::Link> links =
        link_profiles(arguments.paths, job, arguments.profiles, std::nullopt, progress);
    for (std::size_t i = 0; i < job.set.traces.size(); ++i) {
      const bool has_times = !links.empty() && links[i].has_times;
      ops.push_back(
          group_operators(job.set.traces[i], has_times ? &links[i] : nullptr, *arguments.shown.by));
    }
  }
  return traces_page(job.set, ops, arguments.shown);
}

/// Throws on flags of nodes and of profiles to link: a benchmark holds only instructions.
void refuse_details_of_benchmark(const Arguments& arguments) {
  refuse_if(!arguments.of_traces.empty(), arguments.of_traces + " is for traces",
            arguments.of_traces,
            "traces; of a benchmark --by, --collectives, --memory or --certificate", "a benchmark",
            "inspect the traces that it was made from", arguments.paths[0]);
}

pages::Page inspect_bench(const Arguments& arguments) {
  refuse_details_of_benchmark(arguments);
  const std::string& path = arguments.paths[0];
  const et_schema::Bench bench = et_schema::read_bench(path);
  et_schema::use_operator_maps(bench, path);
  return bench_page(bench, path, arguments.shown);
}

/// Loads a benchmark, or compiles traces as `replay` does.
et_schema::Bench load_job(const Arguments& arguments, Progress& progress) {
  if (is_one_benchmark(arguments.paths)) {
    refuse_details_of_benchmark(arguments);
  }
  const generator::GenerateOptions options{.partial = generator::PartialRanks::kOneAlone,
                                           .allowed_operators = all_operators()};
  return load_benchmark(arguments.paths, options, arguments.profiles, progress).bench;
}

std::string name_of(const std::vector<std::string>& paths) {
  std::filesystem::path first(paths.front());
  first = first.has_filename() ? first : first.parent_path();
  return paths.size() == 1 ? first.filename().string() : fmt::format("{} files", paths.size());
}

/// Returns true if the first lines name the file a report of `replay --report`.
bool is_report_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return false;
  }
  // zlib reads plain files as they are. Of an archive the first byte is a name's.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string head(et_schema::kReportHeadBytes, '\0');
  const int bytes = file ? gzread(file.get(), head.data(), static_cast<unsigned>(head.size())) : 0;
  head.resize(static_cast<std::size_t>(std::max(bytes, 0)));
  return head.starts_with('{') && et_schema::starts_as_report(head);
}

pages::Page page_of(const Arguments& arguments, Progress& progress) {
  if (arguments.view == View::kDeviceTime) {
    return device_time_page(arguments.paths);
  }
  if (arguments.view == View::kKernels) {
    require_benchmark(arguments, "only a benchmark holds compiled kernels", "--kernels");
    return kernels_page(et_schema::read_bench(arguments.paths[0]));
  }
  refuse_if(std::ranges::all_of(arguments.paths, predictor::is_named_table),
            "measured operators have a verb of their own", "TRACE", "traces, or a bench.et",
            "operators' times", "understudy operators " + arguments.paths[0], arguments.paths[0]);
  if (arguments.view == View::kMemory) {
    return memory_page(load_job(arguments, progress), arguments.format);
  }
  if (arguments.view == View::kMatch) {
    return matching_page(load_job(arguments, progress), name_of(arguments.paths));
  }
  if (arguments.view == View::kStragglers) {
    return stragglers_page(load_job(arguments, progress), name_of(arguments.paths));
  }
  return is_one_benchmark(arguments.paths) ? inspect_bench(arguments)
                                           : inspect_traces(arguments, progress);
}

std::string inspect_report(const Arguments& arguments) {
  const std::string& path = arguments.paths[0];
  refuse_if(!arguments.of_no_report.empty(), "a report has no such details", "", "--format alone",
            arguments.of_no_report, "inspect the benchmark or its traces", path);
  std::string text;
  et_schema::read_input_files(path, et_schema::process_limits(),
                              [&](et_schema::InputFile&& file) { text = std::move(file.data); });
  return pages::written(pages::report_page(et_schema::parse_report(
                            with_own_names(std::move(text), arguments.names), path)),
                        arguments.format);
}

int inspect(const Arguments& arguments) {
  Progress progress(arguments.quiet);
  progress.tick();
  progress.show("reading");
  const bool is_view = arguments.view == View::kDeviceTime || arguments.view == View::kKernels;
  if (!is_view && arguments.paths.size() == 1 && is_report_file(arguments.paths[0])) {
    print_output(inspect_report(arguments));
    return kStatusOk;
  }
  refuse_if(!arguments.names.empty(), "only a report of replay has names to put back", "--names",
            "one report", "something else", "give it a vendor's report");
  const pages::Page page = page_of(arguments, progress);
  const std::string output = pages::written(page, arguments.format);
  progress.clear();
  print_output(output);
  // Only the page of --match can have the tone kBad, if the ranks' communication does not match.
  return page.verdict.tone == pages::Tone::kBad ? static_cast<int>(et_schema::ErrorKind::kFailed)
                                                : kStatusOk;
}

const Verb kVerb("inspect", "Shows what is in traces, captures, benchmarks and reports",
                 [](int argc, char** argv) { return inspect(read_arguments(argc, argv)); });

}  // namespace
}  // namespace understudy::cli
