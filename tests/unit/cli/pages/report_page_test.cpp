#include "cli/pages/report/report_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "et_schema/formats/report/report_json.h"
#include "report_samples.h"

namespace understudy::pages {
namespace {

TEST(ReportPage, DataIsTheReportWithoutWhatNothingShows) {
  const et_schema::Report report = et_schema::sample_report(2);
  auto expected = nlohmann::json::parse(et_schema::to_json(report));
  const auto drop = [](nlohmann::json& part) {
    for (auto& row : part["operators"]) {
      row.erase("samples_ms");
    }
    for (auto& row : part["collectives"]) {
      row.erase("samples_us");
      row.erase("moving_samples_us");
    }
  };
  drop(expected);
  for (auto& rank : expected["ranks"]) {
    rank.erase("operators");
    rank.erase("collectives");
  }
  const std::string html = to_html(report_page(report));
  const std::size_t begin = html.find('>', html.find("id=\"data\"")) + 1;
  EXPECT_EQ(nlohmann::json::parse(html.substr(begin, html.find('<', begin) - begin)), expected);
}

TEST(ReportPage, IsMadeFromTheFileAlone) {
  const et_schema::Report report = et_schema::sample_report(3);
  const et_schema::Report read = et_schema::parse_report(et_schema::to_json(report), "report.json");
  EXPECT_EQ(to_html(report_page(read)), to_html(report_page(report)));
}

TEST(ReportPage, ClassesWithPartlyRecordedTimesHaveNone) {
  const Page page = report_page(et_schema::sample_report(1));
  const auto section = std::ranges::find(page.sections, "classes", &Section::id);
  ASSERT_NE(section, page.sections.end());
  const std::vector<Cell> row = std::get<Table>(section->blocks.at(0)).rows.at(0);
  // aten::bmm has no recorded time, aten::mm has: nothing is known of matmul.
  EXPECT_EQ(std::get<std::string>(row[0]), "matmul");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(row[4]));
}

}  // namespace
}  // namespace understudy::pages
