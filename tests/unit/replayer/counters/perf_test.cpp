// Counters of the processor, of its memory controllers and of the system, from a kernel that is
// played, and from this machine's.

#include "replayer/counters/perf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace understudy::replayer {
namespace {

using et_schema::Counters;
using Names = std::vector<std::string>;

const Names kOfProcessor = {"instructions", "cycles", "ipc", "cache_misses"};

class PerfTest : public ::testing::Test {
 protected:
  struct Written {
    std::uint64_t value;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
  };

  void SetUp() override {
    devices_ = std::filesystem::path(::testing::TempDir()) /
               ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(devices_);
  }

  PerfSystem system() {
    return {.open =
                [this](const perf_event_attr& event, int process, int cpu) {
                  const bool is_processor = event.type == PERF_TYPE_HARDWARE;
                  if (const int refusal = is_processor ? refusal_ : memory_refusal_; refusal != 0) {
                    errno = refusal;
                    return -1;
                  }
                  EXPECT_EQ(process, is_processor ? 0 : -1);
                  const int file = open("/dev/null", O_RDONLY);
                  events_[file] = is_processor
                                      ? kEvents.at(event.config)
                                      : fmt::format("{}:{:x}@{}", event.type, event.config, cpu);
                  return file;
                },
            .read = [this](int file, void* bytes, std::size_t size) -> ssize_t {
              const std::string& event = events_.at(file);
              if (gone_.contains(event)) {
                return -1;
              }
              std::memcpy(bytes, &counts_[event], size);
              return static_cast<ssize_t>(size);
            },
            .devices = devices_};
  }

  /// Adds to the counts, all of which ran for as long as they were enabled.
  void work() {
    counts_["instructions"].value += 3000;
    counts_["cycles"].value += 2000;
    counts_["cache_misses"].value += 50;
  }
  template <typename Work>
  static Counters count(PerfSource& source, const Names& names, Work work, std::size_t passes = 1) {
    EXPECT_EQ(source.prepare(names, 3), passes);
    source.begin_pass();
    source.begin_range(1);
    work();
    source.end_range();
    source.end_pass();
    const std::vector<Counters> counted = source.take();
    EXPECT_EQ(counted.size(), 3U);
    EXPECT_TRUE(counted.at(0).empty() && counted.at(2).empty());
    EXPECT_TRUE(source.take().at(1).empty());
    return counted.at(1);
  }

  /// Two controllers on two sockets, as Linux shows them.
  void make_controllers() const {
    for (const char* const name : {"uncore_imc_0", "uncore_imc_1", "uncore_cha_0"}) {
      const std::filesystem::path events = devices_ / name / "events";
      std::filesystem::create_directories(events);
      std::ofstream(devices_ / name / "type") << (name == std::string("uncore_imc_0") ? 14 : 15);
      std::ofstream(devices_ / name / "cpumask") << "0,18\n";
      std::ofstream(events / "cas_count_read") << "event=0x04,umask=0x03\n";
      std::ofstream(events / "cas_count_write") << "event=0x04,umask=0x0c\n";
      for (const char* const event : {"cas_count_read", "cas_count_write"}) {
        std::ofstream(events / (std::string(event) + ".scale")) << "6.103515625e-5\n";
        std::ofstream(events / (std::string(event) + ".unit")) << "MiB\n";
      }
    }
  }

