#include "replayer/options/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "et_schema/base/enum_names.h"

namespace understudy::replayer {
namespace {

std::string on_or_off(bool flag) {
  return flag ? "on" : "off";
}

}  // namespace

std::string_view to_string(Pace pace) {
  return pace == Pace::kAsap ? "asap" : "recorded";
}

std::string_view to_string(CommsPath path) {
  return path == CommsPath::kNccl ? "nccl" : "host";
}

std::string_view to_string(Streams streams) {
  return et_schema::EnumNames<Streams::kGraph>("one", "recorded", "graph")[streams];
}

std::map<std::string, std::string> settings_of(const ReplayOptions& options) {
  std::map<std::string, std::string> settings = {
      {"seed", std::to_string(options.seed)},
      {"warmup", std::to_string(options.warmup)},
      {"pace", std::string(to_string(options.pace))},
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
  if (options.cold) {
    settings["caches"] = "cold";
  }
  if (options.sustained_s > 0) {
    settings["sustained"] = fmt::format("{}", options.sustained_s);
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
  if (!options.counters.empty()) {
    settings["counters"] = fmt::format("{}", fmt::join(options.counters, ","));
  }
  if (options.slow) {
    settings["slow"] = fmt::format("{}:{}", options.slow->op_class, options.slow->percent);
  }
  return settings;
}

const char* to_string(Phase phase) {
  return et_schema::EnumNames<Phase::kCounterPasses>("making tensors", "trial", "looking at values",
                                                     "warm-up", "iterations", "timing passes",
                                                     "sustained calls", "counters")[phase]
      .data();
}

}  // namespace understudy::replayer
