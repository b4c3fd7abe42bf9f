#include "et_schema/model/size_arguments.h"

#include <algorithm>
#include <array>

namespace understudy::et_schema {

std::string_view base_name(std::string_view op) {
  const std::size_t space = op.find("::");
  op = space == std::string_view::npos ? op : op.substr(space + 2);
  op = op.substr(0, op.find('.'));
  return op.size() > 1 && op.ends_with('_') ? op.substr(0, op.size() - 1) : op;
}

bool is_size_argument(std::string_view name) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"input_sizes", "normalized_shape", "num_weights",
                                       "self_size", "self_sizes", "size", "sizes", "shape"});
  return std::ranges::find(kNames, name) != kNames.end();
}

bool takes_strides(std::string_view op) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"_reshape_alias", "as_strided", "empty_strided", "new_empty_strided"});
  return std::ranges::find(kNames, base_name(op)) != kNames.end();
}

}  // namespace understudy::et_schema
