#include "et_schema/base/yaml_documents.h"

#include <gtest/gtest.h>

namespace understudy::et_schema {
namespace {

TEST(YamlDocuments, OneMayBeginWithAMarker) {
  EXPECT_EQ(second_document_line(""), 0);
  EXPECT_EQ(second_document_line("a: 1\nb: 2"), 0);
  EXPECT_EQ(second_document_line("# a plan\n%YAML 1.2\n\n---\na: 1\n"), 0);
  EXPECT_EQ(second_document_line("a: ---\n ---\n---b: 1\n"), 0);
}

TEST(YamlDocuments, TheSecondIsFound) {
  EXPECT_EQ(second_document_line("a: 1\n---\nb: 2\n"), 2);
  EXPECT_EQ(second_document_line("---\na: 1\n--- # more\nb: 2\n"), 3);
  EXPECT_EQ(second_document_line("---\n---"), 2);
  EXPECT_EQ(second_document_line("a: 1\r\n---\r\nb: 2\r\n"), 2);
}

}  // namespace
}  // namespace understudy::et_schema
