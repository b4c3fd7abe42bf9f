// The property of what_if_property.h over texts and random programs: a part of every test run.

#include "what_if_property.h"

#include <gtest/gtest.h>

#include <string>

#include "random.h"

namespace understudy::fuzz {
namespace {

TEST(WhatIfProperty, ProgramsOfRandomCallsAreRefusedOrScaled) {
  constexpr int kPrograms = 20000;
  constexpr std::size_t kLongest = 120;
  Random random(11);
  for (int i = 0; i < kPrograms; ++i) {
    std::string input = "p";
    for (std::size_t length = random.below(kLongest); length > 0; --length) {
      input += static_cast<char>(random.next());
    }
    ASSERT_NO_THROW(check_what_if(input)) << "program " << i;
  }
}

TEST(WhatIfProperty, TextsAreRefusedOrRead) {
  constexpr int kTexts = 5000;
  const std::string letters = "matul x0.5:[]()|*+19-e network streams";
  Random random(12);
  for (int i = 0; i < kTexts; ++i) {
    std::string input(1, i % 2 == 0 ? 'q' : 'b');
    input += i % 2 == 0 ? "" : std::to_string(random.below(100));
    for (std::size_t length = random.below(14); length > 0; --length) {
      input += letters[random.below(letters.size())];
    }
    input += i % 3 == 0 ? " x0.5" : "";
    ASSERT_NO_THROW(check_what_if(input)) << input;
  }
}

}  // namespace
}  // namespace understudy::fuzz
