// Format: nccl-tests' src/util.cu (2.17 to 2.20), version 2 of its JSON.
#include "sweep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli/common/run_main.h"
#include "cli/pages/document/from_json.h"
#include "et_schema/base/error.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/input_limit.h"
#include "et_schema/base/output_file.h"
#include "et_schema/model/comm_traits.h"
#include "job.h"
#include "replayer/backends/interface/launcher.h"
#include "replayer/device/device.h"
#include "replayer/job/rank_gpus.h"

namespace understudy::cli {
namespace {

using calibrator::CollectiveCall;
using calibrator::SweepOptions;
using calibrator::SweptPlace;
using calibrator::SweptSize;
using et_schema::CommKind;
using SweepJson = nlohmann::ordered_json;

constexpr int kNcclTestsVersion = 2;

/// Returns size ÷ time in GB/s (1e9), as seen by a link of the kind's ring.
double bus_bw(const CollectiveCall& call, const SweptPlace& place) {
  return static_cast<double>(call.bytes) / place.ns * et_schema::bus_factor(call.kind, call.ranks);
}

SweepJson place_json(const CollectiveCall& call, const std::optional<SweptPlace>& place) {
  constexpr double kNsPerUs = 1e3;
  if (!place) {
    return nullptr;
  }
  return {{"time", place->ns / kNsPerUs},
          {"alg_bw", static_cast<double>(call.bytes) / place->ns},
          {"bus_bw", bus_bw(call, *place)},
          {"nwrong", place->wrong}};
}

SweepJson result_json(const SweptSize& size, const std::string& name, int iterations) {
  const et_schema::CommTraits& traits = et_schema::traits(size.call.kind);
  const std::int64_t elements = size.call.bytes / item_size(size.call.dtype);
  // nccl-tests counts one part of kinds that move a part per rank.
  const bool is_of_part = traits.bus == et_schema::BusFactor::kRing;
  return {{"size", size.call.bytes},
          {"count", is_of_part ? elements / size.call.ranks : elements},
          {"type", "float"},
          {"redop", traits.reduces ? "sum" : "none"},
          {"root", fmt::format("{:>6}", traits.has_root ? 0 : -1)},
          {"out_of_place", place_json(size.call, size.out_of_place)},
          {"in_place", place_json(size.call, size.in_place)},
          {"actual_iterations", iterations},
          {"experiment_name", name + "_perf"}};
}

/// Returns "2.28.3" as NCCL's number, 22803; 0 for other backends.
int nccl_version(const SweepRun& run) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  const bool is_nccl = run.backend == "nccl" &&
                       std::sscanf(run.version.c_str(), "%d.%d.%d", &major, &minor, &patch) >= 2;
  constexpr int kOfMajor = 10000;
  constexpr int kOfMinor = 100;
  return is_nccl ? kOfMajor * major + kOfMinor * minor + patch : 0;
}

SweepJson config_json(const SweepOptions& options, CommKind kind, const SweepRun& run) {
  SweepJson devices = SweepJson::array();
  const std::size_t ranks = et_schema::is_message(kind) ? 2 : run.hosts.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    devices.push_back({{"rank", rank},
                       {"group", 0},
                       {"pid", std::stol(run.pids[rank])},
                       {"hostname", run.hosts[rank]}});
  }
  return {{"nthreads", 1},
          {"ngpus", 1},
          {"minimum_bytes", options.least_bytes},
          {"maximum_bytes", options.most_bytes},
          {"step_factor", options.factor},
          {"warmup_iters", options.warmup},
          {"iterations", options.iterations},
          {"aggregated_iterations", 1},
          {"validation", 1},
          {"graph", 0},
          {"blocking_collectives", "false"},
          {"devices", std::move(devices)}};
}

