// What read_bench and write_bench must refuse of the zip and the manifest, each with its whole
// message.

#include <gtest/gtest.h>

#include <filesystem>

#include "bench_refusals.h"
#include "bench_samples.h"
#include "et_schema/base/cannot_write.h"
#include "et_schema/base/zip.h"
#include "et_schema/formats/bench/bench.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

// ---- the zip

TEST(BenchRefusal, NoFile) {
  EXPECT_EQ(error_of([&] { return read_bench("/nowhere/bench.et"); }),
            told("the file cannot be read", "file: /nowhere/bench.et",
                 "expected: a file that can be read", "got: No such file or directory"));
}

TEST(BenchRefusal, AFolder) {
  EXPECT_EQ(error_of([&] { return read_bench("/"); }),
            told("the file cannot be read", "file: /", "expected: a file that can be read",
                 "got: Is a directory"));
}

TEST(BenchRefusal, NotAZip) {
  EXPECT_EQ(
      refusal("{\"schema\": \"1.1.1\", \"nodes\": []}"),
      told("not a benchmark of Understudy", "file: bench.et",
           "expected: a zip whose first member is manifest.json", "got: \"{\"schema\": \"1.1.\" …",
           "hint: make a benchmark with `understudy generate TRACE… -o bench.et`"));
  EXPECT_EQ(refusal(""),
            told("not a benchmark of Understudy", "file: bench.et",
                 "expected: a zip whose first member is manifest.json", "got: an empty file",
                 "hint: make a benchmark with `understudy generate TRACE… -o bench.et`"));
}

TEST(BenchRefusal, AZipOfSomethingElse) {
  EXPECT_EQ(
      refusal(zip_bytes({{"data.pkl", "pickle"}})),
      told("not a benchmark of Understudy", "file: bench.et",
           "expected: a zip whose first member is manifest.json", "got: \"PK?????????\?!?\?\?\" …",
           "hint: make a benchmark with `understudy generate TRACE… -o bench.et`"));
}

TEST(BenchRefusal, EveryTruncation) {
  const std::string bytes = packed(tiny_bench());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(refusal(bytes.substr(0, size)), "no error") << size;
  }
}

TEST(BenchRefusal, DamagedContent) {
  std::string bytes = packed(tiny_bench());
  const std::size_t inside = bytes.find(kProgram) + std::string(kProgram).size() + 60;
  bytes[inside] = static_cast<char>(bytes[inside] ^ 0x55);
  EXPECT_NE(refusal(bytes).find("a compressed file is damaged"), std::string::npos)
      << refusal(bytes);
}

TEST(BenchRefusal, UnsafeNames) {
  for (const std::string name : {"../evil", "/etc/evil", "programs/../../evil", "..\\evil"}) {
    const std::string told_name = name == "..\\evil" ? "../evil" : name;
    EXPECT_EQ(refusal(zip_bytes({{kManifest, "{}"}, {name, "x"}})),
              told("an archive member with an unsafe name", "file: bench.et", "field: member name",
                   "expected: a relative name without \"..\"", "got: " + told_name,
                   "hint: do not use this archive unless you know where it comes from"));
  }
}

TEST(BenchRefusal, ADuplicateMember) {
  EXPECT_EQ(
      refusal(zip_bytes({{kManifest, "{}"}, {kManifest, "{}"}})),
      told("an archive with two members of one name", "file: bench.et", "expected: each name once",
           "got: \"manifest.json\" twice", "hint: make it again"));
}

TEST(BenchRefusal, Bombs) {
  const std::string unpack_yourself =
      "hint: if you trust it, unpack traces yourself, and give the plain files";
  ReadLimits limits;
  limits.max_file_bytes = 1000;
  const std::string zeros(2000, '0');
  const std::string bytes = zip_bytes({{kManifest, "{}"}, {"blob", zeros}});
  EXPECT_EQ(refusal(bytes, limits),
            told("an input that unpacks to too much", "file: bench.et/blob",
                 "expected: at most 1000 bytes a file", "got: more", unpack_yourself));
  limits.max_file_bytes = 10000;
  limits.max_total_bytes = 1500;
  EXPECT_EQ(refusal(bytes, limits),
            told("an input that unpacks to too much", "file: bench.et/blob",
                 "expected: at most 1500 bytes in all", "got: more", unpack_yourself));
}

