#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "et_schema/base/arena.h"
#include "et_schema/base/content_hash.h"
#include "et_schema/model/losses.h"

namespace understudy::et_schema {

/// Returns a name of a trace or a profile in the form that the project shows. Programs can use any
/// text as a label, so control characters are not damage: names with them are escaped into the
/// arena and counted (Loss::kEscapedNames).
[[nodiscard]] std::string_view escaped_name(std::string_view name, Arena& arena, Losses& losses);
/// Like above; the result owns its text.
[[nodiscard]] std::string escaped_name(std::string_view name, Losses& losses);

/// Caches results of escaped_name(), so that each name is escaped and counted once. A file with
/// 100,000 names has only some hundred different ones.
class InternedNames {
 public:
  InternedNames(Arena& arena, Losses& losses) : arena_(arena), losses_(losses) {}
  [[nodiscard]] std::string_view operator()(std::string_view text);

 private:
  struct Hash {
    std::size_t operator()(std::string_view text) const { return content_hash(text); }
  };

  Arena& arena_;
  Losses& losses_;
  /// Recorded text → escaped name.
  std::unordered_map<std::string_view, std::string_view, Hash> names_;
};

}  // namespace understudy::et_schema
