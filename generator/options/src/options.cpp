#include "generator/options/options.h"

#include <algorithm>
#include <charconv>

#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"

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

void add_reduce_op(std::string_view text, std::map<et_schema::CommKind, std::string>& reduce_ops) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const auto kind = et_schema::kind_of_recorded_name(text.substr(0, equals));
  const std::string_view op = text.substr(std::min(equals + 1, text.size()));
  if (!kind || !et_schema::traits(*kind).reduces || !et_schema::parse_reduction(op)) {
    throw et_schema::usage_error(
        "not the operator of a reduction",
        {.field = "--reduce-op",
         .expected =
             "KIND=OP: allreduce, reduce, reduce_scatter or _reduce_scatter_base; sum, avg, "
             "product, min, max, band, bor, bxor or premul_sum:FACTOR",
         .got = text.empty() ? "nothing" : std::string(text)});
  }
  reduce_ops[*kind] = op;
}

}  // namespace understudy::generator
