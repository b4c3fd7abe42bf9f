#include "et_schema/base/unpack.h"

#include <fmt/format.h>

#include <utility>

#include "archive_reader.h"
#include "et_schema/base/error.h"
#include "et_schema/base/input_limit.h"
#include "et_schema/base/trace_start.h"

namespace understudy::et_schema {
namespace {

constexpr std::uint64_t kRatioFrom = std::uint64_t{64} << 20U;
constexpr std::string_view kGzipMagic = "\x1f\x8b";

/// Returns true for a member that must be read. Throws Error (bad input) if it is nested too deep.
bool is_trace(const std::string& name, std::string_view start) {
  if (is_other_file(start, name)) {
    return false;
  }
  refuse_other_file(name, start);
  return starts_as_trace(start);
}

/// Passes a file to `consume`, and unpacks it first if it is gzipped itself.
void hand_over(std::string name, std::string data, UnpackBudget& budget,
               const std::function<void(InputFile&&)>& consume) {
  if (find_packing(data) != Packing::kGzip) {
    consume({.name = std::move(name), .data = std::move(data)});
    return;
  }
  ArchiveReader reader({.name = name, .path = {}, .memory = data});
  std::string unpacked;
  const auto wanted = [&name](std::string_view start) { return is_trace(name, start); };
  if (reader.next() && reader.read(budget, wanted, unpacked)) {
    consume({.name = std::move(name), .data = std::move(unpacked)});
  }
}

}  // namespace

Packing find_packing(std::string_view start) {
  constexpr std::string_view kZipMagic = "PK\x03\x04";
  constexpr std::string_view kEmptyZipMagic = "PK\x05\x06";
  constexpr std::string_view kTarMagic = "ustar";
  constexpr std::size_t kTarMagicAt = 257;
  if (start.starts_with(kGzipMagic)) {
    return Packing::kGzip;
  }
  const bool is_tar =
      start.size() > kTarMagicAt && start.substr(kTarMagicAt).starts_with(kTarMagic);
  if (is_tar || start.starts_with(kZipMagic) || start.starts_with(kEmptyZipMagic)) {
    return Packing::kArchive;
  }
  return Packing::kPlain;
}

void UnpackBudget::add(const std::string& name, std::uint64_t bytes, std::uint64_t file_bytes,
                       const Unpacking& unpacking) {
  total_ += bytes;
  const auto refuse = [&name](std::string expected, std::string got) {
    throw bad_input("an input that unpacks to too much",
                    {.file = name,
                     .expected = std::move(expected),
                     .got = std::move(got),
                     .hint = "if you trust it, unpack traces yourself, and give the plain files"});
  };
  if (file_bytes > limits_.max_file_bytes) {
    refuse(fmt::format("at most {} bytes a file", limits_.max_file_bytes), "more");
  }
  if (total_ > limits_.max_total_bytes) {
    refuse(fmt::format("at most {} bytes in all", limits_.max_total_bytes), "more");
  }
  if (unpacking.bytes > kRatioFrom &&
      unpacking.bytes / unpacking.packed_bytes > limits_.max_ratio) {
    refuse(fmt::format("at most {} times its packed size", limits_.max_ratio),
           fmt::format("{} bytes out of {}", unpacking.bytes, unpacking.packed_bytes));
  }
  check_held(name, kept_ + file_bytes, limits_);
}

void unpack(const PackedSource& source, UnpackBudget& budget,
            const std::function<void(InputFile&&)>& consume) {
  ArchiveReader reader(source);
  std::pair<std::string, std::string> other;  // a member that is not for us: name, start
  bool has_traces = false;
  while (reader.next()) {
    // A gzipped file that is not an archive always passes: its reader reports errors.
    const auto wanted = [&](std::string_view start) {
      if (reader.is_raw()) {
        refuse_other_file(reader.name(), start);
      } else if (is_other_file(start, reader.name())) {
        other = std::pair(reader.name(), std::string(start));
      }
      return reader.is_raw() || start.starts_with(kGzipMagic) || is_trace(reader.name(), start);
    };
    std::string data;
    if (!reader.read(budget, wanted, data)) {
      continue;
    }
    has_traces = true;
    hand_over(reader.name(), std::move(data), budget, consume);
    if (reader.is_raw()) {
      return;
    }
  }
  if (!has_traces) {
    refuse_other_file(other.first, other.second);
  }
}

}  // namespace understudy::et_schema
