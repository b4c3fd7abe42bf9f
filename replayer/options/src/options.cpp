#include "replayer/options/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "et_schema/support/assert.h"
#include "replayer/options/monitor.h"

namespace understudy::replayer {
namespace {

constexpr std::string_view kScaledPrefix = "scaled:";
constexpr double kMostFactor = 1e6;

/// The value whose to_string() is the text.
template <typename Value>
std::optional<Value> parse_one_of(std::string_view text, std::initializer_list<Value> values) {
  const auto* const found = std::find_if(
      values.begin(), values.end(), [text](const Value value) { return to_string(value) == text; });
  return found == values.end() ? std::nullopt : std::optional(*found);
}

std::string on_or_off(bool flag) {
  return flag ? "on" : "off";
}

std::string faults_text(const ReplayOptions& options) {
  if (const auto* faults = std::get_if<std::uint64_t>(&options.page_faults)) {
    return std::to_string(*faults);
  }
  const bool recorded = std::holds_alternative<ReplayOptions::AsRecorded>(options.page_faults);
  return recorded ? "recorded" : "any";
}

}  // namespace

std::optional<Pace> parse_pace(std::string_view text) {
  if (text == "asap") {
    return Pace{};
  }
  if (text == "recorded") {
    return Pace{Pace::Kind::kRecorded, 1};
  }
  if (text == "host") {
    return Pace{Pace::Kind::kHost, 1};
  }
  if (!text.starts_with(kScaledPrefix)) {
    return std::nullopt;
  }
  text.remove_prefix(kScaledPrefix.size());
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  // Written so that it refuses a NaN.
  if (!whole || !(factor >= 0 && factor <= kMostFactor)) {
    return std::nullopt;
  }
  return Pace{Pace::Kind::kScaled, factor};
}

std::string to_text(const Pace& pace) {
  switch (pace.kind) {
    case Pace::Kind::kAsap:
      return "asap";
    case Pace::Kind::kRecorded:
      return "recorded";
    case Pace::Kind::kHost:
      return "host";
    case Pace::Kind::kScaled:
      return fmt::format("{}{}", kScaledPrefix, pace.factor);
  }
  UNDERSTUDY_ASSERT(false);
  return {};
}

std::optional<Place> parse_place(std::string_view text) {
  return parse_one_of(text, {Place::kRecorded, Place::kDevice});
}

std::string_view to_string(Place place) {
  return place == Place::kDevice ? "device" : "recorded";
}

std::optional<CommsPath> parse_comms_path(std::string_view text) {
  return parse_one_of(text, {CommsPath::kNccl, CommsPath::kHost});
}

std::string_view to_string(CommsPath path) {
  return path == CommsPath::kNccl ? "nccl" : "host";
}

std::optional<Streams> parse_streams(std::string_view text) {
  return parse_one_of(text, {Streams::kOne, Streams::kRecorded});
}

std::string_view to_string(Streams streams) {
  return streams == Streams::kRecorded ? "recorded" : "one";
}

std::optional<Sandbox> parse_sandbox(std::string_view text) {
  return parse_one_of(text, {Sandbox::kAuto, Sandbox::kOn, Sandbox::kOff});
}

std::string_view to_string(Sandbox sandbox) {
  switch (sandbox) {
    case Sandbox::kAuto:
      return "auto";
    case Sandbox::kOn:
      return "on";
    case Sandbox::kOff:
      return "off";
  }
  UNDERSTUDY_ASSERT(false);
  return {};
}

std::optional<MachineCodeUse> parse_machine_code_use(std::string_view text) {
  return parse_one_of(text, {MachineCodeUse::kRun, MachineCodeUse::kStub});
}

std::string_view to_string(MachineCodeUse use) {
  return use == MachineCodeUse::kRun ? "run" : "stub";
}

std::map<std::string, std::string> settings_of(const ReplayOptions& options) {
  std::map<std::string, std::string> settings = {
      {"seed", std::to_string(options.seed)},
      {"warmup", std::to_string(options.warmup)},
      {"pace", to_text(options.pace)},
      {"page_faults", faults_text(options)},
      {"leaves", on_or_off(options.leaves)},
      {"continue_on_error", on_or_off(options.continue_on_error)}};
  if (options.iterations) {
    settings["iterations"] = std::to_string(*options.iterations);
  }
  if (options.passes) {
    settings["passes"] = std::to_string(*options.passes);
  }
  if (options.seconds) {
    settings["seconds"] = fmt::format("{}", *options.seconds);
  }
  if (options.until_percent) {
    settings["until_percent"] = fmt::format("{}", *options.until_percent);
  }
  if (!options.restores) {
    settings["restores"] = "off";
  }
  if (options.timeout_s) {
    settings["timeout"] = fmt::format("{}", *options.timeout_s);
  }
  if (options.comms) {
    settings["comms"] = to_string(*options.comms);
  }
  if (options.streams) {
    settings["streams"] = to_string(*options.streams);
  }
  if (!options.allowed_operators.empty()) {
    settings["allow_operator"] = fmt::format("{}", fmt::join(options.allowed_operators, ","));
  }
  if (options.machine_code) {
    settings["machine_code"] = to_string(*options.machine_code);
  }
  if (options.slow) {
    settings["slow"] = fmt::format("{}:{}", options.slow->op_class, options.slow->percent);
  }
  return settings;
}

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kTensors:
      return "making tensors";
    case Phase::kTrial:
      return "trial";
    case Phase::kValues:
      return "looking at values";
    case Phase::kWarmUp:
      return "warm-up";
    case Phase::kIterations:
      return "iterations";
    case Phase::kTimingPasses:
      return "timing passes";
  }
  UNDERSTUDY_ASSERT(false);
  return {};
}

}  // namespace understudy::replayer
