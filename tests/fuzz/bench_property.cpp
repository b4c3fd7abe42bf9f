#include "bench_manifest.h"
#include "bench_samples.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/zip.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/bench/program_text.h"
#include "program_check.h"
#include "properties.h"

namespace understudy::et_schema {
namespace {

enum class Part : unsigned char { kFile, kManifest, kProgram, kPacked, kTimings, kCount };

// Between manifest and program in inputs of Part::kPacked; no JSON holds it.
constexpr char kSeparator = '\x1e';

ReadLimits small_limits() {
  ReadLimits limits;
  limits.max_file_bytes = std::uint64_t{1} << 20U;
  limits.max_total_bytes = std::uint64_t{4} << 20U;
  return limits;
}

void check_file(std::string_view bytes) {
  const Bench bench = read_bench_bytes(bytes, "bench.et", small_limits());
  for (const Program& program : bench.programs) {
    check_program(program, bench.groups.size(), {"bench.et", 0, ""});
  }
}

void check_manifest(std::string_view text) {
  const std::string written = manifest_to_json(parse_manifest(text, "bench.et"));
  UNDERSTUDY_ASSERT(manifest_to_json(parse_manifest(written, "bench.et")) == written);
}

void check_program_text(std::string_view text) {
  const Program program = program_from_text(text, "0.jsonl");
  const std::string written = program_to_text(program);
  UNDERSTUDY_ASSERT(program_to_text(program_from_text(written, "0.jsonl")) == written);
  check_program(program, 2, {"0.jsonl", 0, ""});
}

void check_timings(std::string_view text) {
  constexpr std::size_t kInstructions = 8;
  const auto apply = [](std::string_view timings) {
    Program program;
    program.instructions.resize(kInstructions);
    apply_timings(timings, "0.jsonl", program);
    return timings_to_text(program);
  };
  const std::string written = apply(text);
  UNDERSTUDY_ASSERT(apply(written) == written);
}

void check_packed(std::string_view texts) {
  const std::size_t end = std::min(texts.find(kSeparator), texts.size());
  const std::string manifest(texts.substr(0, end));
  const std::string program(texts.substr(std::min(end + 1, texts.size())));
  check_file(zip_bytes({{kManifestName, manifest}, {"programs/0.jsonl", program}}));
}

std::string seed(Part part, std::string_view content) {
  return std::string(1, static_cast<char>(part)) + std::string(content);
}

}  // namespace

void check_bench_property(std::string_view input) {
  if (input.empty()) {
    return;
  }
  const auto part = static_cast<Part>(static_cast<unsigned char>(input.front()) %
                                      static_cast<unsigned char>(Part::kCount));
  const std::string_view content = input.substr(1);
  try {
    switch (part) {
      case Part::kManifest:
        return check_manifest(content);
      case Part::kProgram:
        return check_program_text(content);
      case Part::kPacked:
        return check_packed(content);
      case Part::kTimings:
        return check_timings(content);
      default:
        return check_file(content);
    }
  } catch (const Error&) {
    // Refused: as right an outcome as reading it.
  }
}

std::vector<std::string> bench_seeds() {
  std::vector<std::string> seeds;
  for (const Bench& bench : {tiny_bench(), equal_ranks_bench(3, 4), random_bench(1, 1),
                             random_bench(2, 2), random_bench(3, 1)}) {
    const std::string bytes = packed(bench);
    seeds.push_back(seed(Part::kFile, bytes));
    const auto members = unzip(bytes, "bench.et", {});
    const std::string& manifest = members.at(kManifestName);
    const std::string& program = members.at("programs/0.jsonl");
    seeds.push_back(seed(Part::kManifest, manifest));
    seeds.push_back(seed(Part::kProgram, program));
    seeds.push_back(seed(Part::kPacked, manifest + kSeparator + program));
  }
  seeds.push_back(
      seed(Part::kTimings,
           "{\"timings\":2}\n{\"i\":0,\"start_ns\":5,\"host_ns\":7,\"gap_ns\":5}\n"
           "{\"i\":3,\"start_ns\":20,\"host_ns\":9,\"gap_ns\":8,\"device_ns\":4,"
           "\"launches\":1,\"stream\":7,\"blocks\":[65536,0,131072,65600],\"page_faults\":12}\n"));
  return seeds;
}

}  // namespace understudy::et_schema
