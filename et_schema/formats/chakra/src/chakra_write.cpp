#include <et_def.pb.h>

#include "et_schema/base/assert.h"
#include "et_schema/formats/chakra/chakra.h"

namespace understudy::et_schema {
namespace {

namespace proto = ChakraProtoMsg;

void append_length(std::string& out, std::size_t length) {
  while (length >= 0x80) {
    out += static_cast<char>((length & 0x7fU) | 0x80U);
    length >>= 7U;
  }
  out += static_cast<char>(length);
}

template <typename Message>
void append(std::string& out, const Message& message) {
  append_length(out, message.ByteSizeLong());
  message.AppendToString(&out);
}

std::string text_of(std::string_view text) {
  return std::string(text);
}

/// Sets the arms that consumers read. Other arms are never written.
void set(proto::AttributeProto& to, const ChakraAttribute& from) {
  to.set_name(text_of(from.name));
  switch (from.arm) {
    case ChakraArm::kInt32:
      to.set_int32_val(static_cast<std::int32_t>(static_cast<std::int64_t>(from.integer)));
      return;
    case ChakraArm::kInt64:
      to.set_int64_val(static_cast<std::int64_t>(from.integer));
      return;
    case ChakraArm::kUint64:
      to.set_uint64_val(from.integer);
      return;
    case ChakraArm::kDouble:
      to.set_double_val(from.real);
      return;
    case ChakraArm::kBool:
      to.set_bool_val(from.integer != 0);
      return;
    case ChakraArm::kString:
      to.set_string_val(text_of(from.text));
      return;
    case ChakraArm::kUint64List:
      for (const std::uint64_t item : from.list) {
        to.mutable_uint64_list()->add_values(item);
      }
      return;
    case ChakraArm::kBoolList:
      for (const std::uint64_t item : from.list) {
        to.mutable_bool_list()->add_values(item != 0);
      }
      return;
    default:
      UNDERSTUDY_ASSERT(from.arm == ChakraArm::kNone);
  }
}

void set(proto::IOInfo& to, const ChakraValues& from) {
  to.set_values(text_of(from.values));
  to.set_shapes(text_of(from.shapes));
  to.set_types(text_of(from.types));
}

void set(proto::Node& to, const ChakraNode& from) {
  to.set_id(from.id);
  to.set_name(text_of(from.name));
  to.set_type(static_cast<proto::NodeType>(from.type));
  for (const std::uint64_t id : from.ctrl_deps) {
    to.add_ctrl_deps(id);
  }
  for (const std::uint64_t id : from.data_deps) {
    to.add_data_deps(id);
  }
  to.set_start_time_micros(from.start_us);
  to.set_duration_micros(from.duration_us);
  if (!from.inputs.types.empty()) {
    set(*to.mutable_inputs(), from.inputs);
  }
  if (!from.outputs.types.empty()) {
    set(*to.mutable_outputs(), from.outputs);
  }
  for (const ChakraAttribute& attribute : from.attributes) {
    set(*to.add_attr(), attribute);
  }
}

}  // namespace

std::string chakra_bytes(const ChakraFile& file) {
  std::string out;
  proto::GlobalMetadata metadata;
  metadata.set_version(file.version);
  for (const ChakraAttribute& attribute : file.metadata) {
    set(*metadata.add_attr(), attribute);
  }
  append(out, metadata);
  proto::Node node;
  for (const ChakraNode& from : file.nodes) {
    node.Clear();
    set(node, from);
    append(out, node);
  }
  return out;
}

}  // namespace understudy::et_schema
