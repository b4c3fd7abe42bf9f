// Rows that outlive an interruption.

#include "replayer/calibrator/journal/journal.h"

#include <gtest/gtest.h>

#include <fstream>

#include "et_schema/base/error.h"
#include "testing/error_text.h"
#include "testing/temporary_folder.h"

namespace understudy::calibrator {
namespace {

et_schema::OperatorTimes header(const std::string& machine = "a CPU, torch 2.11.0") {
  et_schema::OperatorTimes times;
  times.tool_version = "0.1.0";
  times.benchmark = machine;
  times.device = "cpu";
  times.threads = 2;
  return times;
}

et_schema::MeasuredCall row(const std::string& call, int threads, double at_s) {
  et_schema::MeasuredCall row;
  row.call.name = "aten::relu";
  row.op_class = "elementwise";
  row.host = {3, 1, 1, 2, 3, 2, 2};
  row.conditions = et_schema::TimedConditions{.call = call, .threads = threads, .at_s = at_s};
  return row;
}

TEST(Journal, GoesOnWithWhatIsThere) {
  const testing_files::TemporaryFolder folder;
  const std::string path = (folder / "rows.jsonl").string();
  {
    Journal journal(path, header());
    EXPECT_EQ(journal.found(), 0U);
    journal.add(row("a", 1, 1.5));
    journal.add(row("a", 2, 1.5));
    journal.add(row("b", 1, 4));
  }
  Journal journal(path, header());
  EXPECT_EQ(journal.found(), 3U);
  EXPECT_FALSE(journal.found_cut_line());
  EXPECT_DOUBLE_EQ(journal.found_s(), 4);
  EXPECT_EQ(journal.rows_of("a").size(), 2U);
  EXPECT_TRUE(journal.rows_of("c").empty());
  journal.add(row("c", 1, 5));
  EXPECT_EQ(journal.rows_of("c").size(), 1U);
  EXPECT_EQ(Journal(path, header()).times(), journal.times());
}

TEST(Journal, ALineThatWasCutIsLeftOut) {
  const testing_files::TemporaryFolder folder;
  const std::string path = (folder / "rows.jsonl").string();
  {
    Journal journal(path, header());
    journal.add(row("a", 1, 1));
  }
  std::ofstream(path, std::ios::app) << R"({"rank":0,"instruc)";
  {
    Journal journal(path, header());
    EXPECT_TRUE(journal.found_cut_line());
    EXPECT_EQ(journal.found(), 1U);
    journal.add(row("b", 1, 2));
  }
  const Journal journal(path, header());
  EXPECT_FALSE(journal.found_cut_line());
  EXPECT_EQ(journal.found(), 2U);
}

TEST(Journal, AnotherMachinesRowsAreRefused) {
  const testing_files::TemporaryFolder folder;
  const std::string path = (folder / "rows.jsonl").string();
  Journal(path, header()).add(row("a", 1, 1));
  EXPECT_EQ(testing_errors::error_of(
                [&] { const Journal journal(path, header("another CPU, torch 2.11.0")); }),
            "an interrupted calibration is there that this one cannot go on with\n"
            "  file:     " +
                path +
                "\n"
                "  field:    benchmark\n"
                "  expected: another CPU, torch 2.11.0\n"
                "  got:      a CPU, torch 2.11.0\n"
                "  hint:     Remove the file to begin anew, or name another with --output.");
}

TEST(Journal, AFileOfAnotherKindIsNotTouched) {
  const testing_files::TemporaryFolder folder;
  const std::string path = (folder / "rows.jsonl").string();
  std::ofstream(path) << "{\"format\":\"understudy-report\",\"version\":1}\n";
  EXPECT_THROW(Journal(path, header()), et_schema::Error);
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "{\"format\":\"understudy-report\",\"version\":1}");
}

}  // namespace
}  // namespace understudy::calibrator
