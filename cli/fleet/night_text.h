#pragma once

#include <string>

namespace understudy::cli {

/// A night's summary (JSON, "understudy-night") for people: the verdict first.
[[nodiscard]] std::string night_text(const std::string& summary);

/// True if something broke or got slower in it.
[[nodiscard]] bool is_bad_night(const std::string& summary);

}  // namespace understudy::cli
