#include "fleet/nightly/inputs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "et_schema/base/error.h"
#include "fleet/nightly/worker.h"
#include "testing/error_text.h"
#include "testing/temporary_folder.h"

namespace understudy::fleet {
namespace {

TEST(Inputs, ContentAndNamesAreTold) {
  const testing_files::TemporaryFolder folder;
  folder.write("job/a.json", "one");
  folder.write("job/below/b.json", "two");
  const std::string job = folder.path() + "/job";
  const std::string before = input_hash(job);
  folder.write("job/.hidden", "x");
  EXPECT_EQ(input_hash(job), before);
  folder.write("job/a.json", "One");
  EXPECT_NE(input_hash(job), before);
  folder.write("job/a.json", "one");
  EXPECT_EQ(input_hash(job), before);
  std::filesystem::rename(job + "/a.json", job + "/c.json");
  EXPECT_NE(input_hash(job), before);
}

TEST(Inputs, AWriteShowsWithoutReading) {
  const testing_files::TemporaryFolder folder;
  const std::string file = folder.write("a.json", "one");
  const InputState before = input_state(file);
  EXPECT_EQ(input_state(file).stat, before.stat);
  EXPECT_TRUE(before.is_recent);
  std::ofstream(file) << "two";  // of the same length
  timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  EXPECT_NE(input_state(file).stat, before.stat);
}

TEST(Inputs, NoneAreRefused) {
  const testing_files::TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { return input_state(folder.path()); }),
            "a job's traces cannot be read\n"
            "  file:     " +
                folder.path() +
                "\n"
                "  expected: traces of all ranks: a file, an archive or a folder\n"
                "  got:      a folder without files\n"
                "  hint:     add the right path (understudy fleet add), or remove it");
  EXPECT_THROW(static_cast<void>(input_state(folder.path() + "/none")), et_schema::Error);
}

TEST(Inputs, PipesAndLinksToNowhereAreNoInputs) {
  const testing_files::TemporaryFolder folder;
  folder.write("job/a.json", "one");
  const std::string job = folder.path() + "/job";
  const std::string before = input_hash(job);
  ASSERT_EQ(::mkfifo((job + "/pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", job + "/link");
  EXPECT_EQ(input_hash(job), before);
  EXPECT_NO_THROW(static_cast<void>(input_state(job)));
  EXPECT_THROW(static_cast<void>(input_hash(job + "/pipe")), et_schema::Error);
}

TEST(Lines, AFailureIsOneLine) {
  EXPECT_EQ(in_one_line("what\n  file: a\n  got: b\n"), "what; file: a; got: b");
  EXPECT_EQ(in_one_line("\n"), "");
  EXPECT_EQ(in_one_line(std::string(1000, 'x')).size(), 600U + std::string(" …").size());
}

}  // namespace
}  // namespace understudy::fleet
