#include "et_schema/base/regular_expression.h"

#include <gtest/gtest.h>

namespace understudy::et_schema {
namespace {

TEST(RegularExpressions, LongNamesTakeNoStack) {
  const std::string name(500'000, 'a');
  EXPECT_FALSE(std::regex_search(name, regular_expression("^(a|b)*x$")));
  EXPECT_TRUE(std::regex_search(name, regular_expression("^(a|b)*$")));
}

TEST(RegularExpressions, ThoseThatTryEverythingEnd) {
  EXPECT_FALSE(std::regex_search(std::string(60, 'a'), regular_expression("(a+)+x")));
  EXPECT_FALSE(std::regex_search(std::string(60, 'a'), regular_expression("(.*)*(.*)*(.*)*x$")));
}

TEST(RegularExpressions, WhatIsNoneIsRefused) {
  EXPECT_THROW(static_cast<void>(regular_expression("(")), std::regex_error);
  EXPECT_THROW(static_cast<void>(regular_expression("(a)\\1")), std::regex_error);
  EXPECT_NO_THROW(
      static_cast<void>(regular_expression(std::string(1000, '(') + std::string(1000, ')'))));
  EXPECT_THROW(static_cast<void>(regular_expression(std::string(100'000, '('))), std::regex_error);
}

}  // namespace
}  // namespace understudy::et_schema
