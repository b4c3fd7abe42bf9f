#include "et_schema/formats/pytorch_et/trace_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "reader_texts.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

using testing_errors::told;

namespace fs = std::filesystem;
using namespace testing_texts;  // NOLINT(google-build-using-namespace)

std::string small_trace() {
  return trace(roots());
}

std::string read_error(const std::vector<std::string>& paths) {
  return error_of([&paths] { static_cast<void>(read_traces(paths)); });
}

std::string unpack_error(const std::string& bytes, const ReadLimits& limits = {}) {
  return error_of([&] { read_input_bytes(bytes, "a.zip", limits, [](InputFile&&) {}); });
}

TEST(TraceFiles, PlainAndGzipped) {
  const TemporaryFolder folder;
  const std::string plain = folder.write("a.json", small_trace());
  const std::string packed =
      folder.write("a.json.gz", pack(ArchiveKind::kGzip, {{"a", small_trace()}}));
  const std::vector<Trace> traces = read_traces({plain});
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].file, plain);
  EXPECT_EQ(traces[0].rank, 0);
  EXPECT_EQ(read_traces({packed})[0].content_hash, traces[0].content_hash);
  EXPECT_EQ(read_traces({packed})[0].file, packed);
}

TEST(TraceFiles, ArchivesOfRanksInAnyOrder) {
  const TemporaryFolder folder;
  for (const ArchiveKind kind : {ArchiveKind::kTar, ArchiveKind::kTarGz, ArchiveKind::kZip}) {
    const std::string path = folder.write(
        "set", pack(kind, {{"d/et_1.json", small_trace()},
                           {"d/README.md", "no JSON"},
                           {"d/et_0.json", pack(ArchiveKind::kGzip, {{"x", small_trace()}})}}));
    const std::vector<Trace> traces = read_traces({path});
    ASSERT_EQ(traces.size(), 2U);
    EXPECT_EQ(traces[0].file, path + "/d/et_0.json");
    EXPECT_EQ(traces[0].rank, 0);
    EXPECT_EQ(traces[1].file, path + "/d/et_1.json");
    EXPECT_EQ(traces[1].rank, 1);
  }
}

TEST(TraceFiles, FolderOfACaptureHoldsMoreThanTraces) {
  const TemporaryFolder folder;
  folder.write("rank-0.et.json.gz", pack(ArchiveKind::kGzip, {{"x", small_trace()}}));
  folder.write("rank-1.et.json.gz", pack(ArchiveKind::kGzip, {{"x", small_trace()}}));
  folder.write("rank-0.kineto.json.gz",
               pack(ArchiveKind::kGzip, {{"x", R"({"schemaVersion": 1, "traceEvents": []})"}}));
  folder.write("capture.json", R"({"schema": "1.1.1", "nodes": 2})");
  folder.write("notes.txt", "text");
  folder.write(".hidden.json", small_trace());
  folder.write("below/rank-2.json", small_trace());
  const TraceSet set = read_trace_set({folder.path()});
  ASSERT_EQ(set.traces.size(), 2U);
  EXPECT_EQ(set.traces[1].rank, 1);
  EXPECT_EQ(set.kineto, std::vector<std::string>{folder.path() + "/rank-0.kineto.json.gz"});
  EXPECT_EQ(set.others, std::vector<std::string>{folder.path() + "/capture.json"});
}

TEST(TraceFiles, APackedFileAnswersForItselfAlone) {
  const TemporaryFolder folder;
  folder.write("rank-0.json", small_trace() + std::string(std::size_t{80} << 20U, ' '));
  folder.write("rank-1.json.gz", pack(ArchiveKind::kGzip, {{"x", small_trace()}}));
  EXPECT_EQ(read_traces({folder.path()}).size(), 2U);
}

TEST(TraceFiles, SeveralPaths) {
  const TemporaryFolder folder;
  const std::string one = folder.write("rank1.json", small_trace());
  const std::string zero = folder.write("rank0.json", small_trace());
  const std::vector<Trace> traces = read_traces({one, zero});
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].file, zero);
}

