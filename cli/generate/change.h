#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "composer/reduce/reduce.h"
#include "et_schema/bench/bench.h"
#include "generator/resize/batch.h"
#include "generator/resize/blur_shapes.h"
#include "generator/seal/obfuscate.h"
#include "pages/html/page.h"

namespace understudy::cli {

// What makes another benchmark of one: other sizes, no names, loops.

/// Another size of the data: FROM:TO, at most one of them.
struct BatchTexts {
  std::string batch;
  std::string size;
  /// Nothing where none was given. Throws Error (usage).
  [[nodiscard]] std::optional<generator::BatchSize> parsed() const;
};
/// Adds --batch and --size.
void add_batch_options(CLI::App& app, BatchTexts& texts);

/// Adds --shapes-within: a share, as 0.05 or 5%.
void add_blur_option(CLI::App& app, std::optional<double>& within);
/// Blurs the benchmark's shapes and notes that in its selection.
[[nodiscard]] generator::Blurred blur(et_schema::Bench bench, double within);

/// What --obfuscate replaced.
struct Hidden {
  std::string names_path;      ///< who was who
  generator::Obfuscated what;  ///< its benchmark moved out of it
};
/// The file of names is written beside a benchmark, and a benchmark's other outputs are made of it
/// later. Throws Error (usage) without `output`, or with a folder for Chakra traces.
void refuse_obfuscation(const std::string& output, const std::string& chakra_folder);
/// Takes from the benchmark what the original was called; what stood for what is written for its
/// owner.
[[nodiscard]] Hidden hide(et_schema::Bench& bench, const std::string& names_path);

/// What --reduce did.
struct Reduced {
  composer::Reduction reduction;
  std::uint64_t bytes_before = 0;  ///< of the file without loops
};
/// Makes loops even so that they can be written once. Throws Error (failed) if the recorded time of
/// an operator class would change by more than `most`.
[[nodiscard]] Reduced reduce(et_schema::Bench& bench, et_schema::BenchWriting writing, double most);

/// All that was done to a benchmark.
struct Changes {
  /// With another batch size.
  struct Batched {
    generator::BatchSize size;
    generator::BatchedBench bench;  ///< its benchmark moved out of it
  };
  std::optional<generator::Blurred> blurred = {};  ///< its benchmark moved out of it
  std::optional<Batched> batched = {};
  std::optional<et_schema::ScaledJob> scaled = {};
  std::uint64_t scaled_dropped_bodies = 0;  ///< operators without what was recorded below them
  std::size_t removed_kernels = 0;          ///< whose machine code does not fit changed sizes
  std::optional<Hidden> hidden = {};
  std::optional<Reduced> reduced = {};
};
/// A key for each: docs/formats.md, "generate --format json".
void add_changes(nlohmann::ordered_json& document, const Changes& changes);
/// A section for each of these keys.
void add_change_sections(pages::Page& page, const nlohmann::ordered_json& document,
                         const Changes& changes);

}  // namespace understudy::cli
