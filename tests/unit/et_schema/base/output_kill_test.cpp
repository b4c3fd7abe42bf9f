// A program that is killed while it writes leaves no file that looks whole and is not.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "bench_samples.h"
#include "et_schema/base/output_file.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/report/report_json.h"
#include "report_samples.h"
#include "testing/temporary_folder.h"

namespace understudy::et_schema {
namespace {

namespace fs = std::filesystem;

constexpr int kKills = 250;  // of a benchmark's writer and of a report's
constexpr int kLongestUs = 20'000;

/// Writes for ever, in a process of its own.
template <typename Write>
pid_t start_writer(const Write& write) {
  const pid_t writer = fork();
  if (writer == 0) {
    for (int version = 0;; ++version) {
      write(version);
    }
  }
  return writer;
}

/// After each of many kills at random moments, `is_whole` looks at the file, if there is one.
template <typename Write, typename IsWhole>
void kill_often(const Write& write, const std::string& path, const IsWhole& is_whole) {
  std::mt19937 random(static_cast<unsigned>(getpid()));
  std::uniform_int_distribution<int> moment(0, kLongestUs);
  int files = 0;
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    fs::remove(path);
    const pid_t writer = start_writer(write);
    ASSERT_GT(writer, 0);
    // Every other one is killed while it replaces a file.
    while (kill_number % 2 == 1 && !fs::exists(path)) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(moment(random)));
    ASSERT_EQ(::kill(writer, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    if (fs::exists(path)) {
      ++files;
      ASSERT_TRUE(is_whole()) << "after kill " << kill_number;
    }
  }
  // What is left besides is hidden, so that no reader of the folder takes it for one.
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(path).parent_path())) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(entry.path() == path || name.starts_with(".")) << name;
  }
  EXPECT_GE(files, kKills / 2);
  write(0);
  EXPECT_TRUE(is_whole());
}

TEST(KilledWriter, OfABenchmark) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder / "bench.et";
  const std::vector<Bench> benches = {equal_ranks_bench(2, 400), equal_ranks_bench(8, 20)};
  kill_often(
      [&](int version) { write_bench(benches[static_cast<std::size_t>(version % 2)], path); }, path,
      [&] {
        const Bench read = read_bench(path);
        return read == benches[0] || read == benches[1];
      });
}

TEST(KilledWriter, OfAReport) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder / "report.json";
  const std::string reports[] = {to_json(sample_report(8)), to_json(sample_report(1))};
  kill_often([&](int version) { write_file_atomically(path, reports[version % 2]); }, path,
             [&] {
               std::ostringstream text;
               text << std::ifstream(path).rdbuf();
               static_cast<void>(parse_report(text.str(), path));
               return text.str() == reports[0] || text.str() == reports[1];
             });
}

}  // namespace
}  // namespace understudy::et_schema