TEST(TraceFiles, OneFileAloneIsOfTheRankInItsName) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_traces({folder.write("rank-3.json", small_trace())})[0].rank, 3);
  EXPECT_EQ(read_traces({folder.write("step-3.json", small_trace())})[0].rank, 0);
}

TEST(TraceFiles, ProfilesThatTellTheirRanksAreTheJobIfAllAreThere) {
  const TemporaryFolder folder;
  const std::string front = folder.write("front.json", R"({"traceEvents": [], "is": "front"})");
  const std::string damaged = folder.write("empty.json", R"({"traceEvents": [], "is": "none"})");
  const std::string one = folder.write("x.json", R"({"traceEvents": [], "is": "1"})");
  folder.write("y.json", R"({"traceEvents": [], "is": "0"})");
  const auto of_profile = [](std::string_view content, const std::string& file) {
    Trace trace;
    trace.file = file;
    if (content.ends_with("\"none\"}")) {
      throw bad_input("without operators", {.file = file});
    }
    if (!content.ends_with("\"front\"}")) {
      trace.rank = content.ends_with("\"1\"}") ? 1 : 0;
      trace.process_groups = {{"0", "default_pg", "", {}, 2}};
    }
    return trace;
  };
  const auto read = [&](const std::vector<std::string>& paths) {
    return read_trace_set(paths, process_limits(), RankGaps::kRefused, of_profile);
  };
  const TraceSet set = read({folder.path()});
  ASSERT_EQ(set.traces.size(), 2U);
  EXPECT_EQ(set.traces[1].file, one);
  EXPECT_EQ(set.kineto, (std::vector<std::string>{damaged, front}));
  EXPECT_EQ(error_of([&] {
              static_cast<void>(read({damaged, one}));
            }),
            told("without operators", "file: " + damaged));
  EXPECT_EQ(read({front, one}).traces.size(), 2U) << "rank 0 is not told";
}

/// The refusal of an input in which there is `got` instead.
std::string no_trace_in(const std::string& path, const std::string& got) {
  return "no trace found\n  file:     " + path +
         "\n  expected: PyTorch execution traces or Chakra traces, one a rank, plain or gzipped\n"
         "  got:      " +
         got;
}

TEST(TraceFilesRefusal, FolderWithoutTraces) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_error({folder.path()}), no_trace_in(folder.path(), "none"));
  const std::string kineto = folder.write("a.json", R"({"traceEvents": []})");
  folder.write("b.json", R"({"traceEvents": []})");
  EXPECT_EQ(read_error({folder.path()}),
            no_trace_in(folder.path(), "Kineto files: " + kineto +
                                           " and 1 more\n"
                                           "  hint:     give the execution traces of the same run, "
                                           "or the profiles alone, without other files"));
}

TEST(TraceFilesRefusal, FolderWhoseOnlyTraceIsDamaged) {
  const TemporaryFolder folder;
  folder.write("capture.json", "{}");
  folder.write("notes.txt", "of no trace");
  const std::string empty = folder.write("et.json", "");
  EXPECT_EQ(read_error({folder.path()}),
            "an empty file\n"
            "  file:     " +
                empty +
                "\n"
                "  field:    the start of the file\n"
                "  expected: a JSON object with \"schema\" and \"nodes\"\n"
                "  got:      nothing\n"
                "  hint:     capture again, or look whether the copy was complete");
  const std::string other = folder.write("other.json", "[1]");
  EXPECT_EQ(
      read_error({folder.path()}),
      no_trace_in(folder.path(), "other files: " + folder.path() + "/capture.json and 2 more"));
}

TEST(TraceFilesRefusal, BenchmarkInsteadOfATrace) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("bench.et", pack(ArchiveKind::kZip, {{"manifest.json", "{\"format\": 1}"}}));
  EXPECT_EQ(read_error({path}),
            no_trace_in(path,
                        "a benchmark (bench.et)\n"
                        "  hint:     replay takes it; traces are what it was made from"));
}

