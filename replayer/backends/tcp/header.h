#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>

#include "et_schema/base/error.h"
#include "meet.h"
#include "replayer/backends/ranks/wire.h"

namespace understudy::backends {

/// Precedes each message on a connection.
struct Header {
  enum class Kind : std::uint32_t { kMessage, kLetter, kAbort, kGoodbye };
  Kind kind = Kind::kMessage;
  std::uint32_t channel = 0;  ///< the channel's id, the same on all ranks
  std::int32_t tag = 0;       ///< for kAbort: the status
  std::uint32_t reserved = 0;
  std::int64_t bytes = 0;  ///< bytes that follow the header
};

/// Returns an error if no rank writes such a header; otherwise nothing.
[[nodiscard]] inline std::optional<et_schema::Error> fault_of(const Header& header,
                                                              int world_rank) {
  constexpr std::array<std::int64_t, 4> kMostBytes = {std::int64_t{1} << 60U, kLargestLetter, 0, 0};
  const auto kind = static_cast<std::size_t>(header.kind);
  if (kind < kMostBytes.size() && header.bytes >= 0 && header.bytes <= kMostBytes.at(kind)) {
    return std::nullopt;
  }
  return et_schema::run_failed(
      fmt::format("rank {} sent what no rank sends", world_rank),
      {.field = "header of a message",
       .expected = "a kind of 0 to 3, with as many bytes as it can have",
       .got = fmt::format("kind {}, {} bytes", kind, header.bytes),
       .hint =
           fmt::format("set {} to a secret of the job: only its ranks are heard then", kJobKey)});
}

}  // namespace understudy::backends
