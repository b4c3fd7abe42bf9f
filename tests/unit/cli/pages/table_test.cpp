#include "cli/pages/document/table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace understudy::pages {
namespace {

TEST(CellText, IsReadByItsKind) {
  EXPECT_EQ(cell_text(12.3456, CellKind::kFigure), "12.35");
  EXPECT_EQ(cell_text(0.5, CellKind::kChange), "+0.500");
  EXPECT_EQ(cell_text(-0.5, CellKind::kChange), "-0.500");
  EXPECT_EQ(cell_text(1.0254, CellKind::kRatio), "1.025");
  EXPECT_EQ(cell_text(0.8424, CellKind::kShare), "84.2 %");
  EXPECT_EQ(cell_text(0.99999, CellKind::kPercent), "99.99 %");
  EXPECT_EQ(cell_text(std::uint64_t{1234567}, CellKind::kCount), "1,234,567");
  EXPECT_EQ(cell_text(1234.0, CellKind::kCount), "1,234");
  EXPECT_EQ(cell_text(1234.75, CellKind::kCount), "1,235");
  EXPECT_EQ(cell_text(12.75, CellKind::kCount), "12.75");
  EXPECT_EQ(cell_text(std::uint64_t{1536}, CellKind::kBytes), "1.5 KiB");
  EXPECT_EQ(cell_text(std::string("aten::mm"), CellKind::kText), "aten::mm");
  EXPECT_EQ(cell_text(1e20, CellKind::kRatio), "1.000e+20");
}

TEST(CellText, OfNothingIsADash) {
  EXPECT_EQ(cell_text({}, CellKind::kFigure), "–");
  EXPECT_EQ(cell_text(cell_of(std::optional<double>(NAN)), CellKind::kFigure), "–");
  EXPECT_EQ(cell_text(cell_of(std::optional<double>(HUGE_VAL)), CellKind::kFigure), "–");
  EXPECT_EQ(cell_text(cell_of(std::optional<double>()), CellKind::kFigure), "–");
}

TEST(CellText, AZeroHasNoSign) {
  EXPECT_EQ(cell_text(cell_of(std::optional<double>(-0.0)), CellKind::kFigure), "0.000");
}

TEST(Links, LeadToNoOtherPlace) {
  EXPECT_EQ(address_of({"x", "javascript:alert(1)"}), "javascript%3Aalert%281%29");
  EXPECT_EQ(address_of({"x", "//host/path"}), ".//host/path");
  EXPECT_EQ(address_of({"x", "https://host"}), "https%3A//host");
  EXPECT_EQ(address_of({"x", "job-a-1.html#top"}), "job-a-1.html#top");
}

}  // namespace
}  // namespace understudy::pages
