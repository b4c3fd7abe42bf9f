#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/device_time.h"

namespace understudy::pages {

// What a benchmark holds, as the verbs that make or inspect one show it.

/// Returns its ranks, what was decomposed and why, the origin of recorded times, losses, and the
/// changed number of ranks: docs/formats.md, "generate --format json".
[[nodiscard]] nlohmann::ordered_json bench_json(const et_schema::Bench& bench);

/// Shows a document that has the keys of bench_json().
[[nodiscard]] std::vector<Section> bench_sections(const nlohmann::ordered_json& document,
                                                  const et_schema::Bench& bench);

/// Returns a sentence on its operators, its recorded step and its losses.
[[nodiscard]] std::string bench_verdict(const et_schema::Bench& bench);

/// Returns what the ranks' profiles do not tell of their devices (et_schema::doubt_text()), by rank
/// if there are several. Empty if there is nothing to say.
[[nodiscard]] std::string doubts_of(const et_schema::Bench& bench);

/// Returns the account of the recorded steps of all ranks.
[[nodiscard]] et_schema::Account account_of(const et_schema::Bench& bench);

}  // namespace understudy::pages
