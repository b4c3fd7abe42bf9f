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

/// The bytes of a zip with these members in this order, deflated, without times: the same members
/// give the same bytes.
[[nodiscard]] std::string zip_bytes(const std::vector<ZipMember>& members);

/// The bytes of a gzip file with this content, without a name or a time: the same content gives the
/// same bytes.
[[nodiscard]] std::string gzip_bytes(std::string_view content);

/// Unpacks a zip in memory: name → content. Throws Error (bad input) for bytes that are no zip or
/// cut off, for names that are absolute or hold "..", for two members of one name, and for more
/// unpacked bytes than `limits`.
[[nodiscard]] std::map<std::string, std::string> unzip(std::string_view bytes,
                                                       const std::string& file,
                                                       const ReadLimits& limits);

}  // namespace understudy::et_schema
