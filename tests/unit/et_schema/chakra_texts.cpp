#include "chakra_texts.h"

namespace understudy::et_schema::testing_chakra {
namespace {

constexpr unsigned kVarint = 0;
constexpr unsigned kFixed64 = 1;
constexpr unsigned kLength = 2;
constexpr unsigned kFixed32 = 5;

std::string key(unsigned number, unsigned wire_type) {
  return varint((static_cast<std::uint64_t>(number) << 3U) | wire_type);
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value & 0xffU);
    value >>= 8U;
  }
  return text;
}

std::string info(const Values& values) {
  return field(1, values.values) + field(2, values.shapes) + field(3, values.types);
}

}  // namespace

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) {
    bytes += static_cast<char>((value & 0x7fU) | 0x80U);
  }
  return bytes + static_cast<char>(value);
}

std::string field(unsigned number, std::uint64_t value) {
  return key(number, kVarint) + varint(value);
}

std::string field(unsigned number, std::string_view bytes) {
  return key(number, kLength) + varint(bytes.size()) + std::string(bytes);
}

std::string fixed32(unsigned number, std::uint32_t value) {
  return key(number, kFixed32) + little_endian(value, 4);
}

std::string fixed64(unsigned number, std::uint64_t value) {
  return key(number, kFixed64) + little_endian(value, 8);
}

std::string attribute(std::string_view name, const std::string& value) {
  return field(1, name) + value;
}

std::string boolean(std::string_view name, bool value) {
  return attribute(name, field(27, value ? 1U : 0U));
}

std::string int64(std::string_view name, std::int64_t value) {
  return attribute(name, field(9, static_cast<std::uint64_t>(value)));
}

std::string int32(std::string_view name, std::int32_t value) {
  return attribute(name, field(7, static_cast<std::uint64_t>(std::int64_t{value})));
}

std::string text(std::string_view name, std::string_view value) {
  return attribute(name, field(29, value));
}

std::string node(const NodeText& text) {
  std::string bytes = field(1, text.id) + field(2, text.name) + field(3, text.type);
  for (const std::uint64_t id : text.ctrl_deps) {
    bytes += field(4, id);
  }
  for (const std::uint64_t id : text.data_deps) {
    bytes += field(5, id);
  }
  bytes += field(6, text.start_us) + field(7, text.duration_us);
  if (!text.inputs.types.empty()) {
    bytes += field(8, info(text.inputs));
  }
  if (!text.outputs.types.empty()) {
    bytes += field(9, info(text.outputs));
  }
  for (const std::string& attribute : text.attributes) {
    bytes += field(10, attribute);
  }
  return bytes;
}

NodeText host(std::uint64_t id, std::string_view name, std::string_view schema,
              std::int64_t rf_id) {
  NodeText text{.id = id, .name = std::string(name)};
  text.attributes = {boolean("is_cpu_op", true), int64("rf_id", rf_id), int64("tid", 1)};
  if (!schema.empty()) {
    text.attributes.push_back(testing_chakra::text("op_schema", schema));
  }
  return text;
}

NodeText collective(std::uint64_t id, std::int64_t type, std::int64_t bytes) {
  NodeText text{.id = id, .name = "collective", .type = 7};
  text.attributes = {boolean("is_cpu_op", false), int64("comm_type", type),
                     int64("comm_size", bytes)};
  return text;
}

std::string file(const std::vector<std::string>& nodes, std::string_view version,
                 const std::vector<std::string>& metadata) {
  std::string first = version.empty() ? std::string() : field(1, version);
  for (const std::string& attribute : metadata) {
    first += field(2, attribute);
  }
  std::string bytes = varint(first.size()) + first;
  for (const std::string& message : nodes) {
    bytes += varint(message.size()) + message;
  }
  return bytes;
}

}  // namespace understudy::et_schema::testing_chakra
