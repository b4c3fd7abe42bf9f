#include "filled.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "et_schema/model/schema_text.h"

namespace understudy::generator {
namespace {

/// The roles of a C++ kernel's arguments, "r w rw -": the text behind them, one word for each.
std::vector<std::string> kernel_roles(const et_schema::Node& node) {
  const auto text = std::ranges::find_if(node.inputs, [](const et_schema::Value& value) {
    return value.is(et_schema::ValueKind::kString);
  });
  if (text == node.inputs.end()) {
    return {};
  }
  std::vector<std::string> roles;
  std::istringstream words{std::string(text->text())};
  for (std::string role; words >> role;) {
    roles.push_back(role);
  }
  return std::cmp_equal(roles.size(), text - node.inputs.begin()) ? roles
                                                                  : std::vector<std::string>();
}

}  // namespace

std::vector<bool> only_filled(const et_schema::Node& node) {
  const bool is_kernel = et_schema::classify(node) == et_schema::NodeClass::kKernel;
  const std::vector<std::string> roles =
      is_kernel ? kernel_roles(node) : std::vector<std::string>();
  const int out = is_kernel ? -1 : et_schema::argument_index(node.op_schema, "out");
  std::vector<bool> filled;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_filled =
        node.inputs[i].is(et_schema::ValueKind::kTensor) &&
        (is_kernel ? i < roles.size() && roles[i] == "w" : static_cast<int>(i) == out);
    et_schema::for_each_tensor(std::span(&node.inputs[i], 1), [&](const et_schema::Tensor& tensor) {
      if (tensor.defined()) {
        filled.push_back(is_filled);
      }
    });
  }
  return filled;
}

}  // namespace understudy::generator
