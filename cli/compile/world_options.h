#pragma once

#include <optional>
#include <string>

#include "cli/common/command_line.h"
#include "et_schema/formats/bench/bench.h"
#include "generator/resize/batch.h"
#include "generator/resize/world.h"

namespace understudy::cli {

/// Values FROM:TO of --batch and --size; at most one of them may be set.
struct BatchTexts {
  std::string batch;
  std::string size;
  /// Returns nothing if neither is set. Throws Error (usage).
  [[nodiscard]] std::optional<generator::BatchSize> parsed() const;
};
/// Adds --batch and --size. `help` says what --batch does; "FROM:TO, such as 64:256: " comes first.
void add_batch_options(CommandLine& line, const char* help, BatchTexts& texts);

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

}  // namespace understudy::cli
