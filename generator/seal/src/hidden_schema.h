#pragma once

#include <string>
#include <string_view>

namespace understudy::generator {

/// The schema of a private operator under another name: "private::op1(Tensor arg0, int[] arg1) ->
/// Tensor". PyTorch's types and what is written stay; names, defaults, sizes of lists and types of
/// others' do not.
[[nodiscard]] std::string hidden_schema(std::string_view schema, std::string_view name);

}  // namespace understudy::generator
