// What a page holds around its sections.

#include <gtest/gtest.h>

#include "page_samples.h"

namespace understudy::pages {
namespace {

TEST(PageMarkup, IsTheSameEachTime) {
  for (std::size_t i = 0; i < sample_pages().size(); ++i) {
    EXPECT_EQ(to_html(sample_pages()[i].page), to_html(sample_pages()[i].page));
  }
}

TEST(PagePolicy, NamesEachScriptByItsHash) {
  const std::string html = to_html(sample_pages()[0].page);
  const Assets& assets = embedded_assets();
  EXPECT_EQ(assets.scripts.size(), 3);
  for (const Asset& script : assets.scripts) {
    EXPECT_EQ(script.hash.size(), 51);  // "sha256-" and 44 characters of base64
    EXPECT_NE(html.find("&#39;" + std::string(script.hash) + "&#39;"), std::string::npos);
    EXPECT_NE(html.find("<script>" + std::string(script.content) + "</script>"), std::string::npos);
  }
}

TEST(PagePolicy, LetsNothingBeLoaded) {
  const std::string html = to_html(sample_pages()[0].page);
  EXPECT_NE(html.find("default-src &#39;none&#39;"), std::string::npos);
  EXPECT_EQ(html.find("unsafe-"), std::string::npos);
}

TEST(PageMarkup, SectionsWithoutContentAreLeftOut) {
  Page page{.title = "T", .verdict = "V."};
  page.sections = {{"empty", "Empty", {}}, {"full", "Full", {text("x")}}};
  const std::string html = to_html(page, short_assets());
  EXPECT_EQ(html.find("Empty"), std::string::npos);
  EXPECT_NE(html.find("<a href=\"#full\">Full</a>"), std::string::npos);
}

}  // namespace
}  // namespace understudy::pages
