#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace understudy::predictor {

/// The readers of what predictions are made from: by the input's first byte rows of collectives (of
/// any tool), rows of embedding tables, tables to place, sections of a platform, or
/// profiles. What is read comes back as written, and models fitted to it answer with finite times.
/// A violation throws std::logic_error.
void check_predictor_property(std::string_view input);

/// An input of each kind that is read.
[[nodiscard]] std::vector<std::string> predictor_seeds();

}  // namespace understudy::predictor
