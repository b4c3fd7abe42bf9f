#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Makes the trace of a file that was read. Must be called once, after the rank is known from the
/// names of all files.
using MakeTrace = std::function<Trace(int rank, std::int64_t world_size)>;

/// A format of traces.
struct Importer {
  const char* name;                              ///< for messages: "a Chakra trace"
  bool (*recognises)(std::string_view content);  ///< checks the first bytes; never throws
  MakeTrace (*read)(std::string_view content, const std::string& file);  ///< throws Error
};

/// Returns all formats. If no format recognises a file that the user named, the first one reads it,
/// and its error says what the file is instead.
[[nodiscard]] std::span<const Importer> importers();

/// Returns the format that recognises a file; null if none does.
[[nodiscard]] const Importer* importer_of(std::string_view content);

/// Returns "other files: a.txt and 3 more". `names` must not be empty.
[[nodiscard]] inline std::string and_more(std::string_view what,
                                          const std::vector<std::string>& names) {
  return fmt::format("{}{}{}", what, names.front(),
                     names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "");
}

}  // namespace understudy::et_schema
