#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "et_schema/formats/bench/bench.h"

namespace understudy::generator {

/// Kind ("operator", "label", "text", "group", …) → replacement → original.
using ObfuscationMap = std::map<std::string, std::map<std::string, std::string>>;

struct Obfuscated {
  et_schema::Bench bench;
  ObfuscationMap map;                  ///< must stay with the owner
  std::uint64_t hidden_operators = 0;  ///< instructions that no target finds by name any more
  std::uint64_t without_body = 0;  ///< `hidden_operators` without a recorded body to replace them
  std::uint64_t rounded_numbers = 0;  ///< arguments and constants rounded to one digit
  /// Numbers of operators that no replay calls, of results, and seeds.
  std::uint64_t cleared_numbers = 0;
};

/// Returns the benchmark without the original's names, texts and exact numbers, as far as they do
/// not decide its time. Equal originals get equal replacements on all ranks. Deterministic.
///
/// Replaced: operators and labels outside of PyTorch's own libraries, kernels, texts that are not
/// words of PyTorch's schemas, process groups, files, hashes, the machine's settings and
/// environment variables, filters, ids of nodes, threads and streams, pieces of a mix.
/// Kept: the order of public operators, their schemas, shapes, types, devices, communication,
/// times.
[[nodiscard]] Obfuscated obfuscate(et_schema::Bench bench);

/// {"format":"understudy-names","version":1,"names":{kind:{replacement:original}}}
[[nodiscard]] std::string to_json(const ObfuscationMap& map);

}  // namespace understudy::generator
