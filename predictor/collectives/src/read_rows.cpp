
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/json_fields.h"
#include "et_schema/base/json_scan.h"
#include "et_schema/base/quote.h"
#include "et_schema/model/comm_traits.h"
#include "predictor/calls/measured_files.h"
#include "predictor/collectives/rows.h"
#include "readers.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;

CollectiveCall call_of(const JsonField& call, CommKind kind) {
  CollectiveCall replayed;
  replayed.kind = kind;
  replayed.ranks = call.at("world_size").as_int32();
  if (const auto dtype = call.find("dtype")) {
    const auto type = dtype_of_tool_name(dtype->as_text());
    if (!type) {
      dtype->fail("an element type");
    }
    replayed.dtype = *type;
  }
  const auto in = call.find("in_msg_size");
  const auto out = call.find("out_msg_size");
  if (in && out) {
    const auto bytes = row_bytes(replayed, in->as_int(), out->as_int());
    if (!bytes) {
      in->fail("a size of 64 bits, 0 or more");
    }
    replayed.bytes = *bytes;
  }
  return replayed;
}

ReadCollectives parse_comm_replay(std::string_view text, const std::string& file) {
  const et_schema::JsonSource source{file, "the output of comm_replay cannot be read",
                                     "give a file of its replayed_trace folder"};
  const nlohmann::json document = et_schema::parse_json(text, source);
  RepetitionsNs times_ns;
  ReadCollectives read;
  for (const JsonField& call : JsonField(document, source).items()) {
    const auto name = call.find("comms");
    if (!name) {
      ++read.left_out["computations"];
      continue;
    }
    const auto kind = et_schema::kind_of_measured_name(name->as_text());
    if (!kind) {
      ++read.left_out["calls that are no communication: " + et_schema::quote(name->as_text())];
      continue;
    }
    times_ns[call_of(call, *kind)].push_back(call.at("latency_us").as_double() * kNsPerUs);
  }
  read.rows = rows_of(times_ns, file);
  for (const CollectiveRow& row : read.rows) {
    check_row(row, file, std::string(et_schema::to_string(row.kind)));
  }
  if (read.rows.empty()) {
    refuse_rows(file, "", "a communication or more", "none");
  }
  return read;
}

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

bool is_own(std::string_view text) {
  return names_format(text, "understudy-collective-rows");
}

/// Another tool's format. `first` is the first character of JSON.
struct RowReader {
  bool (*is)(std::string_view text, char first);
  ReadCollectives (*parse)(std::string_view text, const std::string& file);
};

const RowReader* reader_of(std::string_view text) {
  static constexpr RowReader kReaders[] = {
      {[](std::string_view all, char first) {
         return first == '{' && has(all, "\"nccl_version\"") && has(all, "\"results\"");
       },
       parse_nccl_tests_json},
      // The whole text: the splits of a large group's first call can precede its latency.
      {[](std::string_view all, char first) {
         return first == '[' && has(all, "\"comms\"") && has(all, "\"latency_us\"");
       },
       parse_comm_replay},
      {[](std::string_view all, char first) { return first != '{' && is_nccl_tests_text(all); },
       parse_nccl_tests_text}};
  const std::size_t begin = et_schema::find_json_start(text);
  const char first = begin < text.size() ? text[begin] : '\0';
  const auto* const found = std::ranges::find_if(
      kReaders, [&](const RowReader& reader) { return reader.is(text, first); });
  return found == std::end(kReaders) ? nullptr : found;
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
  return is_own(text) || reader_of(text) != nullptr;
}

ReadCollectives parse_collective_rows(std::string_view text, const std::string& file,
                                      bool needs_times) {
  if (is_own(text)) {
    return {et_schema::parse_collective_row_lines(text, file, needs_times)};
  }
  const RowReader* const reader = reader_of(text);
  if (reader == nullptr) {
    refuse_rows(file, "", "collective rows, nccl-tests, comm_replay, or a table of sizes",
                "another file");
  }
  ReadCollectives read = reader->parse(text, file);
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
