#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace understudy::et_schema {

enum class JsonKind : std::uint8_t {
  kTrace,   ///< a PyTorch execution trace
  kKineto,  ///< a chrome trace of Kineto: an object with "traceEvents", or the list of events alone
  kOther    ///< anything else, JSON or not
};

/// The kind of a file, by the first key of its top level that tells. Does not validate; never
/// throws.
[[nodiscard]] JsonKind classify_json(std::string_view text);

/// True if the top-level key is one that only Kineto files have.
[[nodiscard]] bool is_kineto_key(std::string_view key);

/// The position of the bracket that begins a file of the `wanted` kind, kTrace or kKineto. Throws
/// Error (bad input) that names what the file is instead: empty, binary, a Chakra protobuf, another
/// kind of JSON.
[[nodiscard]] std::size_t check_start(std::string_view text, JsonKind wanted);

/// Throws Error (bad input) for a Kineto file that was given as a trace.
void refuse_kineto_key(std::string_view key);

}  // namespace understudy::et_schema
