#include "et_schema/model/size_arguments.h"

#include <algorithm>
#include <array>

#include "et_schema/model/schema_text.h"

namespace understudy::et_schema {

std::string_view base_name(std::string_view op) {
  op = without_namespace(op);
  return op.size() > 1 && op.ends_with('_') ? op.substr(0, op.size() - 1) : op;
}

bool is_size_argument(std::string_view name) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"input_sizes", "normalized_shape", "num_weights",
                                       "self_size", "self_sizes", "size", "sizes", "shape"});
  return std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace understudy::et_schema
