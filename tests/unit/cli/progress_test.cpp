// What a long run says, by a clock that the test moves.

#include "cli/common/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace understudy::cli {
namespace {

TEST(ProgressText, SaysPhaseCountRateAndTimeLeft) {
  EXPECT_EQ(progress_text({"reading"}, 0.5), "reading");
  EXPECT_EQ(progress_text({"reading"}, 12.4), "reading, 12 s");
  EXPECT_EQ(progress_text({"iterations", 40, 200}, 10), "iterations: 40 of 200, 4.0/s, 40 s left");
  EXPECT_EQ(progress_text({"iterations", 1234}, 4), "iterations: 1,234, 308.5/s");
  EXPECT_EQ(progress_text({"iterations", 2, 100}, 50),
            "iterations: 2 of 100, 25.0 s each, 40 min 50 s left");
  EXPECT_EQ(progress_text({"iterations", 1, 1000}, 50),
            "iterations: 1 of 1,000, 50.0 s each, 13 h 52 min left");
}

TEST(ProgressText, TheEndThatComesFirstCounts) {
  EXPECT_EQ(progress_text({"iterations", 40, 200, 15.0}, 10),
            "iterations: 40 of 200, 4.0/s, 15 s left");
  EXPECT_EQ(progress_text({"iterations", 40, {}, 90.0}, 10),
            "iterations: 40, 4.0/s, 1 min 30 s left");
  EXPECT_EQ(progress_text({"iterations", 40, {}, -1.0}, 10), "iterations: 40, 4.0/s, 0 s left");
}

class ProgressTest : public testing::Test {
 protected:
  Progress::Output output(bool is_terminal) {
    return {.is_terminal = is_terminal,
            .write = [this](std::string_view text) { written_ += text; },
            .now_s = [this] { return now_s_; }};
  }
  std::string take() { return std::exchange(written_, ""); }

  double now_s_ = 1000;
  std::string written_;
};

TEST_F(ProgressTest, ElsewhereALineEveryTenSeconds) {
  Progress progress(output(false));
  progress.show("reading");
  now_s_ += 9.9;
  progress.show(ProgressState{"iterations", 0, 100});
  EXPECT_EQ(take(), "");
  now_s_ += 0.2;
  progress.show(ProgressState{"iterations", 1, 100});
  EXPECT_EQ(take(), "iterations: 1 of 100, 5.0/s, 20 s left\n");
  now_s_ += 9;
  progress.show(ProgressState{"iterations", 50, 100});
  progress.show("timing passes");  // another phase is no reason for a line
  EXPECT_EQ(take(), "");
  now_s_ += 1.25;
  progress.show(ProgressState{"timing passes", 2});
  EXPECT_EQ(take(), "timing passes: 2, 1.6/s\n");
  progress.clear();
  EXPECT_EQ(take(), "");
}

TEST_F(ProgressTest, AnywhereALineThatIsOverwrittenIfItIsWished) {
  setenv("UNDERSTUDY_PROGRESS", "redraw", /*overwrite=*/1);
  testing::internal::CaptureStderr();
  {
    Progress progress;
    progress.show("reading");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\r\x1b[Kreading\r\x1b[K");
  unsetenv("UNDERSTUDY_PROGRESS");
}

TEST_F(ProgressTest, OnATerminalALineThatIsOverwrittenAndWiped) {
  Progress progress(output(true));
  progress.show("reading");
  EXPECT_EQ(take(), "\r\x1b[Kreading");
  progress.show(ProgressState{"iterations", 1});
  EXPECT_EQ(take(), "\r\x1b[Kiterations: 1");
  now_s_ += 0.1;
  progress.show(ProgressState{"iterations", 2});
  EXPECT_EQ(take(), "");
  now_s_ += 0.4;
  progress.show(ProgressState{"iterations", 3});
  EXPECT_EQ(take(), "\r\x1b[Kiterations: 3, 6.0/s");
  progress.clear();
  EXPECT_EQ(take(), "\r\x1b[K");
  progress.clear();
  EXPECT_EQ(take(), "");
}

TEST_F(ProgressTest, SilencedItSaysNothing) {
  Progress progress(output(true));
  progress.show("reading");
  progress.silence();
  EXPECT_EQ(take(), "\r\x1b[Kreading\r\x1b[K");
  now_s_ += 100;
  progress.show(ProgressState{"iterations", 3});
  EXPECT_EQ(take(), "");
}

}  // namespace
}  // namespace understudy::cli
