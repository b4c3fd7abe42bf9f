#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// Chakra messages byte by byte, by the rules of protobuf's encoding, for tests of readers.
namespace understudy::et_schema::testing_chakra {

[[nodiscard]] std::string varint(std::uint64_t value);
[[nodiscard]] std::string field(unsigned number, std::uint64_t value);
[[nodiscard]] std::string field(unsigned number, std::string_view bytes);
/// Four or eight bytes, little endian.
[[nodiscard]] std::string fixed32(unsigned number, std::uint32_t value);
[[nodiscard]] std::string fixed64(unsigned number, std::uint64_t value);

/// An AttributeProto: `value` is its one field.
[[nodiscard]] std::string attribute(std::string_view name, const std::string& value);
[[nodiscard]] std::string boolean(std::string_view name, bool value);
[[nodiscard]] std::string int64(std::string_view name, std::int64_t value);
[[nodiscard]] std::string int32(std::string_view name, std::int32_t value);
[[nodiscard]] std::string text(std::string_view name, std::string_view value);

struct Values {
  std::string values = {};
  std::string shapes = {};
  std::string types = {};
};

struct NodeText {
  std::uint64_t id = 0;
  std::string name = "node";
  unsigned type = 4;
  std::vector<std::uint64_t> ctrl_deps = {};
  std::vector<std::uint64_t> data_deps = {};
  std::uint64_t start_us = 0;
  std::uint64_t duration_us = 0;
  Values inputs = {};
  Values outputs = {};
  std::vector<std::string> attributes = {};
};
[[nodiscard]] std::string node(const NodeText& text);

/// An operator of PyTorch's trace: on the host, with rf_id and schema.
[[nodiscard]] NodeText host(std::uint64_t id, std::string_view name, std::string_view schema,
                            std::int64_t rf_id);
/// A collective as simulators' own files have it.
[[nodiscard]] NodeText collective(std::uint64_t id, std::int64_t type, std::int64_t bytes);

/// A file: metadata with a version, then nodes, each with its length in front.
[[nodiscard]] std::string file(const std::vector<std::string>& nodes,
                               std::string_view version = "0.0.4",
                               const std::vector<std::string>& metadata = {});

}  // namespace understudy::et_schema::testing_chakra
