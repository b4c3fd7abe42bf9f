#include "replayer/options/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "et_schema/support/assert.h"
#include "et_schema/support/enum_names.h"
#include "replayer/options/monitor.h"

namespace understudy::replayer {
namespace {

constexpr std::string_view kScaledPrefix = "scaled:";
constexpr double kMostFactor = 1e6;

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

std::string_view to_string(Place place) {
  return place == Place::kDevice ? "device" : "recorded";
}

std::string_view to_string(CommsPath path) {
  return path == CommsPath::kNccl ? "nccl" : "host";
}

std::string_view to_string(Streams streams) {
  return streams == Streams::kRecorded ? "recorded" : "one";
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
  if (options.registers_buffers) {
    settings["register_buffers"] = "on";
  }
  if (options.streams) {
    settings["streams"] = to_string(*options.streams);
  }
  if (!options.allowed_operators.empty()) {
    settings["allow_operator"] = fmt::format("{}", fmt::join(options.allowed_operators, ","));
  }
  if (options.slow) {
    settings["slow"] = fmt::format("{}:{}", options.slow->op_class, options.slow->percent);
  }
  return settings;
}

const char* to_string(Phase phase) {
  return et_schema::EnumNames<Phase::kTimingPasses>("making tensors", "trial", "looking at values",
                                                    "warm-up", "iterations", "timing passes")[phase]
      .data();
}

}  // namespace understudy::replayer
