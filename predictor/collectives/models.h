#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predictor/calls/costs.h"
#include "predictor/collectives/rows.h"
#include "predictor/collectives/series.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

/// Coefficients for all kinds, fitted to a platform's rows on one node: time = alpha x steps +
/// beta x link bytes + gamma x reduced bytes (traffic.h).
struct AlphaBetaGamma {
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
  double gamma_ns_per_byte = 0;
  bool operator==(const AlphaBetaGamma&) const = default;
};

/// The network between nodes: time = step_ns x node_steps() + node_bytes() x ns_per_byte.
struct NodeNetwork {
  double step_ns = 0;
  double ns_per_byte = 0;
  double width = 0;  ///< 90 % quantile of |ln error| on the fitted rows
  bool operator==(const NodeNetwork&) const = default;
};

/// Communication models of all platforms. A machine has up to two platforms: on_device is true for
/// tensors on GPUs and false for tensors on hosts.
struct CollectiveModels {
  struct Platform {
    bool on_device = true;
    AlphaBetaGamma common;
    std::optional<NodeNetwork> between_nodes = {};  ///< measured, or specified by the user
    bool operator==(const Platform&) const = default;
  };
  std::vector<Series> series;
  std::vector<Platform> platforms;
  bool operator==(const CollectiveModels&) const = default;
};

/// Fits all kinds in the rows. Rows of one rank are skipped.
[[nodiscard]] CollectiveModels fit_collectives(const std::vector<CollectiveRow>& rows);

/// Returns the time of a call from the arrival of its last rank. The first that exists is used:
/// - for all_to_allv: rows of all_to_all, at the size that loads the busiest link equally;
/// - rows of the same kind on as many nodes, of another element type if necessary;
/// - rows of another kind, scaled by the common model (not `modelled`, with a wider interval);
/// - on several nodes: the larger of the time within a node (node_level) and on the network between
///   nodes (extrapolated); without a network, as if all ranks were on one node (not `modelled`).
/// Throws Error (usage) if the platform has no rows.
[[nodiscard]] Estimate estimate(const CollectiveModels& models, const GroupComm& call);

/// Writes the section `collectives` of a platform file (docs/formats.md): one JSON object.
[[nodiscard]] std::string to_json(const CollectiveModels& models);

/// Reads the section. Throws Error (bad input) with the field if a kind is unknown, lists differ in
/// length, or a number is out of range.
[[nodiscard]] CollectiveModels collectives_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
