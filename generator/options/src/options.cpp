#include "generator/options/options.h"

#include <charconv>

#include "et_schema/base/error.h"

namespace understudy::generator {

IndexSpread parse_index_spread(std::string_view text) {
  constexpr std::string_view kZipf = "zipf:";
  constexpr double kSteepest = 20;  // with larger exponents, all draws are the first number
  if (text == "uniform") {
    return {IndexSpread::Kind::kUniform, 0};
  }
  if (text == "constant") {
    return {IndexSpread::Kind::kConstant, 0};
  }
  if (text.starts_with(kZipf)) {
    const std::string_view digits = text.substr(kZipf.size());
    double alpha = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), alpha);
    if (error == std::errc() && end == digits.data() + digits.size() && alpha >= 0 &&
        alpha <= kSteepest) {
      return {IndexSpread::Kind::kZipf, alpha};
    }
  }
  throw et_schema::usage_error("not a spread of index values",
                               {.field = "--indices",
                                .expected = "uniform, constant or zipf:ALPHA, ALPHA from 0 to 20",
                                .got = text.empty() ? "nothing" : std::string(text)});
}

}  // namespace understudy::generator
