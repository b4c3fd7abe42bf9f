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

/// Makes the trace of a file that was read, once: its rank is known when all files' names are.
using MakeTrace = std::function<Trace(int rank, std::int64_t world_size)>;

/// A format of traces.
struct Importer {
  const char* name;                              ///< as in "a Chakra trace"
  bool (*recognises)(std::string_view content);  ///< by the first bytes; never throws
  MakeTrace (*read)(std::string_view content, const std::string& file);  ///< throws Error
};

/// All formats, one a row. What the user names and none recognises is read by the first, whose
/// error says what it is instead.
[[nodiscard]] std::span<const Importer> importers();

/// The one that recognises a file; null: none.
[[nodiscard]] const Importer* importer_of(std::string_view content);

/// "other files: a.txt and 3 more", of at least one name.
[[nodiscard]] inline std::string and_more(std::string_view what,
                                          const std::vector<std::string>& names) {
  return fmt::format("{}{}{}", what, names.front(),
                     names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "");
}

}  // namespace understudy::et_schema
