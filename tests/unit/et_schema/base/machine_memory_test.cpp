// Available memory, by files as kernels write them.
#include "et_schema/base/machine_memory.h"

#include <gtest/gtest.h>

#include "testing/temporary_folder.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kMeminfo = "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\n";
constexpr std::uint64_t kAvailable = 8'000'000'000ULL / 1000 * 1024;

class MachineMemory : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { root_.write(name, text); }
  /// A group of version 2, as its files tell it.
  void group(const std::string& path, const std::string& limit, const std::string& used,
             const std::string& cached = "0") {
    const std::string folder = "sys/fs/cgroup" + path + "/";
    write(folder + "memory.max", limit + "\n");
    write(folder + "memory.current", used + "\n");
    write(folder + "memory.stat", "anon 1\ninactive_file " + cached + "\nactive_file 7\n");
  }
  [[nodiscard]] std::optional<std::uint64_t> available() const {
    return available_memory(root_.path());
  }

 private:
  testing_files::TemporaryFolder root_;
};

TEST_F(MachineMemory, IsUnknownWhereNothingTells) {
  EXPECT_EQ(available(), std::nullopt);
}

TEST_F(MachineMemory, IsWhatTheKernelHasAvailable) {
  write("proc/meminfo", kMeminfo);
  EXPECT_EQ(available(), kAvailable);
}

TEST_F(MachineMemory, IsWhatAContainersGroupLeaves) {
  write("proc/meminfo", kMeminfo);
  write("proc/self/cgroup", "0::/\n");
  group("", "1000000000", "400000000", "100000000");
  EXPECT_EQ(available(), 700'000'000U);
}

TEST_F(MachineMemory, IsTheLeastOfAllGroupsAbove) {
  write("proc/meminfo", kMeminfo);
  write("proc/self/cgroup", "0::/user.slice/job.scope\n");
  group("/user.slice/job.scope", "max", "400000000");
  group("/user.slice", "900000000", "500000000");
  group("", "max", "1");
  EXPECT_EQ(available(), 400'000'000U);
  group("/user.slice/job.scope", "450000000", "400000000");
  EXPECT_EQ(available(), 50'000'000U);
}

TEST_F(MachineMemory, IsThatOfTheFirstVersionToo) {
  write("proc/meminfo", kMeminfo);
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/a\n");
  const std::string folder = "sys/fs/cgroup/memory/a/b/";
  write(folder + "memory.limit_in_bytes", "1000000000\n");
  write(folder + "memory.usage_in_bytes", "400000000\n");
  write(folder + "memory.stat", "cache 5\ntotal_inactive_file 100000000\n");
  EXPECT_EQ(available(), 700'000'000U);
}

TEST_F(MachineMemory, IsNoneWhereMoreIsUsedThanAllowed) {
  write("proc/meminfo", kMeminfo);
  group("", "1000", "2000");
  EXPECT_EQ(available(), 0U);
}

TEST_F(MachineMemory, SurvivesOtherTexts) {
  write("proc/meminfo", "MemAvailable: lots kB\n");
  write("proc/self/cgroup", "\n:::\n0::\n");
  group("", "99999999999999999999999", "-1");
  EXPECT_EQ(available(), std::nullopt);
}

TEST(MachineMemoryHere, IsKnownOnLinux) {
  EXPECT_TRUE(available_memory().has_value());
}

}  // namespace
}  // namespace understudy::et_schema
