// Python's texts as JSON.

#include "python_text.h"

#include <gtest/gtest.h>

#include "reader_texts.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

using testing_errors::told;
using testing_texts::error_of;

std::string json_of(std::string_view python) {
  std::string json;
  append_json_of_python(json, python);
  return json;
}

std::string refusal_of(std::string_view python) {
  return error_of([&] { static_cast<void>(json_of(python)); });
}

TEST(PythonText, ListsTuplesNumbersAndWords) {
  EXPECT_EQ(json_of("[1, -2.5e-05, True, False, None, (3,), (), ('a', 4)]"),
            R"([1,-2.5e-05,true,false,null,[3],[],["a",4]])");
  EXPECT_EQ(json_of("[inf, -inf, nan]"), R"(["inf","-inf","nan"])");
}

TEST(PythonText, Texts) {
  EXPECT_EQ(json_of(R"(['a"b', "it's", 'c\\d', 'e\'f'])"), R"(["a\"b","it's","c\\d","e'f"])");
  EXPECT_EQ(json_of(R"('\n\t\x41\u00e9\U0001f600')"), "\"\\n\\tA\xc3\xa9\xf0\x9f\x98\x80\"");
  EXPECT_EQ(json_of("['[1, 2]', \"(\"]"), R"(["[1, 2]","("])");
}

TEST(PythonText, Refusals) {
  EXPECT_EQ(refusal_of("[1, abc]"),
            told("a list in the form of Python's text is damaged",
                 "expected: a number, True, False or None", "got: \"abc]\" at character 4"));
  EXPECT_EQ(refusal_of("['ab"), told("a list in the form of Python's text is damaged",
                                     "expected: the end of a text", "got: its end at character 4"));
  EXPECT_EQ(refusal_of(R"(['\q'])"),
            told("a list in the form of Python's text is damaged",
                 "expected: an escape as Python writes them", "got: \"q']\" at character 3"));
  EXPECT_EQ(refusal_of(R"('\ud800')"),
            told("a list in the form of Python's text is damaged",
                 "expected: 4 hexadecimal digits of a character", "got: \"d800'\" at character 3"));
  EXPECT_EQ(refusal_of("{1: 2}"), told("a list in the form of Python's text is damaged",
                                       "expected: brackets, commas, texts and numbers",
                                       "got: \"{1: 2}\" at character 0"));
  EXPECT_EQ(refusal_of(std::string(65, '[')),
            told("a list in the form of Python's text is damaged",
                 "expected: at most 64 brackets inside each other", "got: \"[\" at character 64"));
}

}  // namespace
}  // namespace understudy::et_schema
