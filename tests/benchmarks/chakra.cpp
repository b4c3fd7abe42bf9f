// Times each stage from a PyTorch trace and its Kineto profile, 22 MB together, to a Chakra file,
// and back.

#include "et_schema/formats/chakra/chakra.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/kineto/profile_files.h"
#include "et_schema/formats/pytorch_et/chakra_trace.h"
#include "et_schema/formats/pytorch_et/trace_reader.h"
#include "generator/chakra/chakra_job.h"
#include "generator/job/generate.h"

namespace {

using namespace understudy;  // NOLINT(google-build-using-namespace)

constexpr int kRounds = 9;
constexpr double kMega = 1e6;

/// One stage with its shortest time of all rounds.
struct Stage {
  const char* name;
  double ms = 1e9;
};

class Stages {
 public:
  template <typename Work>
  auto time(const char* name, Work&& work) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = work();
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    auto stage = std::ranges::find(stages_, std::string_view(name),
                                   [](const Stage& known) { return std::string_view(known.name); });
    if (stage == stages_.end()) {
      stages_.push_back({name});
      stage = stages_.end() - 1;
    }
    stage->ms = std::min(stage->ms, ms);
    return result;
  }

  [[nodiscard]] double ms(std::string_view name) const {
    return std::ranges::find(stages_, name,
                             [](const Stage& stage) { return std::string_view(stage.name); })
        ->ms;
  }
  [[nodiscard]] const std::vector<Stage>& all() const { return stages_; }

 private:
  std::vector<Stage> stages_;
};

std::string unpacked(const std::string& path) {
  std::string data;
  et_schema::read_input_files(
      path, {}, [&data](et_schema::InputFile&& file) { data = std::move(file.data); });
  return data;
}

void print_speed() {
  const std::string trace_bytes =
      unpacked(UNDERSTUDY_SAMPLES "/resnet_ddp/resnet_1gpu_et_1.0.3.json.gz");
  const std::string profile_bytes =
      unpacked(UNDERSTUDY_PROFILES "/resnet_2gpu_kineto_rank0.json.gz");
  Stages stages;
  std::string chakra;
  std::size_t nodes = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<et_schema::Trace> traces;
    traces.push_back(stages.time(
        "read the trace", [&] { return et_schema::parse_trace(trace_bytes, "rank-0.json"); }));
    const et_schema::Profile profile = stages.time(
        "read the profile", [&] { return et_schema::parse_kineto(profile_bytes, "kineto.json"); });
    std::vector<generator::Link> links;
    links.push_back(
        stages.time("link", [&] { return generator::link(traces[0], profile, {.step = "all"}); }));
    const et_schema::Bench bench = stages.time("compile", [&] {
      return generator::generate(
          traces, {.step = "all", .partial = generator::PartialRanks::kOneAlone}, links);
    });
    const generator::ChakraJob job = stages.time(
        "nodes and dependencies", [&] { return generator::chakra_of(bench, "chakra"); });
    chakra = stages.time("encode", [&] { return et_schema::chakra_bytes(job.files[0]); });
    nodes = job.files[0].nodes.size();
    et_schema::ChakraFile read =
        stages.time("read it back", [&] { return et_schema::parse_chakra(chakra, "chakra.0.et"); });
    static_cast<void>(
        stages.time("its trace", [&] { return et_schema::trace_of_chakra(std::move(read), 1); }));
  }
  const double both = (static_cast<double>(trace_bytes.size() + profile_bytes.size())) / kMega;
  fmt::print(
      "{:.1f} MB of trace and profile → {} nodes, {:.1f} MB of Chakra; shortest of {} rounds\n",
      both, nodes, static_cast<double>(chakra.size()) / kMega, kRounds);
  double total = 0;
  for (const char* name : {"link", "compile", "nodes and dependencies", "encode"}) {
    total += stages.ms(name);
  }
  const double reading = stages.ms("read the trace") + stages.ms("read the profile");
  fmt::print("{:<34} {:>9}  {:>17}\n", "stage", "ms", "of reading both");
  for (const Stage& stage : stages.all()) {
    fmt::print("{:<34} {:>9.1f}  {:>16.2f}x\n", stage.name, stage.ms, stage.ms / reading);
  }
  fmt::print("{:<34} {:>9.1f}  {:>16.2f}x\n", "link to encode", total, total / reading);
  fmt::print("{:<34} {:>9.1f}  {:>16.2f}x\n", "all, reading included", total + reading,
             (total + reading) / reading);
}

}  // namespace

int main() {
  print_speed();
  return 0;
}
