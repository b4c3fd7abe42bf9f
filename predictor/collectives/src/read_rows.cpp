
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "predictor/calls/measured_files.h"
#include "predictor/collectives/rows.h"
#include "readers.h"

namespace understudy::predictor {
namespace {

constexpr const char* kOwn = "understudy-collective-rows";

bool is_nccl_tests(std::string_view text) {
  return !text.starts_with('{') && is_nccl_tests_text(text);
}

}  // namespace

void refuse_rows(const std::string& file, std::string field, std::string expected,
                 std::string got) {
  throw et_schema::bad_input("the measured communication cannot be read",
                             {.file = file,
                              .field = std::move(field),
                              .expected = std::move(expected),
                              .got = std::move(got),
                              .hint = "docs/formats.md lists what is read"});
}

std::optional<std::int64_t> row_bytes(const CollectiveCall& call, std::int64_t in_elements,
                                      std::int64_t out_elements) {
  const std::int64_t item = et_schema::item_size(call.dtype);
  std::int64_t in = 0;
  std::int64_t out = 0;
  if (in_elements < 0 || out_elements < 0 || __builtin_mul_overflow(in_elements, item, &in) ||
      __builtin_mul_overflow(out_elements, item, &out)) {
    return std::nullopt;
  }
  const std::int64_t bytes = et_schema::traits(call.kind).sizes == et_schema::CommSizes::kSplits
                                 ? std::max(in, out)
                                 : et_schema::size_of_call(call.kind, in, out, call.ranks);
  return bytes == std::numeric_limits<std::int64_t>::max() ? std::nullopt : std::optional(bytes);
}

std::optional<int> ranks_of_bus_factor(CommKind kind, double factor) {
  constexpr double kMostRanks = 16384;
  constexpr double kTolerance = 0.01;
  const et_schema::BusFactor bus = et_schema::traits(kind).bus;
  const double rings = bus == et_schema::BusFactor::kTwoRings ? 2 : 1;
  const double n = 1 / (1 - factor / rings);
  const double whole = std::round(n);
  const bool fits = bus != et_schema::BusFactor::kOnce && std::isfinite(n) && whole >= 2 &&
                    whole <= kMostRanks && std::abs(n / whole - 1) < kTolerance;
  return fits ? std::optional(static_cast<int>(whole)) : std::nullopt;
}

bool is_collective_rows(std::string_view text) {
  return names_format(text, kOwn) || is_nccl_tests(text);
}

ReadCollectives parse_collective_rows(std::string_view text, const std::string& file,
                                      bool needs_times) {
  if (names_format(text, kOwn)) {
    return {et_schema::parse_collective_row_lines(text, file, needs_times)};
  }
  if (!is_nccl_tests(text)) {
    refuse_rows(file, "", "collective rows, nccl-tests' text (no -J), or a table of sizes",
                "another file");
  }
  ReadCollectives read = parse_nccl_tests_text(text, file);
  if (std::ranges::all_of(read.rows, [](const CollectiveRow& row) { return row.ranks < 2; })) {
    refuse_rows(file, "the ranks", "two or more", "1, which sends nothing to another");
  }
  for (CollectiveRow& row : read.rows) {
    // Only the file's name: paths differ between machines.
    row.source = std::filesystem::path(file).filename();
  }
  return read;
}

}  // namespace understudy::predictor