TEST(TraceFilesRefusal, BenchmarkBesideAnotherInput) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("bench.et", pack(ArchiveKind::kZip, {{"manifest.json", "{\"format\": 1}"}}));
  EXPECT_EQ(read_error({path, "host x0"}),
            no_trace_in(path,
                        "a benchmark (bench.et), with host x0 beside it\n"
                        "  hint:     give one benchmark alone, or traces without it"));
}

/// A flipped bit that still unpacks is another number: the checksum and the length tell.
TEST(TraceFilesRefusal, DamagedGzip) {
  const std::string whole = pack(ArchiveKind::kGzip, {{"", small_trace()}});
  const TemporaryFolder folder;
  for (std::size_t i = 10; i < whole.size(); ++i) {  // all behind the header, which no sum covers
    std::string packed = whole;
    packed[i] = static_cast<char>(packed[i] ^ 1);
    const std::string error = read_error({folder.write("a.json.gz", packed)});
    EXPECT_TRUE(error.starts_with("a compressed file is damaged\n")) << i << ": " << error;
  }
}

TEST(TraceFiles, GzipsOneAfterTheOther) {
  const std::string trace = small_trace();
  const std::string both = pack(ArchiveKind::kGzip, {{"", trace.substr(0, trace.size() / 2)}}) +
                           pack(ArchiveKind::kGzip, {{"", trace.substr(trace.size() / 2)}});
  const TemporaryFolder folder;
  EXPECT_EQ(read_traces({folder.write("a.json.gz", both)}).at(0).content_bytes, trace.size());
}

TEST(TraceFilesRefusal, MemberNamesThatLeadOut) {
  for (const char* name : {"../rank-0.json", "/etc/rank-0.json", "a/../../b.json", ".."}) {
    EXPECT_EQ(unpack_error(pack(ArchiveKind::kZip, {{name, small_trace()}})),
              std::string(told("an archive member with an unsafe name", "file: a.zip",
                               "field: member name", "expected: a relative name without \"..\"",
                               "got: ")) +
                  name +
                  "\n  hint:     do not use this archive unless you know where it comes from");
  }
  EXPECT_EQ(unpack_error(pack(ArchiveKind::kZip, {{"a..b/c...json", small_trace()}})), "no error");
}

TEST(TraceFilesRefusal, Bombs) {
  const std::string big = "{" + std::string(std::size_t{80} << 20U, ' ');
  const std::string rest =
      "\n  hint:     if you trust it, unpack traces yourself, and give the plain files";
  const std::string ratio = unpack_error(pack(ArchiveKind::kGzip, {{"a", big}}));
  EXPECT_TRUE(ratio.starts_with(told("an input that unpacks to too much", "file: a.zip",
                                     "expected: at most 200 times its packed size", "got: ")))
      << ratio;
  const std::string small = "{" + std::string(1000, ' ');
  EXPECT_EQ(unpack_error(pack(ArchiveKind::kZip, {{"a.json", small}}), {.max_file_bytes = 1000}),
            "an input that unpacks to too much\n"
            "  file:     a.zip/a.json\n"
            "  expected: at most 1000 bytes a file\n"
            "  got:      more" +
                rest);
  EXPECT_EQ(unpack_error(pack(ArchiveKind::kZip, {{"a.json", small}, {"b.json", small}}),
                         {.max_total_bytes = 2000}),
            "an input that unpacks to too much\n"
            "  file:     a.zip/b.json\n"
            "  expected: at most 2000 bytes in all\n"
            "  got:      more" +
                rest);
}

TEST(TraceFilesRefusal, BracketsAreRefusedByTheirStart) {
  // The limit on unpacked bytes would be the next to speak: only the start is looked at.
  const std::string brackets = pack(ArchiveKind::kGzip, {{"a", std::string(1 << 22, '[')}});
  EXPECT_EQ(unpack_error(brackets, {.max_file_bytes = 1000}),
            told("brackets nested too deep", "file: a.zip", "field: nodes",
                 "expected: at most 64 brackets inside each other", "got: more"));
}

}  // namespace
}  // namespace understudy::et_schema
