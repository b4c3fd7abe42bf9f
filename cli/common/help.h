#pragma once

#include <span>
#include <string>
#include <vector>

namespace understudy::cli {

/// A flag, or a positional argument, as --help shows it.
struct HelpRow {
  std::string group;  ///< its title
  std::string flag;   ///< "-o,--output FILE"
  std::string text;
};

/// Returns the text, wrapped to lines of at most 100 columns and indented by `indent` columns.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t indent = 0);

/// Returns the rows below the titles of their groups, in the order of `groups`.
[[nodiscard]] std::string help_rows(std::span<const char* const> groups,
                                    const std::vector<HelpRow>& rows);

}  // namespace understudy::cli
