// How much of an input may be in memory.
#include "et_schema/base/input_limit.h"

#include <gtest/gtest.h>

#include "bench_samples.h"
#include "et_schema/formats/bench/bench.h"
#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using testing_files::TemporaryFolder;
using testing_texts::ArchiveKind;
using testing_texts::error_of;
using testing_texts::roots;
using testing_texts::trace;

constexpr std::uint64_t kKibi = 1024;

TEST(ParseBytes, KnowsUnitsOfPowersOf1024) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("4096"), 4096U);
  EXPECT_EQ(parse_bytes("3K"), 3 * kKibi);
  EXPECT_EQ(parse_bytes("512M"), 512 * kKibi * kKibi);
  EXPECT_EQ(parse_bytes("8G"), 8 * kKibi * kKibi * kKibi);
  EXPECT_EQ(parse_bytes("1T"), kKibi * kKibi * kKibi * kKibi);
}

TEST(ParseBytes, RefusesTheRest) {
  for (const char* text : {"", "G", "8GB", "8g", "-1", "1.5G", " 8", "8 ", "18446744073709551616",
                           "99999999999999999999G", "17179869184G"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

ReadLimits at_most(std::uint64_t bytes) {
  ReadLimits limits;
  limits.max_held_bytes = bytes;
  return limits;
}

std::string refused(const std::string& file, const std::string& expected, std::uint64_t bytes) {
  return "the input takes more memory than it may\n  file:     " + file +
         "\n  field:    UNDERSTUDY_MAX_INPUT\n  expected: at most " + expected +
         "\n  got:      at least " + std::to_string(bytes) +
         " bytes\n  hint:     about 4 times the unpacked input is needed, here " +
         std::to_string(4 * bytes) +
         " bytes of memory or more. Give fewer ranks at a time, use a machine with more memory, or "
         "allow it with UNDERSTUDY_MAX_INPUT=SIZE";
}

TEST(InputLimit, IsAQuarterOfWhatIsAvailable) {
  const ReadLimits limits = limits_of_memory(4000);
  EXPECT_EQ(error_of([&] { check_held("x.json", 1000, limits); }), "no error");
  EXPECT_EQ(error_of([&] { check_held("x.json", 1001, limits); }),
            refused("x.json",
                    "1000 bytes, unpacked: a quarter of the 4000 bytes of memory available", 1001));
}

TEST(InputLimit, IsSharedByTheProcessesOfAHost) {
  const ReadLimits limits = limits_of_memory(4000, 8);
  EXPECT_EQ(error_of([&] { check_held("x.json", 126, limits); }),
            refused("x.json",
                    "125 bytes, unpacked: a quarter of the 4000 bytes of memory available, shared "
                    "by 8 processes",
                    126));
}

TEST(InputLimit, IsNoneWhereMemoryIsUnknown) {
  const ReadLimits limits = limits_of_memory(std::nullopt);
  EXPECT_EQ(error_of([&] { check_held("x.json", std::uint64_t{1} << 60U, limits); }), "no error");
}

TEST(InputLimit, OfAPlainFileIsToldBeforeItIsRead) {
  const TemporaryFolder folder;
  const std::string text = trace(roots());
  const std::string path = folder.write("a.json", text);
  EXPECT_EQ(error_of([&] { (void)read_traces({path}, at_most(text.size() - 1)); }),
            refused(path, std::to_string(text.size() - 1) + " bytes, unpacked", text.size()));
  EXPECT_EQ(error_of([&] { (void)read_traces({path}, at_most(text.size())); }), "no error");
}

TEST(InputLimit, CountsWhatIsUnpacked) {
  const TemporaryFolder folder;
  const std::string text = trace(roots()) + std::string(100'000, ' ');
  for (const ArchiveKind kind : {ArchiveKind::kTarGz, ArchiveKind::kZip, ArchiveKind::kGzip}) {
    const std::string path = folder.write("packed", testing_texts::pack(kind, {{"a.json", text}}));
    const std::string name = kind == ArchiveKind::kGzip ? path : path + "/a.json";
    // It is unpacked in blocks: the first that is too much ends it.
    EXPECT_EQ(error_of([&] { (void)read_traces({path}, at_most(1000)); }),
              refused(name, "1000 bytes, unpacked", 65536));
    EXPECT_EQ(error_of([&] { (void)read_traces({path}, at_most(text.size())); }), "no error");
  }
}

TEST(InputLimit, OfAllRanksTogetherButOfOtherFilesAlone) {
  const TemporaryFolder folder;
  const std::string text = trace(roots());
  folder.write("et_0.json", text);
  const std::string second = folder.write("et_1.json", text);
  folder.write("other.json", "{}" + std::string(text.size() - 2, ' '));
  EXPECT_EQ(error_of([&] { (void)read_traces({folder.path()}, at_most(3 * text.size())); }),
            "no error");
  EXPECT_EQ(
      error_of([&] { (void)read_traces({folder.path()}, at_most(2 * text.size() - 1)); }),
      refused(second, std::to_string(2 * text.size() - 1) + " bytes, unpacked", 2 * text.size()));
}

TEST(InputLimit, OfABenchmarkHoldsForItsFileAndForWhatItUnpacksTo) {
  const TemporaryFolder folder;
  const std::string bytes = bench_bytes(equal_ranks_bench(2));
  const std::string path = folder.write("bench.et", bytes);
  EXPECT_EQ(error_of([&] { (void)read_bench(path, at_most(bytes.size() - 1)); }),
            refused(path, std::to_string(bytes.size() - 1) + " bytes, unpacked", bytes.size()));
  const std::string unpacked = error_of([&] { (void)read_bench(path, at_most(bytes.size() + 1)); });
  EXPECT_TRUE(unpacked.starts_with("the input takes more memory than it may\n  file:     " + path))
      << unpacked;
  EXPECT_EQ(error_of([&] { (void)read_bench(path, at_most(100 * bytes.size())); }), "no error");
}

TEST(InputLimit, OfTheProcessIsTheOneThatWasSet) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.json", trace(roots()));
  const ReadLimits before = process_limits();
  set_process_limits(at_most(1));
  EXPECT_NE(error_of([&] { (void)read_traces({path}); }), "no error");
  set_process_limits(before);
  EXPECT_EQ(error_of([&] { (void)read_traces({path}); }), "no error");
}

}  // namespace
}  // namespace understudy::et_schema