  const std::map<std::uint64_t, std::string> kEvents = {
      {PERF_COUNT_HW_INSTRUCTIONS, "instructions"},
      {PERF_COUNT_HW_CPU_CYCLES, "cycles"},
      {PERF_COUNT_HW_CACHE_MISSES, "cache_misses"}};
  std::filesystem::path devices_;
  int refusal_ = 0;
  int memory_refusal_ = 0;
  std::map<int, std::string> events_;  ///< by file
  std::map<std::string, Written> counts_;
  std::set<std::string> gone_;  ///< events that can no longer be read
};

TEST_F(PerfTest, ARangeHasWhatTheKernelCounted) {
  PerfSource source(system());
  EXPECT_EQ(source.state(), et_schema::kCounted);
  EXPECT_EQ(source.names(), (Names{"cpu_ms", "minor_faults", "major_faults", "involuntary_switches",
                                   "instructions", "cycles", "ipc", "cache_misses"}));
  work();
  EXPECT_EQ(
      count(source, kOfProcessor, [this] { work(); }),
      (Counters{{"instructions", 3000}, {"cycles", 2000}, {"ipc", 1.5}, {"cache_misses", 50}}));
  EXPECT_EQ(count(source, source.names(), [] {}).size(), 7U);  // 0 ÷ 0 instructions a cycle
}

TEST_F(PerfTest, ACallHasNothingThatIsTooCoarse) {
  make_controllers();
  PerfSource source(system());
  EXPECT_EQ(source.call_names(),
            (Names{"minor_faults", "instructions", "cycles", "ipc", "cache_misses"}));
  // The slow memory controllers are not even read.
  gone_ = {"14:304@0"};
  EXPECT_EQ(count(source, source.call_names(), [this] { work(); }).size(), 5U);
  EXPECT_EQ(count(source, {"ipc", "dram_bytes"}, [this] { work(); }), (Counters{{"ipc", 1.5}}));
  EXPECT_EQ(source.prepare({"dram_bytes"}, 1), 0U);
}

TEST_F(PerfTest, WhatSharedARegisterIsScaled) {
  PerfSource source(system());
  const Counters counted = count(source, source.names(), [this] {
    work();
    counts_["instructions"] = {3000, 2000, 500};
    counts_["cycles"] = {2000, 2000, 2000};
    counts_["cache_misses"] = {50, 2000, 0};
  });
  EXPECT_EQ(counted.at("instructions"), 12000);
  EXPECT_EQ(counted.at("cycles"), 2000);
  EXPECT_EQ(counted.at("ipc"), 6);
  EXPECT_FALSE(counted.contains("cache_misses"));
}

TEST_F(PerfTest, WhatRanBackwardsOrVanishedIsLeftOut) {
  PerfSource source(system());
  work();
  Counters counted = count(source, source.names(), [this] {
    work();
    counts_["cache_misses"].value = 49;
  });
  EXPECT_FALSE(counted.contains("cache_misses"));
  EXPECT_EQ(counted.at("instructions"), 3000);
  counted = count(source, source.names(), [this] {
    work();
    gone_ = {"cycles"};
  });
  EXPECT_FALSE(counted.contains("cycles") || counted.contains("ipc"));
  EXPECT_EQ(counted.at("instructions"), 3000);
  EXPECT_EQ(counted.at("cache_misses"), 50);
}

TEST_F(PerfTest, WithoutPermissionTheSystemsCountersRemain) {
  refusal_ = EACCES;
  PerfSource source(system());
  EXPECT_EQ(source.state(),
            "not permitted: lower kernel.perf_event_paranoid to 2, or grant CAP_PERFMON");
  EXPECT_EQ(source.call_names(), Names{"minor_faults"});
  EXPECT_EQ(count(
                source, kOfProcessor, [] {}, 0),
            Counters());
  constexpr std::size_t kBytes = std::size_t{1} << 24U;
  constexpr std::size_t kPage = 4096;
  const Counters counted = count(source, {"cycles", "minor_faults"}, [] {
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, kBytes, MADV_NOHUGEPAGE);
    std::memset(memory, 1, kBytes);
    munmap(memory, kBytes);
  });
  EXPECT_EQ(counted.size(), 1U);
  EXPECT_NEAR(counted.at("minor_faults"), kBytes / kPage, kBytes / kPage / 10);
  refusal_ = ENOENT;
  EXPECT_EQ(PerfSource(system()).state(), "this machine has no hardware counters");
}

TEST_F(PerfTest, BytesOfMemoryAreThoseOfAllControllers) {
  make_controllers();
  PerfSource source(system());
  const auto work = [this](std::uint64_t lines) {
    std::uint64_t factor = 1;
    for (const auto& [file, event] : events_) {
      counts_[event].value += lines * factor;  // 1, 2, 4, …
      factor *= event.find('@') == std::string::npos ? 1U : 2U;
    }
  };
  const Names names = {"host_dram_bytes"};
  EXPECT_EQ(source.names().back(), names.front());
  EXPECT_EQ(count(source, names, [&] { work(16); }),
            (Counters{{names.front(), 64.0 * 16 * 255}}));  // eight events of lines of 64 bytes
  std::set<std::string> opened;
  for (const auto& [file, event] : events_) {
    opened.insert(event);
  }
  EXPECT_TRUE(opened.contains("14:304@18") && opened.contains("15:c04@0"));
  EXPECT_EQ(count(source, names,
                  [&] {
                    work(16);
                    gone_ = {"15:c04@18"};
                  }),
            Counters());
}

TEST_F(PerfTest, WithoutPermissionMemoryIsNotCounted) {
  make_controllers();
  memory_refusal_ = EACCES;
  EXPECT_EQ(PerfSource(system()).names().back(), "cache_misses");
  memory_refusal_ = 0;
  std::ofstream(devices_ / "uncore_imc_1/events/cas_count_write.unit") << "Joules\n";
  EXPECT_EQ(PerfSource(system()).names().back(), "cache_misses");
}

TEST_F(PerfTest, IterationsHaveMeans) {
  PerfSource source(system());
  for (int iteration = 0; iteration < 4; ++iteration) {
    work();  // between iterations
    source.begin();
    work();
    if (iteration == 0) {
      counts_["instructions"].value += 8000;
    }
    source.end();
    gone_ = {iteration == 1 ? "cache_misses" : "none"};
  }
  et_schema::RunFigures figures;
  source.report(figures);
  for (const char* const name :
       {"cpu_ms", "minor_faults", "major_faults", "involuntary_switches"}) {
    EXPECT_EQ(figures.counters.erase(name), 1U) << name;
  }
  EXPECT_EQ(figures.counters, (Counters{{"instructions", 5000}, {"cycles", 2000}, {"ipc", 2.5}}));
  EXPECT_EQ(figures.counter_sources.at("perf"), et_schema::kCounted);
}

TEST(Perf, ThisMachineCountsOrSaysWhyNot) {
  PerfSource source;
  ASSERT_EQ(source.prepare(source.names(), 1), 1U);
  source.begin_range(0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  volatile double sum = 0;
  while (std::chrono::steady_clock::now() < end) {
    sum = sum + 1;
  }
  source.end_range();
  const Counters counted = source.take().front();
  EXPECT_GT(counted.at("cpu_ms"), 1);
  EXPECT_FALSE(source.state().empty());
  if (source.state() == et_schema::kCounted) {
    EXPECT_GT(counted.at("instructions"), 1e6);
    EXPECT_GT(counted.at("ipc"), 0);
  } else {
    EXPECT_FALSE(counted.contains("instructions"));
  }
  RecordProperty("perf", source.state());
}

}  // namespace
}  // namespace understudy::replayer
