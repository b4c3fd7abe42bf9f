#pragma once

namespace understudy::et_schema {

/// Functions for the alternatives of a std::variant: std::visit(Overloaded{…}, variant). One that
/// is missing does not compile.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace understudy::et_schema
