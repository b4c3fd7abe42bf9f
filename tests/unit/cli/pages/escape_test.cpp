// Whatever texts an input has, a page keeps its structure: the same tags with the same attributes
// as with plain texts in their place.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "page_samples.h"
#include "tags.h"

namespace understudy::pages {
namespace {

class HostileTexts : public testing::TestWithParam<std::string> {};

TEST_P(HostileTexts, ChangeNoTag) {
  const std::vector<NamedPage> plain = sample_pages({"plain"});
  const std::vector<NamedPage> hostile = sample_pages({GetParam()});
  ASSERT_EQ(plain.size(), hostile.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::string html = to_html(hostile[i].page, short_assets());
    EXPECT_EQ(tags_of(html), tags_of(to_html(plain[i].page, short_assets()))) << plain[i].file;
    EXPECT_TRUE(nlohmann::json::accept(block_of(html, "data"))) << plain[i].file;
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, HostileTexts,
                         testing::Values("<script>alert(1)</script>", "</script>",
                                         "</style></title>", "<!--", "]]>", "\" onload=\"x",
                                         "' onload='x", "\\u003c/script>", "&lt;script&gt;", "a\nb",
                                         std::string("a\0b", 3), "\xFF\xFE<x>", "\xE2\x80\xA8<x>",
                                         "javascript:x", "</script", "<a\tb=c>",
                                         std::string(5000, '<')));

TEST(HostileTextsAreShown, AsTheyAre) {
  const std::string html = to_html(sample_pages({"<b>aten::mm</b>"})[0].page, short_assets());
  EXPECT_NE(html.find("<th scope=\"row\">&lt;b&gt;aten::mm&lt;/b&gt;</th>"), std::string::npos);
}

TEST(Tags, SeeABreakOut) {
  EXPECT_NE(tags_of("<p>a<b>c</b></p>"), tags_of("<p>a</p>"));
  EXPECT_EQ(tags_of("<p class=\"x\">a</p>"), (std::vector<std::string>{"p class", "/p"}));
  EXPECT_THROW(tags_of("<p>1 < 2</p>"), std::runtime_error);
  EXPECT_EQ(tags_of("<script><b></script>"), (std::vector<std::string>{"script", "/script"}));
}

}  // namespace
}  // namespace understudy::pages
