#pragma once

#include <string>
#include <vector>

#include "predictor/calls/costs.h"
#include "predictor/collectives/rows.h"
#include "predictor/collectives/series.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

/// Communication models of a platform: any cards, GPUs and hosts.
struct CollectiveModels {
  std::vector<Series> series;
  bool operator==(const CollectiveModels&) const = default;
};

/// Fits all kinds in the rows. Rows of one rank are skipped.
[[nodiscard]] CollectiveModels fit_collectives(const std::vector<CollectiveRow>& rows);

/// Where a call runs. Empty texts are unknown and differ from nothing.
struct CommPlace {
  std::string device;   ///< card
  std::string network;  ///< between nodes
};

/// Returns the row's card: its name, else the model that its source names, else empty.
[[nodiscard]] std::string card_of(const CollectiveRow& row);

/// Returns the time of a call from the arrival of its last rank to the end. Each series can answer:
/// a difference of kind, element type, card, network or ranks per node widens its interval. The
/// narrowest interval is returned; `model` begins with the differences that make it not `modelled`.
/// An all_to_allv takes as long as an all_to_all that loads the busiest link equally. One node is a
/// lower bound for several nodes. Without models the answer is assumed_communication().
[[nodiscard]] Estimate estimate(const CollectiveModels& models, const GroupComm& call,
                                const CommPlace& place = {});

/// Writes the section `collectives` of a platform file (docs/formats.md): one JSON object.
[[nodiscard]] std::string to_json(const CollectiveModels& models);

/// Reads the section. Throws Error (bad input) with the field if a kind is unknown, lists differ in
/// length, or a number is out of range.
[[nodiscard]] CollectiveModels collectives_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
