#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "generator/resize/blur_shapes.h"

namespace understudy::cli {

/// Adds --shapes-within: a share, as 0.05 or 5%.
void add_blur_option(CLI::App& app, std::optional<double>& within);

/// Blurs the benchmark's shapes and notes that in its selection.
[[nodiscard]] generator::Blurred blur(et_schema::Bench bench, double within);

/// What was changed and kept, and what it did to the work, for a person.
[[nodiscard]] std::string blurred_text(const generator::Blurred& blurred);
/// {"changed":{size:size},"kept":{size:why},"flops":[before,after],"bytes":[before,after]}
[[nodiscard]] nlohmann::ordered_json blurred_json(const generator::Blurred& blurred);

}  // namespace understudy::cli
