#pragma once

#include <span>
#include <string_view>

#include "predictor/collectives/models.h"

namespace understudy::predictor {

/// A network between nodes, as its maker or a cloud publishes it.
struct Fabric {
  const char* name;
  double bytes_per_s;  ///< of a rank's own adapter, or of its share of the node's
  double step_ns;      ///< latency of a message between nodes
  const char* source;
};
[[nodiscard]] std::span<const Fabric> known_fabrics();

/// Returns null for an unknown name.
[[nodiscard]] const Fabric* find_fabric(std::string_view name);

/// Adds series of communication between nodes on the fabric, for each number of ranks that a node
/// may have in a group. `device`: the card, whose own links may be the slower ones.
void add_fabric(const Fabric& fabric, const std::string& device, CollectiveModels& models);

}  // namespace understudy::predictor