/// Returns the document of a kind, named as the user typed it.
SweepJson kind_json(const ReplayArguments& arguments, std::size_t kind, const SweepRun& run) {
  const SweepOptions& options = arguments.sweep;
  const std::string& name = arguments.sweep_names[kind];
  SweepJson results = SweepJson::array();
  std::int64_t wrong = 0;
  double sum_of_bus_bw = 0;
  int places = 0;
  for (const SweptSize& size : run.sizes) {
    if (size.call.kind != options.kinds[kind]) {
      continue;
    }
    results.push_back(result_json(size, name, options.iterations));
    for (const std::optional<SweptPlace>& place : {size.out_of_place, size.in_place}) {
      wrong += place ? place->wrong : 0;
      sum_of_bus_bw += place ? bus_bw(size.call, *place) : 0;
      places += place ? 1 : 0;
    }
  }
  return {{"version", kNcclTestsVersion},
          {"start_time", run.start_time},
          {"args", {"replay", "--sweep", name}},
          {"env", SweepJson::array()},
          {"nccl_version", nccl_version(run)},
          {"backend", run.backend},
          {"on_device", run.on_device},
          {"config", config_json(options, options.kinds[kind], run)},
          {"results", std::move(results)},
          {"out_of_bounds", {{"count", wrong}, {"okay", wrong == 0 ? "true" : "false"}}},
          {"average_bus_bandwidth",
           {{"bandwidth", places == 0 ? 0 : sum_of_bus_bw / places}, {"okay", "unchecked"}}},
          {"errors", SweepJson::array()},
          {"end_time", run.end_time}};
}

}  // namespace

CommKind swept_kind(const std::string& name) {
  const std::optional<CommKind> kind = et_schema::kind_of_measured_name(name);
  if (!kind || et_schema::traits(*kind).sizes == et_schema::CommSizes::kNone) {
    throw et_schema::usage_error(
        "not a communication that can be swept",
        {.field = "--sweep",
         .expected = "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, "
                     "all_to_allv, gather, scatter or sendrecv",
         .got = name});
  }
  return *kind == CommKind::kRecv ? CommKind::kSend : *kind;
}

void read_sweep_sizes(const std::string& text, SweepOptions& options) {
  std::vector<std::optional<std::uint64_t>> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    numbers.push_back(et_schema::parse_bytes(text.substr(at, end - at)));
    at = end + 1;
  }
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
  constexpr std::size_t kParts = 3;
  const std::uint64_t least = numbers.front().value_or(0);
  const std::uint64_t most = numbers.size() > 1 ? numbers[1].value_or(0) : least;
  const std::uint64_t factor = numbers.size() > 2 ? numbers[2].value_or(0) : 2;
  if (numbers.size() > kParts || least == 0 || most < least || most > kMost || factor < 2 ||
      factor > kMost) {
    throw et_schema::usage_error("not the sizes of a sweep",
                                 {.field = "--sizes",
                                  .expected = "LEAST:MOST:FACTOR such as 1K:1G:2, the factor 2 or "
                                              "more; or one size",
                                  .got = text});
  }
  options.least_bytes = static_cast<std::int64_t>(least);
  options.most_bytes = static_cast<std::int64_t>(most);
  options.factor = static_cast<std::int64_t>(factor);
}

std::string sweep_time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local)};
}

