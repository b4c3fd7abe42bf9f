#pragma once

#include <gtest/gtest.h>

#include <string>

#include "et_schema/base/error.h"

namespace understudy::testing_errors {

/// The whole text of the Error that a call throws; "no error".
template <typename Call>
[[nodiscard]] std::string error_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (const et_schema::Error& error) {
    return et_schema::to_text(error);
  }
  return "no error";
}

/// What such a text is: the summary, and a line "field: …" for each thing that is told with it.
template <typename... Lines>
[[nodiscard]] std::string told(const std::string& summary, const Lines&... lines) {
  constexpr std::size_t kWidth = 10;  // of names with their colons
  std::string text = summary;
  for (const std::string& line : {std::string(lines)...}) {
    const std::string name = line.substr(0, line.find(' '));
    text += "\n  " + name + std::string(kWidth - name.size(), ' ') + line.substr(name.size() + 1);
  }
  return text;
}

/// The same of an Error that has to be of this kind.
template <typename Call>
[[nodiscard]] std::string error_of(et_schema::ErrorKind kind, Call call) {
  return error_of([&] {
    try {
      static_cast<void>(call());
    } catch (const et_schema::Error& error) {
      EXPECT_EQ(error.kind(), kind);
      throw;
    }
  });
}

}  // namespace understudy::testing_errors

namespace understudy {
using testing_errors::error_of;
using testing_errors::told;
}  // namespace understudy
