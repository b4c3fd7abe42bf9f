// Measures reading: bytes in memory → validated Trace, compared with a cold simdjson DOM parse of
// the same bytes in the same process; and a Kineto profile → Profile. Prints one line per figure.
// Speeds are those of the fastest round, which other programs on the machine disturbed least. The
// ratio is the median of the rounds' ratios, each of two halves that run side by side.

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/statistics.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "et_schema/formats/pytorch_et/trace_reader.h"

namespace {

using namespace understudy::et_schema;  // NOLINT(google-build-using-namespace)

constexpr int kRounds = 15;

std::string read_one(const std::string& path) {
  std::string data;
  read_input_files(path, {}, [&data](InputFile&& file) { data = std::move(file.data); });
  return data;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double fastest(const std::vector<double>& samples) {
  return *std::min_element(samples.begin(), samples.end());
}

void print(const char* name, double value, const char* unit) {
  fmt::print("{:<34} {:>8.2f} {}\n", name, value, unit);
}

int run(const std::string& trace_path, const std::string& kineto_path) {
  constexpr double kMega = 1e6;
  const std::string json = read_one(trace_path);
  const simdjson::padded_string padded(json);
  std::vector<double> ours;
  std::vector<double> dom;
  std::vector<double> ratios;
  std::size_t nodes = 0;
  for (int i = 0; i < kRounds; ++i) {
    dom.push_back(seconds_of([&padded] {
      simdjson::dom::parser parser;
      simdjson::dom::element element;
      if (parser.parse(padded).get(element) != simdjson::SUCCESS) {
        throw std::runtime_error("the sample is no JSON");
      }
    }));
    ours.push_back(
        seconds_of([&json, &nodes] { nodes = parse_trace(json, "sample").nodes.size(); }));
    ratios.push_back(ours.back() / dom.back());
  }
  const auto bytes = static_cast<double>(json.size());
  fmt::print("{}: {:.1f} MB, {} nodes; {} rounds\n", trace_path, bytes / kMega, nodes, kRounds);
  print("trace, bytes to Trace", bytes / kMega / fastest(ours), "MB/s");
  print("simdjson DOM, new parser", bytes / kMega / fastest(dom), "MB/s");
  print("time against the DOM's", *median(ratios), "x");

  const std::string profile = read_one(kineto_path);
  std::vector<double> kineto;
  std::size_t events = 0;
  for (int i = 0; i < kRounds; ++i) {
    kineto.push_back(seconds_of(
        [&profile, &events] { events = parse_kineto(profile, "sample").events.size(); }));
  }
  const auto profile_bytes = static_cast<double>(profile.size());
  fmt::print("{}: {:.1f} MB, {} events\n", kineto_path, profile_bytes / kMega, events);
  print("Kineto, bytes to Profile", profile_bytes / kMega / fastest(kineto), "MB/s");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string samples = UNDERSTUDY_SAMPLES;
  try {
    return run(argc > 1 ? argv[1] : samples + "/resnet_ddp/resnet_1gpu_et_1.1.1.json.tar.gz",
               argc > 2 ? argv[2] : samples + "/gpt_adamw_fused/rank-0.kineto.json.gz");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