pages::Page sweep_page(const ReplayArguments& arguments, const SweepRun& run) {
  using pages::counts, pages::figures, pages::texts;
  SweepJson sweeps = SweepJson::array();
  pages::Page page;
  for (std::size_t kind = 0; kind < arguments.sweep.kinds.size(); ++kind) {
    sweeps.push_back(kind_json(arguments, kind, run));
  }
  const SweepJson document = {{"sweeps", std::move(sweeps)}};
  std::int64_t wrong = 0;
  for (std::size_t kind = 0; kind < arguments.sweep.kinds.size(); ++kind) {
    wrong += document["sweeps"][kind]["out_of_bounds"]["count"].get<std::int64_t>();
    const std::string& name = arguments.sweep_names[kind];
    page.sections.push_back(
        {fmt::format("sweep-{}", kind),
         name,
         {pages::table_at(
             document, fmt::format("/sweeps/{}/results", kind),
             name + ", out of place and in place",
             {counts("size"), counts("count"), figures("time µs", "out_of_place/time"),
              figures("algbw", "out_of_place/alg_bw"), figures("busbw", "out_of_place/bus_bw"),
              counts("#wrong", "out_of_place/nwrong"), figures("in place µs", "in_place/time"),
              figures("algbw", "in_place/alg_bw"), figures("busbw", "in_place/bus_bw"),
              counts("#wrong", "in_place/nwrong"), texts("type"), texts("redop")})}});
  }
  page.title = fmt::format("Sweep of {} ranks by {}", run.hosts.size(), run.backend);
  page.subtitle = "sizes in bytes, bandwidth in GB/s, as nccl-tests count them";
  page.verdict.tone = wrong == 0 ? pages::Tone::kGood : pages::Tone::kBad;
  page.verdict.sentence =
      wrong == 0 ? "All results are right."
                 : fmt::format("{} elements are wrong.",
                               et_schema::with_commas(static_cast<std::uint64_t>(wrong)));
  return made_by("replay", std::move(page), document, "sweep.json");
}

void write_sweep(const ReplayArguments& arguments, const SweepRun& run) {
  for (std::size_t kind = 0; kind < arguments.sweep.kinds.size(); ++kind) {
    std::filesystem::path path(arguments.report_path);
    if (arguments.sweep.kinds.size() > 1) {
      path.replace_extension("." + arguments.sweep_names[kind] + path.extension().string());
    }
    et_schema::write_file_atomically(path.string(), kind_json(arguments, kind, run).dump(1) + "\n");
  }
}

int ReplayJob::sweep() {
  if (is_alone()) {
    throw et_schema::usage_error(
        "one rank has nobody to communicate with",
        {.field = "--sweep",
         .expected = "two ranks or more",
         .got = "one process without a launcher",
         .hint = "mpirun -np 8 replay --sweep all_reduce, or torchrun --no-python"});
  }
  SweepRun run;
  run.start_time = sweep_time_now();
  run.hosts = backend_->all_gather_text(backend_->host());
  run.pids = backend_->all_gather_text(std::to_string(getpid()));
  const c10::Device device =
      replayer::open_device(arguments_.options.device, backends::launched_local_rank());
  const std::unique_ptr<backends::DeviceCommunicator> gpus =
      replayer::connect_gpus(*backend_, device);
  run.on_device = gpus != nullptr;
  run.backend = gpus == nullptr ? backend_->name() : gpus->name();
  run.version = gpus == nullptr ? backend_->version() : gpus->version();
  backends::Communicator& communicator =
      gpus == nullptr ? static_cast<backends::Communicator&>(*backend_) : *gpus;
  signals_.listen(is_first() ? kEndingWords : nullptr);
  run.sizes = calibrator::sweep_collectives(
      *backend_, {communicator, device}, arguments_.sweep,
      [] { return StopSignals::signal() != 0; },
      [&](std::size_t done, const std::string& what, double) {
        progress_.show({what, done, std::nullopt, std::nullopt});
      });
  progress_.clear();
  run.end_time = sweep_time_now();
  const pages::Page page = sweep_page(arguments_, run);
  if (is_first()) {
    const bool is_silent = arguments_.quiet && !arguments_.report_path.empty();
    print_output(is_silent && arguments_.format == Format::kText
                     ? ""
                     : pages::written(page, arguments_.format));
    if (!arguments_.report_path.empty()) {
      write_sweep(arguments_, run);
    }
  }
  together([&] {
    if (page.verdict.tone == pages::Tone::kBad) {
      throw et_schema::run_failed("communication gave wrong results",
                                  {.field = "--sweep",
                                   .expected = "results that the inputs of all ranks make",
                                   .got = page.verdict.sentence});
    }
  });
  return StopSignals::signal() == 0 ? kStatusOk : status_of_signal(StopSignals::signal());
}

}  // namespace understudy::cli
