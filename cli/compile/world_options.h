#pragma once

#include <nlohmann/json.hpp>

#include "cli/common/command_line.h"
#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "generator/resize/world.h"

namespace understudy::cli {

/// Adds --world-size and --group, which change the number of ranks.
void add_world_options(CommandLine& line, generator::WorldSize& size);
[[nodiscard]] inline bool is_given(const generator::WorldSize& size) {
  return size.ranks > 0;
}
/// Returns true if the job gets another number of ranks. The number that it has changes nothing.
[[nodiscard]] inline bool resizes(const generator::WorldSize& size, const et_schema::Bench& bench) {
  return is_given(size) && (bench.partial || size.ranks != bench.world_size());
}
/// Throws Error (usage) if --group is used alone.
void check_world_options(const generator::WorldSize& size);

/// Returns `scaled` of docs/formats.md, "generate --format json".
[[nodiscard]] nlohmann::ordered_json scaled_json(const et_schema::ScaledJob& scaled);
/// Shows a row for each group, from `scaled` of the document: how the group changed, and why.
[[nodiscard]] pages::Section scaled_section(const nlohmann::ordered_json& document,
                                            const et_schema::ScaledJob& scaled);

}  // namespace understudy::cli
