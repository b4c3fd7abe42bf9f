#include "bench_refusals.h"

#include <gtest/gtest.h>

#include "bench_samples.h"
#include "et_schema/formats/bench/bench.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kHint = "\n  hint:     make the benchmark again with `generate`";

std::string refused_change(const char* member, const std::string& from, const std::string& to) {
  return refusal(packed_with(
      tiny_bench(), member, [&](std::string text) { return replaced(std::move(text), from, to); }));
}

std::string body(const std::string& field, const std::string& expected, const std::string& got) {
  return (field.empty() ? "" : "\n  field:    " + field) + "\n  expected: " + expected +
         "\n  got:      " + got + kHint;
}

}  // namespace

std::string refusal_by(const std::function<void()>& read) {
  return error_of(ErrorKind::kBadInput, [&] { return read(); });
}

std::string refusal(const std::string& bytes, const ReadLimits& limits) {
  return refusal_by([&] { (void)read_bench_bytes(bytes, "bench.et", limits); });
}

std::string refused_program(const std::string& from, const std::string& to) {
  return refused_change(kProgram, from, to);
}

std::string refused_manifest(const std::string& from, const std::string& to) {
  return refused_change(kManifest, from, to);
}

std::string damaged(const std::string& field, const std::string& expected, const std::string& got) {
  return "the program in the benchmark is damaged\n  file:     bench.et/programs/0.jsonl" +
         body(field, expected, got);
}

std::string unsound(const std::string& field, const std::string& expected, const std::string& got,
                    const std::string& node) {
  return "the program of a rank does not hold together\n  file:     bench.et/programs/0.jsonl"
         "\n  rank:     0" +
         (node.empty() ? "" : "\n  node:     " + node) + body(field, expected, got);
}

std::string unreadable(const std::string& field, const std::string& expected,
                       const std::string& got) {
  return "the benchmark's manifest cannot be read\n  file:     bench.et/manifest.json" +
         body(field, expected, got);
}

std::string misfit(const std::string& field, const std::string& expected, const std::string& got) {
  return "the benchmark's manifest does not fit its programs\n  file:     bench.et/manifest.json"
         "\n  rank:     0" +
         body("differences." + field, expected, got);
}

}  // namespace understudy::et_schema
