// Finds change points as `fleet nightly` does: reads series [[figure, …], …] from standard input,
// writes [[index, …], …] to standard output. change_points_study starts it.
#include "fleet/analysis/change_points.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "et_schema/base/error.h"

namespace et = understudy::et_schema;
namespace fleet = understudy::fleet;

int main() {
  try {
    const auto series = nlohmann::json::parse(std::cin).get<std::vector<std::vector<double>>>();
    nlohmann::json found = nlohmann::json::array();
    for (const auto& points : fleet::change_points(series, fleet::find_otava())) {
      nlohmann::json& indices = found.emplace_back(nlohmann::json::array());
      for (const fleet::ChangePoint& point : points) {
        indices.push_back(point.index);
      }
    }
    fmt::print("{}\n", found.dump());
    return 0;
  } catch (const et::Error& error) {
    fmt::print(stderr, "{}\n", et::to_text(error));
    return static_cast<int>(error.kind());
  } catch (const nlohmann::json::exception& error) {
    fmt::print(stderr, "find_change_points: the series cannot be read: {}\n", error.what());
    return 65;
  }
}
