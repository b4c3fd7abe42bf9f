// Measures linking: a trace of 14,391 nodes with a profile of 40,573 events, once both are parsed;
// and a profile of 1 GB, a real one repeated, from its bytes to times. Prints one line per figure.
// The large one, `benchmark_link --large`, needs 4 GB of memory.

#include "generator/link/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/formats/kineto/profile_files.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "peak_memory.h"

namespace {

using namespace understudy;  // NOLINT(google-build-using-namespace)

constexpr int kRounds = 15;
constexpr double kMega = 1e6;

std::string read_one(const std::string& path) {
  std::string data;
  et_schema::read_input_files(
      path, {}, [&data](et_schema::InputFile&& file) { data = std::move(file.data); });
  return data;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void print(const char* name, double value, const char* unit) {
  fmt::print("{:<42} {:>10.2f} {}\n", name, value, unit);
}

void link_resnet(const std::string& samples, const std::string& profiles) {
  const std::string trace_path = samples + "/resnet_ddp/resnet_1gpu_et_1.0.3.json.gz";
  const std::string profile_path = profiles + "/resnet_2gpu_kineto_rank0.json.gz";
  const double before = peak_bytes();
  const et_schema::Trace trace = std::move(et_schema::read_traces({trace_path}).front());
  et_schema::Profile profile;
  et_schema::read_profiles({profile_path}, 1,
                           [&](int, et_schema::Profile&& read) { profile = std::move(read); });
  const generator::LinkOptions options{"all", {}, {}};
  std::vector<double> samples_s;
  std::uint64_t joined = 0;
  for (int i = 0; i < kRounds; ++i) {
    samples_s.push_back(seconds_of(
        [&] { joined = generator::link(trace, profile, options).profile.nodes_joined; }));
  }
  const auto inputs = static_cast<double>(trace.content_bytes + profile.content_bytes);
  fmt::print("{} nodes of {} with {} events; {} rounds\n", joined, trace.nodes.size(),
             profile.events.size(), kRounds);
  print("link, both parsed", *std::ranges::min_element(samples_s) * 1e3, "ms");
  print("peak memory / uncompressed inputs", (peak_bytes() - before) / inputs, "x");
}

/// Copies the event's text up to the number after `key`, and appends that number plus `shift`.
void append_shifted(std::string& out, std::string_view event, std::string_view key,
                    std::int64_t shift, std::size_t& position) {
  const std::size_t begin = event.find(key, position);
  if (begin == std::string_view::npos) {
    return;
  }
  const std::size_t number = begin + key.size();
  const std::size_t end = event.find_first_not_of("0123456789", number);
  out += event.substr(position, number - position);
  out += std::to_string(std::stoll(std::string(event.substr(number, end - number))) + shift);
  position = end;
}

/// Repeats the events of a profile, each time later and with their own correlations.
std::string repeated(const std::string& json, std::size_t bytes) {
  const std::size_t list = json.find('[', json.find("\"traceEvents\""));
  const std::size_t end = json.rfind(']', json.rfind("\"traceName\"") == std::string::npos
                                              ? std::string::npos
                                              : json.rfind("\"traceName\""));
  const std::string_view body(json.data() + list + 1, end - list - 1);
  constexpr std::int64_t kCorrelations = 10'000'000;
  constexpr std::int64_t kStepUs = 10'000'000;
  std::string out = "{\"schemaVersion\":1,\"traceEvents\":[";
  out.reserve(bytes + body.size() + body.size() / 8);
  for (std::int64_t copy = 0; out.size() < bytes; ++copy) {
    out += copy == 0 ? "" : ",";
    std::size_t position = 0;
    while (position < body.size()) {
      const std::size_t next = std::min(body.find("\"ph\"", position + 4), body.size());
      const std::string_view event = body.substr(position, next - position);
      std::size_t done = 0;
      append_shifted(out, event, "\"ts\": ", copy * kStepUs, done);
      append_shifted(out, event, "\"correlation\": ", copy * kCorrelations, done);
      out += event.substr(done);
      position = next;
    }
  }
  return out + "]}";
}

void link_large(const std::string& samples, const std::string& profiles) {
  constexpr std::size_t kBytes = 1'000'000'000;
  std::string json = repeated(read_one(profiles + "/linear_kineto.json.gz"), kBytes);
  const et_schema::Trace trace =
      std::move(et_schema::read_traces({samples + "/linear/linear_et.json.gz"}).front());
  et_schema::RecordedProfile found;
  std::size_t events = 0;
  const double megabytes = static_cast<double>(json.size()) / kMega;
  const double seconds = seconds_of([&] {
    const et_schema::Profile profile = et_schema::parse_kineto(json, "large.json");
    events = profile.events.size();
    found = generator::link(trace, profile).profile;
  });
  fmt::print("{:.0f} MB, {} events, {} steps; {} of {} nodes, {} of {} device events\n", megabytes,
             events, found.steps, found.nodes_joined, found.nodes_with_rf_id,
             found.device_events_linked, found.device_events);
  print("1 GB profile, bytes to times", seconds, "s");
  print("1 GB profile, peak memory", peak_bytes() / kMega, "MB");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string samples = UNDERSTUDY_SAMPLES;
  const std::string profiles = UNDERSTUDY_PROFILES;
  try {
    if (argc > 1 && std::string_view(argv[1]) == "--large") {
      link_large(samples, profiles);
    } else {
      link_resnet(samples, profiles);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
