#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "predictor/what_if/batch_bench.h"

namespace understudy::cli {

/// Adds --batch: FROM:TO, as text.
void add_batch_option(CLI::App& app, std::string& batch);

/// Which operators have other shapes, for a person: a row for each, of all ranks together.
[[nodiscard]] std::string batched_text(const predictor::BatchSize& batch,
                                       const predictor::BatchedBench& batched);
/// {"from":…,"to":…,"dropped_bodies":…,"ranks":[[{"name","count","before","after"}]]}
[[nodiscard]] nlohmann::ordered_json batched_json(const predictor::BatchSize& batch,
                                                  const predictor::BatchedBench& batched);

}  // namespace understudy::cli
