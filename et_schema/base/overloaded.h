#pragma once

namespace understudy::et_schema {

/// One function for each alternative of a std::variant: std::visit(Overloaded{…}, variant). Does
/// not compile if an alternative has no function.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace understudy::et_schema
