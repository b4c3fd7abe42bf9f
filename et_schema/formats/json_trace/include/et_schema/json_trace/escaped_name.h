#pragma once

#include <string>
#include <string_view>

#include "et_schema/model/losses.h"
#include "et_schema/support/arena.h"

namespace understudy::et_schema {

/// A name of a trace or a profile as the project shows it. Any program can label what it does with
/// a text of its own, so that control characters are no damage: they are escaped, into the arena,
/// and counted (Loss::kEscapedNames).
[[nodiscard]] std::string_view escaped_name(std::string_view name, Arena& arena, Losses& losses);
/// The same, as a text of its own.
[[nodiscard]] std::string escaped_name(std::string_view name, Losses& losses);

}  // namespace understudy::et_schema
