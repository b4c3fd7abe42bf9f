// Which profile is of which rank, and what lies beside the traces of a capture.

#include "et_schema/formats/kineto/profile_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "et_schema/base/error.h"
#include "reader_texts.h"
#include "testing/error_text.h"
#include "testing/temporary_folder.h"

namespace understudy::et_schema {
namespace {

using testing_errors::told;
using testing_texts::capture_description, testing_texts::captured_rank;

namespace fs = std::filesystem;

/// A folder that goes away with the test.
class ProfileFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name) << content;
    return (folder_ / name).string();
  }

  /// Rank → base name of its profile, or the text of the error.
  std::string ranks(const std::vector<std::string>& paths, int world_size) {
    std::map<int, std::string> found;
    try {
      read_profiles(paths, world_size, [&](int rank, Profile&& profile) {
        found[rank] = fs::path(profile.file).filename().string();
      });
    } catch (const Error& error) {
      std::string text = to_text(error);
      for (std::size_t at = 0; (at = text.find(folder_.string() + "/")) != std::string::npos;) {
        text.erase(at, folder_.string().size() + 1);
      }
      return text;
    }
    std::string text;
    for (const auto& [rank, file] : found) {
      text += std::to_string(rank) + " " + file + "\n";
    }
    return text;
  }

  const testing_files::TemporaryFolder
      temporary_;  // NOLINT(misc-non-private-member-variables-in-classes)
  const fs::path folder_ =
      temporary_.path();  // NOLINT(misc-non-private-member-variables-in-classes)
};

std::string kineto(int rank = -1, int world_size = 2) {
  const std::string info = rank < 0 ? ""
                                    : R"("distributedInfo":{"backend":"nccl","rank":)" +
                                          std::to_string(rank) + R"(,"world_size":)" +
                                          std::to_string(world_size) + "},";
  return "{\"schemaVersion\":1," + info +
         R"("traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]})";
}

std::string trace_beside() {
  return R"({"schema":"1.0.1","pid":1,"time":"","start_ts":0,"nodes":[{"name":"root","id":1,)"
         R"("rf_id":0,"parent":1,"fw_parent":0,"seq_id":-1,"scope":7,"tid":1,"fw_tid":0,)"
         R"("op_schema":"","inputs":[],"input_shapes":[],"input_types":[],"outputs":[],)"
         R"("output_shapes":[],"output_types":[]}],"finish_ts":1})";
}

TEST_F(ProfileFiles, TheRankInTheFileGoesBeforeItsName) {
  const std::string a = write("worker0.json", kineto(1));
  const std::string b = write("worker1.json", kineto(0));
  EXPECT_EQ(ranks({a, b}, 2), "0 worker1.json\n1 worker0.json\n");
}

TEST_F(ProfileFiles, OldProfilesAreToldByTheirNames) {
  write("worker1.json", kineto());
  write("worker0.json", kineto());
  EXPECT_EQ(ranks({folder_.string()}, 2), "0 worker0.json\n1 worker1.json\n");
}

TEST_F(ProfileFiles, OneProfileIsOfTheOneTrace) {
  EXPECT_EQ(ranks({write("worker5.json", kineto(5, 8))}, 1), "0 worker5.json\n");
}

TEST_F(ProfileFiles, WhatMustBeRefused) {
  const std::string a = write("worker0.json", kineto(0));
  const std::string b = write("worker1.json", kineto(0));
  const std::string c = write("worker2.json", kineto(7, 8));
  EXPECT_EQ(ranks({a}, 2),
            told("the profiles are not one for each rank", "file: worker0.json", "field: --profile",
                 "expected: 2 profiles, one for each trace", "got: 1",
                 "hint: give the profiles of all ranks, or --profile none"));
  EXPECT_EQ(
      ranks({a, b}, 2),
      told("two profiles of one rank", "file: worker1.json", "rank: 0", "field: --profile",
           "expected: one profile for each of ranks 0 to 1", "got: this file and worker0.json",
           "hint: give the profiles of the same job as the traces"));
  EXPECT_EQ(ranks({a, c}, 2),
            told("a profile of a rank without a trace", "file: worker2.json", "rank: 7",
                 "field: --profile", "expected: one profile for each of ranks 0 to 1",
                 "got: rank 7", "hint: give the profiles of the same job as the traces"));
}

TEST_F(ProfileFiles, ACaptureListsItsProfiles) {
  write("rank-0.et.json", trace_beside());
  write("rank-0.kineto.json", kineto());
  write("rank-0.kineto_only.json", kineto());
  write("capture.json",
        capture_description({captured_rank(
            0, R"(["rank-0.et.json","rank-0.kineto.json","rank-0.kineto_only.json"])", "[5]")}));
  const std::vector<std::string> paths = {folder_.string()};
  const auto captures = find_captures(paths, read_trace_set(paths));
  ASSERT_TRUE(captures);
  ASSERT_EQ(captures->size(), 1U);
  EXPECT_EQ((*captures)[0].alone, (folder_ / "rank-0.kineto_only.json").string());
  EXPECT_EQ((*captures)[0].with_trace, (folder_ / "rank-0.kineto.json").string());
  EXPECT_EQ((*captures)[0].facts.median_step_ns(), 5);
  EXPECT_EQ(read_profile(paths, (*captures)[0].alone).events.size(), 1U);
}

TEST_F(ProfileFiles, WithoutACaptureOrItsProfilesThereIsNone) {
  write("rank-0.et.json", trace_beside());
  const std::vector<std::string> paths = {folder_.string()};
  EXPECT_FALSE(find_captures(paths, read_trace_set(paths)));
  write("capture.json", R"({"nobody's":"capture"})");
  EXPECT_FALSE(find_captures(paths, read_trace_set(paths)));
  write("capture.json",
        capture_description({captured_rank(0, R"(["rank-0.et.json","rank-0.kineto.json"])")}));
  EXPECT_FALSE(find_captures(paths, read_trace_set(paths))) << "the profile is not there";
}

}  // namespace
}  // namespace understudy::et_schema
