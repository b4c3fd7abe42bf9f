#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/input_files.h"

namespace understudy::et_schema {

struct ZipMember {
  std::string name;
  std::string data;
};

/// Returns the bytes of a zip with these members in order, deflated, without times. Deterministic.
[[nodiscard]] std::string zip_bytes(const std::vector<ZipMember>& members);

/// Returns the bytes of a gzip file with this content, without a name or a time. Deterministic.
[[nodiscard]] std::string gzip_bytes(std::string_view content);

/// Unpacks a zip in memory: name → content. Throws Error (bad input) if the bytes are not a zip or
/// are cut off, a name is absolute or contains "..", two members have the same name, or the
/// unpacked size exceeds `limits`.
[[nodiscard]] std::map<std::string, std::string> unzip(std::string_view bytes,
                                                       const std::string& file,
                                                       const ReadLimits& limits);

}  // namespace understudy::et_schema
