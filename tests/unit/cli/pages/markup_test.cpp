#include "cli/pages/html/markup.h"

#include <gtest/gtest.h>

namespace understudy::pages {
namespace {

TEST(Markup, EscapesWhatHtmlGivesAMeaning) {
  EXPECT_EQ(text("a<b>&\"'c").html(), "a&lt;b&gt;&amp;&quot;&#39;c");
}

TEST(Markup, LeavesOtherCharactersAlone) {
  EXPECT_EQ(text("µs – “aten::mm” 8²\n\t").html(), "µs – “aten::mm” 8²\n\t");
}

TEST(Markup, ReplacesWhatIsNoUtf8) {
  // A lone lead byte, an overlong "/", a surrogate, beyond U+10FFFF, a cut-off character.
  EXPECT_EQ(text("a\xC3z").html(), "a\xEF\xBF\xBDz");
  EXPECT_EQ(text("\xC0\xAF").html(), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(text("\xED\xA0\x80").html(), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(text("\xF4\x90\x80\x80").html(), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(text("\xE2\x82").html(), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Markup, ReplacesControlCharacters) {
  EXPECT_EQ(text(std::string("a\0b\x1B[1mc\x7F", 9)).html(),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD[1mc\xEF\xBF\xBD");
}

TEST(Markup, ElementsHaveQuotedAttributes) {
  EXPECT_EQ(element("td", {{"title", "a\" onclick=\"x"}}, "1 < 2").html(),
            "<td title=\"a&quot; onclick=&quot;x\">1 &lt; 2</td>");
}

TEST(Markup, AttributesWithoutAValueAreLeftOut) {
  EXPECT_EQ(element("td", {{"class", ""}}, "x").html(), "<td>x</td>");
}

TEST(Markup, VoidElementsAreNotClosed) {
  EXPECT_EQ(element("meta", {{"charset", "utf-8"}}).html(), "<meta charset=\"utf-8\">");
}

TEST(Markup, JsonCannotEndItsScript) {
  EXPECT_EQ(json_block("x", R"({"a":"</script><!--&"})").html(),
            "<script type=\"application/json\" id=\"x\">"
            "{\"a\":\"\\u003c/script\\u003e\\u003c!--\\u0026\"}</script>\n");
}

TEST(Markup, FiguresNameTheirPlace) {
  EXPECT_EQ(figure_at("/iteration_ms/median", "31.25", "31.25").html(),
            "<data value=\"31.25\" data-at=\"/iteration_ms/median\">31.25</data>");
}

}  // namespace
}  // namespace understudy::pages