TEST(BenchRefusal, ManyRanksOfOneLargeProgram) {
  ReadLimits limits;
  limits.max_total_bytes = 20000;
  EXPECT_EQ(refusal(packed(equal_ranks_bench(4, 20)), limits),
            told("the benchmark unpacks to more than is allowed", "file: bench.et",
                 "expected: programs of at most 20000 bytes over all ranks", "got: more",
                 "hint: do not use this file unless you trust where it is from"));
}

// ---- the manifest

TEST(BenchRefusal, NamesWithControlCharacters) {
  EXPECT_EQ(
      refused_manifest("\"file\":\"", "\"file\":\"\\u001b[2J"),
      unreadable("sources[0].file", "a text without control characters", "\\u001b[2Jrank-0.json"));
}

TEST(BenchRefusal, AManifestThatIsNotJson) {
  const auto refused_partial = [](const std::string& partial) {
    return refused_manifest("\"sources\":", "\"partial\":" + partial + ",\"sources\":");
  };
  EXPECT_EQ(refused_partial(R"({"world_size":0,"ranks":[0]})"),
            unreadable("partial.world_size", "1 to 1048576", "0"));
  EXPECT_EQ(refused_partial(R"({"world_size":2,"ranks":[2]})"),
            unreadable("partial.ranks", "1 ranks below 2, ascending", "[2]"));
  EXPECT_EQ(refused_partial(R"({"world_size":4,"ranks":[0,1]})"),
            unreadable("partial.ranks", "1 ranks below 4, ascending", "[0,1]"));
  EXPECT_EQ(refused_partial("null"), unreadable("partial", "an object", "null"));
  EXPECT_EQ(refused_manifest("\"sources\":", "\"scaled\":null,\"sources\":"),
            unreadable("scaled", "an object", "null"));
  EXPECT_EQ(refused_manifest("{", "["), unreadable("", "JSON", "no JSON from byte 10"));
}

TEST(BenchRefusal, AnotherFormat) {
  EXPECT_EQ(refused_manifest("understudy-bench", "understudy-report"),
            unreadable("format", "\"understudy-bench\"", "\"understudy-report\""));
  EXPECT_EQ(refused_manifest("\"format\"", "\"form\""), unreadable("format", "this key", "none"));
}

TEST(BenchRefusal, AVersionThatIsNoNumber) {
  EXPECT_EQ(refused_manifest("\"version\":1", "\"version\":\"1\""),
            unreadable("version", "an integer of 64 bits", "\"1\""));
}

TEST(BenchRefusal, RanksThatDoNotAddUp) {
  EXPECT_EQ(refused_manifest("\"world_size\":1", "\"world_size\":2"),
            unreadable("world_size", "1, the number of ranks listed", "2"));
  EXPECT_EQ(refused_manifest("\"world_size\":1", "\"world_size\":0"),
            unreadable("world_size", "1 to 1048576", "0"));
  EXPECT_EQ(refused_manifest("{\"rank\":0", "{\"rank\":1"), unreadable("ranks[0].rank", "0", "1"));
}

TEST(BenchRefusal, SourcesThatAreNotOneARank) {
  EXPECT_EQ(refused_manifest("\"schema\":\"1.1.1\"}",
                             "\"schema\":\"1.1.1\"},{\"file\":\"\",\"bytes\":0,"
                             "\"content_hash\":\"0000000000000000\",\"schema\":\"\"}"),
            unreadable("sources", "1 sources, one a rank", "2"));
}

TEST(BenchRefusal, AHashThatIsNone) {
  EXPECT_EQ(refused_manifest("0000000000000011", "000000000000001g"),
            unreadable("sources[0].content_hash", "16 hexadecimal digits", "\"000000000000001g\""));
}

TEST(BenchRefusal, AnUnknownLossCounter) {
  EXPECT_EQ(refused_manifest("\"losses\":{", "\"losses\":{\"lost_socks\":2"),
            unreadable("ranks[0].losses", "names of loss counters, as docs/formats.md lists them",
                       "lost_socks"));
}

