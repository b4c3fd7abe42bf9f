#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace understudy::et_schema {

enum class JsonKind : std::uint8_t {
  kTrace,   ///< a PyTorch execution trace
  kKineto,  ///< a chrome trace of Kineto: an object with "traceEvents", or a list of events
  kOther    ///< anything else, JSON or not
};

/// Returns the kind of a file. The first top-level key that only one kind has decides. Does not
/// validate; never throws.
[[nodiscard]] JsonKind classify_json(std::string_view text);

/// Returns true if only Kineto files have this top-level key.
[[nodiscard]] bool is_kineto_key(std::string_view key);

/// Returns the position of the opening bracket of a file of the `wanted` kind, kTrace or kKineto.
/// Throws Error (bad input) that names the actual kind: empty, binary, a Chakra protobuf, other
/// JSON.
[[nodiscard]] std::size_t check_start(std::string_view text, JsonKind wanted);

/// Throws Error (bad input) if the key shows that the file is a Kineto trace.
void refuse_kineto_key(std::string_view key);

}  // namespace understudy::et_schema
