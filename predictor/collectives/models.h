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

/// What all kinds of a platform have in common, fitted to all of their rows on one node: time =
/// alpha x steps + beta x link bytes + gamma x reduced bytes (traffic.h).
struct AlphaBetaGamma {
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
  double gamma_ns_per_byte = 0;
  bool operator==(const AlphaBetaGamma&) const = default;
};

/// The network between nodes: time = step x messages one after the other (node_steps) + bytes out
/// of the busiest node / bandwidth.
struct NodeNetwork {
  double step_ns = 0;
  double ns_per_byte = 0;
  double width = 0;  ///< |ln error|, 90 %, of the rows that it was fitted to
  bool operator==(const NodeNetwork&) const = default;
};

/// All of a platform's communication. on_device tells the two apart that a machine has: tensors on
/// its GPUs, tensors of its hosts.
struct CollectiveModels {
  struct Platform {
    bool on_device = true;
    AlphaBetaGamma common;
    std::optional<NodeNetwork> between_nodes = {};  ///< measured, or what a user says of it
    bool operator==(const Platform&) const = default;
  };
  std::vector<Series> series;
  std::vector<Platform> platforms;
  bool operator==(const CollectiveModels&) const = default;
};

/// Fits all kinds that the rows hold. Rows of one rank tell nothing and are passed over.
[[nodiscard]] CollectiveModels fit_collectives(const std::vector<CollectiveRow>& rows);

/// What a call takes, from the arrival of its last rank. In this order:
/// - the kind's own rows on as many nodes (of another element type where there are none of this);
/// - for all_to_allv those of all_to_all, at the size that loads the busiest link as much;
/// - another kind's, by its traffic and what all kinds have in common (not modelled, wider);
/// - on several nodes without rows of such: the larger of what a node's own links take (node_level)
///   and what the network between nodes takes (extrapolated); without the network, as if
///   all ranks were on one node (not modelled).
/// Throws Error (usage) where the platform has no rows at all.
[[nodiscard]] Estimate estimate(const CollectiveModels& models, const CommCall& call);

/// The section `collectives` of a platform file (docs/formats.md): one JSON object.
[[nodiscard]] std::string to_json(const CollectiveModels& models);

/// Reads it back. Throws Error (bad input) with the field: a kind that is not known, lists of
/// different lengths, numbers outside of their range.
[[nodiscard]] CollectiveModels collectives_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
