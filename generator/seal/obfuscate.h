#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "et_schema/formats/bench/bench.h"

namespace understudy::generator {

/// What stood for what: kind ("operator", "label", "text", "group", …) → replacement → original.
using ObfuscationMap = std::map<std::string, std::map<std::string, std::string>>;

struct Obfuscated {
  et_schema::Bench bench;
  ObfuscationMap map;                  ///< stays with the owner
  std::uint64_t hidden_operators = 0;  ///< instructions that no target finds by name any more
  std::uint64_t without_body = 0;      ///< of those: nothing recorded replaces them
  std::uint64_t rounded_numbers = 0;   ///< arguments and constants kept to one digit
  std::uint64_t cleared_numbers = 0;   ///< of operators that nothing calls, results, seeds
};

/// The benchmark without names, texts and exact numbers of the original, as far as they do not
/// decide its time: operators and labels that are of none of PyTorch's own libraries, kernels,
/// texts that are no word of PyTorch's schemas, process groups, files, hashes, settings and
/// variables of the machine, filters, ids of nodes, threads and streams, pieces of a mix. What
/// stays is structure: operators of public libraries in their order with their schemas, shapes,
/// types, devices, communication, times. Equal things of all ranks get equal names. Deterministic.
[[nodiscard]] Obfuscated obfuscate(et_schema::Bench bench);

/// {"format":"understudy-names","version":1,"names":{kind:{replacement:original}}}
[[nodiscard]] std::string to_json(const ObfuscationMap& map);

}  // namespace understudy::generator
