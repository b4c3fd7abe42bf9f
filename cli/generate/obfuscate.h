#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "generator/seal/obfuscate.h"

namespace understudy::cli {

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

[[nodiscard]] std::string hidden_text(const Hidden& hidden);
[[nodiscard]] nlohmann::ordered_json hidden_json(const Hidden& hidden);

}  // namespace understudy::cli