TEST(BenchRefusal, AGroupWithARankTwice) {
  EXPECT_EQ(
      refused_manifest("\"ranks\":[]", "\"ranks\":[1,0,1]"),
      unreadable("process_groups[0].ranks", "ranks that are not negative, each once", "[1,0,1]"));
  EXPECT_EQ(
      refused_manifest("\"ranks\":[]", "\"ranks\":[-1]"),
      unreadable("process_groups[0].ranks", "ranks that are not negative, each once", "[-1]"));
  EXPECT_EQ(refused_manifest("\"size\":1", "\"size\":-1"),
            unreadable("process_groups[0].size", "0 or more", "-1"));
}

TEST(BenchRefusal, DifferencesThatDoNotFit) {
  const auto with = [](const std::string& devices, const std::string& nodes,
                       const std::string& comms, const std::string& groups) {
    return refused_manifest("\"losses\":{}", "\"losses\":{},\"differences\":{\"devices\":[" +
                                                 devices + "],\"nodes\":[" + nodes +
                                                 "],\"comms\":[" + comms + "],\"groups\":[" +
                                                 groups + "]}");
  };
  EXPECT_EQ(with("", "[3,1]", "", ""), misfit("nodes", "rising instruction numbers below 3", "3"));
  EXPECT_EQ(with("", "[1,1],[1,2]", "", ""),
            misfit("nodes", "rising instruction numbers below 3", "1"));
  EXPECT_EQ(with("", "[1]", "", ""),
            unreadable("ranks[0].differences.nodes[0]", "[instruction, shift]", "[1]"));
  EXPECT_EQ(with("[\"cpu\"]", "", "", ""),
            unreadable("ranks[0].differences.devices[0]", "[device, device]", "[\"cpu\"]"));
  EXPECT_EQ(with("", "",
                 "{\"instruction\":0,\"root_or_peer\":0,\"seq\":null,\"in_splits\":[],"
                 "\"out_splits\":[]}",
                 ""),
            misfit("comms", "the number of an instruction that communicates", "0"));
  EXPECT_EQ(with("", "", "", "[0,-1]"),
            unreadable("ranks[0].differences.groups[0]", "[group, group]", "[0,-1]"));
  EXPECT_EQ(with("", "", "", "[0,9]"), misfit("groups", "a number below 1, that of groups", "9"));
}

// ---- writing what could not be read

TEST(BenchRefusal, WritingAProgramThatDoesNotHoldTogether) {
  Bench bench = tiny_bench();
  bench.programs.edit(0).slots[0].storage = 9;
  const std::string path = "refused.et";
  EXPECT_EQ(
      error_of([&] { return write_bench(bench, path); }),
      told("the program of a rank does not hold together", "file: refused.et", "rank: 0",
           "field: slot 0, storage", "expected: a number below 2, the number of storages", "got: 9",
           "hint: a bug of the generator: report it, with the trace that brings it about"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(BenchRefusal, WritingHeapBlocksOfAnInstructionWithoutATiming) {
  for (const std::size_t index : {0U, 99U}) {
    Bench bench = tiny_bench();
    bench.programs.edit(0).heap_blocks[index] = {{1 << 20, 0}, {1 << 16, 64}};
    EXPECT_EQ(error_of([&] { return write_bench(bench, "refused.et"); }),
              R"(the program of a rank does not hold together
  file:     refused.et
  rank:     0
  field:    heap_blocks
  expected: blocks of instructions with a timing
  got:      2 of instruction )" +
                  std::to_string(index) +
                  R"(
  hint:     a bug of the generator: report it, with the trace that brings it about)");
  }
}

TEST(BenchRefusal, WritingANameThatIsNotUtf8) {
  Bench bench = tiny_bench();
  bench.programs.edit(0).instructions[0].name = "aten::\xff";
  bench.programs.edit(0).instructions[0].schema.reset();
  EXPECT_EQ(error_of([&] { return write_bench(bench, "refused.et"); }),
            told("the benchmark cannot be written", "file: refused.et/programs/0.jsonl",
                 "expected: names and texts in UTF-8", "got: other bytes",
                 "hint: rename the trace, or the operators and annotations in it"));
}

TEST(BenchRefusal, WritingWhereNothingCanBeWritten) {
  EXPECT_EQ(error_of(kCannotWrite, [&] { return write_bench(tiny_bench(), "/nowhere/bench.et"); }),
            told("the file cannot be written", "file: /nowhere/bench.et",
                 "expected: a place that can be written, with enough room",
                 "got: No such file or directory", "hint: choose another place for the output"));
}

}  // namespace
}  // namespace understudy::et_schema
