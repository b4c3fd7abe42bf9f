#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "generator/resize/batch.h"

namespace understudy::cli {

/// Another size of the data: FROM:TO, at most one of them.
struct BatchTexts {
  std::string batch;
  std::string size;
  /// Nothing where none was given. Throws Error (usage).
  [[nodiscard]] std::optional<generator::BatchSize> parsed() const;
};

/// Adds --batch and --size.
void add_batch_options(CLI::App& app, BatchTexts& texts);

/// Which operators have other shapes, for a person: a row for each, of all ranks together.
[[nodiscard]] std::string batched_text(const generator::BatchSize& batch,
                                       const generator::BatchedBench& batched);
/// {"from":…,"to":…,"dropped_bodies":…,"ranks":[[{"name","count","before","after"}]]}
[[nodiscard]] nlohmann::ordered_json batched_json(const generator::BatchSize& batch,
                                                  const generator::BatchedBench& batched);

}  // namespace understudy::cli
