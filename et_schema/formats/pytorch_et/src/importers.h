#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Makes the trace of a file that was read. Must be called once, after the rank is known from the
/// names of all files. `groups` are those of a file beside the traces.
using MakeTrace = std::function<Trace(int rank, std::int64_t world_size,
                                      const std::vector<ProcessGroup>& groups)>;

/// A file of a trace that was read.
struct ReadTrace {
  MakeTrace make;
  std::optional<int> rank;  ///< if its content tells it
};

/// A format of traces.
struct Importer {
  const char* name;                              ///< for messages: "a Chakra trace"
  bool (*recognises)(std::string_view content);  ///< checks the first bytes; never throws
  ReadTrace (*read)(std::string_view content, const std::string& file);  ///< throws Error
};

/// Returns all formats. If no format recognises a file that the user named, the first one reads it,
/// and its error says what the file is instead.
[[nodiscard]] std::span<const Importer> importers();

/// Returns the format that recognises a file; null if none does.
[[nodiscard]] const Importer* importer_of(std::string_view content);

}  // namespace understudy::et_schema
