#include "fleet/nightly/options.h"

#include <nlohmann/json.hpp>

namespace understudy::fleet {

using Json = nlohmann::ordered_json;

std::string to_json(const ReplayOptions& options) {
  return Json{{"generate_only", options.generate_only},
              {"iterations", options.iterations},
              {"seconds", options.seconds},
              {"flags", options.flags},
              {"launcher", options.launcher},
              {"oversubscribes", options.oversubscribes},
              {"timeout_s", options.timeout_s},
              {"least_change", options.least_change}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

ReplayOptions parse_replay_options(const std::string& json) {
  const Json document = Json::parse(json);
  ReplayOptions options;
  options.generate_only = document.at("generate_only").get<bool>();
  options.iterations = document.at("iterations").get<int>();
  options.seconds = document.at("seconds").get<double>();
  options.flags = document.at("flags").get<std::vector<std::string>>();
  options.launcher = document.at("launcher").get<std::vector<std::string>>();
  options.oversubscribes = document.at("oversubscribes").get<bool>();
  options.timeout_s = document.at("timeout_s").get<double>();
  options.least_change = document.at("least_change").get<double>();
  return options;
}

}  // namespace understudy::fleet
