#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "et_schema/bench/bench.h"
#include "pages/html/page.h"

namespace understudy::cli {

/// A benchmark as a page: what it holds, the timeline of the recorded step and where its time went,
/// as far as a profile was linked. `json`: what `inspect --format json` prints, the page's data.
/// Of a text only what it holds.
[[nodiscard]] pages::Page bench_page(const et_schema::Bench& bench, const std::string& file,
                                     const std::string& json);

/// How many instructions of each kind a program has; those of bodies are not counted.
[[nodiscard]] std::map<std::string, std::uint64_t> instruction_kinds(
    const et_schema::Program& program);

/// Custom operators of a program that a row of the operator map names.
struct MappedOperator {
  std::string name;
  std::uint64_t count = 0;
  std::string row;  ///< "row 3 of the built-in operator map", or why none fits
  std::string by;   ///< MapRow::by(); empty: none fits
};
[[nodiscard]] std::vector<MappedOperator> mapped_operators(const et_schema::Program& program);

/// The schema of the trace that a program was made from.
[[nodiscard]] std::string schema_of(const et_schema::Bench& bench, std::size_t rank);

}  // namespace understudy::cli
