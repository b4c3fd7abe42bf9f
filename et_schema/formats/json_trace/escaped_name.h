#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "et_schema/base/arena.h"
#include "et_schema/base/content_hash.h"
#include "et_schema/model/losses.h"

namespace understudy::et_schema {

/// A name of a trace or a profile as the project shows it. A program can use any text as a label,
/// so control characters are no damage: they are escaped, into the arena, and counted
/// (Loss::kEscapedNames).
[[nodiscard]] std::string_view escaped_name(std::string_view name, Arena& arena, Losses& losses);
/// The same; the result owns its text.
[[nodiscard]] std::string escaped_name(std::string_view name, Losses& losses);

/// Names as escaped_name() makes them, each made and counted once: a file with 100,000 names has
/// only some hundred different ones.
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
  std::unordered_map<std::string_view, std::string_view, Hash> names_;  ///< by their recorded texts
};

}  // namespace understudy::et_schema
