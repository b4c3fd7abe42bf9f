#include "trace_nodes.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "et_schema/base/error.h"
#include "et_schema/formats/json_trace/escaped_name.h"

namespace understudy::et_schema {
namespace {

[[noreturn]] void refuse_field(std::string_view field, std::string expected, std::string got) {
  throw bad_input(
      "a node cannot be read",
      {.field = std::string(field), .expected = std::move(expected), .got = std::move(got)});
}

std::uint64_t unsigned_number(JsonPull& value, std::string_view field) {
  std::uint64_t number = 0;
  if (!value.take(number)) {
    refuse_field(field, "an integer from 0 to 2^64 - 1", describe(value));
  }
  return number;
}

std::int64_t signed_number(JsonPull& value, std::string_view field) {
  std::int64_t number = 0;
  if (!value.take(number)) {
    refuse_field(field, "an integer from -2^63 to 2^63 - 1", describe(value));
  }
  return number;
}

Scope scope_of(JsonPull& value) {
  const JsonPull whole = value;
  const std::uint64_t number = unsigned_number(value, "scope");
  if (number > std::numeric_limits<std::uint8_t>::max()) {
    refuse_field("scope", "a number from 0 to 255", describe(whole));
  }
  return static_cast<Scope>(number);
}

/// Keeps the position of one of the arrays; ignores other keys.
void keep_array(ValueArrays& arrays, std::string_view key, const JsonPull& value) {
  static constexpr NamedField<ValueArrays, std::optional<JsonPull>> kArrays[] = {
      {"values", &ValueArrays::values},
      {"shapes", &ValueArrays::shapes},
      {"types", &ValueArrays::types},
      {"strides", &ValueArrays::strides}};
  take_named(kArrays, arrays, key, [&value] { return value; });
}

/// Reads `inputs` or `outputs`: an array in the flat layout, an object in the nested one.
void read_values_field(ValueArrays& arrays, JsonPull& value, std::string_view side) {
  if (value.stands_on('[')) {
    arrays.values = value;
    value.skip();
    return;
  }
  if (!value.stands_on('{')) {
    refuse_field(side, "an object or an array", describe(value));
  }
  std::string_view key;
  for (bool first = true; value.next_member(first, key); value.skip()) {
    keep_array(arrays, key, value);
  }
}

/// Reads `input_shapes` and similar keys of the flat layout; ignores other keys.
void read_flat_list(ValueArrays& inputs, ValueArrays& outputs, std::string_view key,
                    JsonPull& value) {
  constexpr std::string_view kInput = "input_";
  constexpr std::string_view kOutput = "output_";
  if (key.starts_with(kInput) && key != "input_values") {
    keep_array(inputs, key.substr(kInput.size()), value);
  } else if (key.starts_with(kOutput) && key != "output_values") {
    keep_array(outputs, key.substr(kOutput.size()), value);
  }
  value.skip();
}

// Fields of both layouts: members of a node in the flat one, attributes in the nested one.
constexpr NamedField<Node, std::uint64_t> kUnsignedFields[] = {{"rf_id", &Node::rf_id},
                                                               {"fw_parent", &Node::fw_parent},
                                                               {"tid", &Node::tid},
                                                               {"fw_tid", &Node::fw_tid}};
constexpr NamedField<Node, std::int64_t> kSignedFields[] = {{"seq_id", &Node::seq_id}};
constexpr NamedField<Node, Scope> kScopeFields[] = {{"scope", &Node::scope}};
constexpr NamedField<Node, std::string_view> kTextFields[] = {
    {"op_schema", &Node::op_schema},
    {"kernel_backend", &Node::kernel_backend},
    {"kernel_file", &Node::kernel_file},
    {"tensor_range", &Node::tensor_range}};

constexpr NamedField<CommAttributes, std::int64_t> kCommNumbers[] = {
    {"global_rank_start", &CommAttributes::global_rank_start},
    {"global_rank_stride", &CommAttributes::global_rank_stride},
    {"pg_size", &CommAttributes::ranks_in_group}};
constexpr NamedField<CommAttributes, std::string_view> kCommTexts[] = {
    {"collective_name", &CommAttributes::name},
    {"pg_name", &CommAttributes::group},
    {"pg_desc", &CommAttributes::group_description}};

}  // namespace

/// Parts that read_field() keeps until the node's id is known.
struct NodeReader::Parts {
  ValueArrays inputs;
  ValueArrays outputs;
  MergedEvent& merged;
  bool has_id = false;
  bool has_name = false;
};

std::string_view NodeReader::text(JsonPull& value, std::string_view field) {
  std::string_view result;
  if (!value.take(result, unescaped_)) {
    refuse_field(field, "a text", describe(value));
  }
  return names_(result);
}

bool NodeReader::read_common_field(Node& node, std::string_view key, JsonPull& value) {
  return take_named(kUnsignedFields, node, key, [&] { return unsigned_number(value, key); }) ||
         take_named(kTextFields, node, key, [&] { return text(value, key); }) ||
         take_named(kSignedFields, node, key, [&] { return signed_number(value, key); }) ||
         take_named(kScopeFields, node, key, [&] { return scope_of(value); });
}

void NodeReader::read_field(Node& node, Parts& parts, std::string_view key, JsonPull& value) {
  if (key == "id") {
    node.id = unsigned_number(value, key);
    parts.has_id = true;
  } else if (key == "name") {
    node.name = text(value, key);
    parts.has_name = true;
  } else if (key == "ctrl_deps" || key == "parent") {
    // The first name is the nested layout's, the second the flat one's.
    node.parent_id = unsigned_number(value, key);
  } else if (key == "inputs") {
    read_values_field(parts.inputs, value, key);
  } else if (key == "outputs") {
    read_values_field(parts.outputs, value, key);
  } else if (key == "attrs") {
    read_attributes(node, value);
  } else if (!read_common_field(node, key, value) && !read_merged_field(parts.merged, key, value)) {
    read_flat_list(parts.inputs, parts.outputs, key, value);
  }
}

bool NodeReader::read_merged_field(MergedEvent& merged, std::string_view key, JsonPull& value) {
  if (key == "cat" && value.stands_on('"')) {
    const std::string_view category = text(value, key);
    merged.is_device =
        category.ends_with("ernel") || category.ends_with("emcpy") || category.ends_with("emset");
    return true;
  }
  constexpr double kMostUs = 4e15;
  constexpr long double kNsPerUs = 1000;
  double number = 0;
  const bool is_time = key == "ts" || key == "dur" || key == "inclusive_dur";
  if ((!is_time && key != "stream") || !value.take(number)) {
    return false;
  }
  if (std::abs(number) < kMostUs) {
    (key == "ts"       ? merged.start_ns
     : key == "stream" ? merged.stream
                       : merged.ns) = std::llround(number * (is_time ? kNsPerUs : 1));
  }
  return true;
}

bool NodeReader::read_as_observer_writes(Node& node, CommAttributes& comm, bool& has_comm,
                                         JsonPull& attribute) {
  JsonPull at = attribute;
  std::string_view name;
  std::string_view type;
  if (!at.pass(R"({"name": )") || !at.take(name, unescaped_name_) || !at.pass(R"(, "type": )") ||
      !at.take(type, unescaped_) || !at.pass(R"(, "value": )")) {
    return false;
  }
  read_attribute(node, comm, has_comm, name, at);
  if (!at.pass("}")) {
    return false;
  }
  attribute = at;
  return true;
}

void NodeReader::read_attribute(Node& node, CommAttributes& comm, bool& has_comm,
                                std::string_view name, JsonPull& value) {
  if (read_common_field(node, name, value)) {
    return;
  }
  if (take_named(kCommNumbers, comm, name, [&] { return signed_number(value, name); }) ||
      take_named(kCommTexts, comm, name, [&] { return text(value, name); })) {
    has_comm = true;
    return;
  }
  value.skip();  // a key of a later torch
}

void NodeReader::read_any_attribute(Node& node, CommAttributes& comm, bool& has_comm,
                                    JsonPull& attribute) {
  const JsonPull whole = attribute;
  const auto refuse = [&whole](std::string expected) {
    refuse_field("attrs", std::move(expected), describe(whole));
  };
  if (!attribute.stands_on('{')) {
    refuse(R"(objects {"name", "type", "value"})");
  }
  std::string_view key;
  std::string_view name;
  std::optional<JsonPull> value;
  for (bool first = true; attribute.next_member(first, key);) {
    if (key == "name") {
      if (!attribute.take(name, unescaped_name_)) {
        refuse("a text as name");
      }
      continue;
    }
    if (key == "value") {
      value = attribute;
    }
    attribute.skip();
  }
  if (name.empty() || !value) {
    refuse(R"(objects {"name", "type", "value"})");
  }
  read_attribute(node, comm, has_comm, name, *value);
}

void NodeReader::read_attributes(Node& node, JsonPull& list) {
  if (!list.stands_on('[')) {
    refuse_field("attrs", "an array", describe(list));
  }
  CommAttributes comm;
  bool has_comm = false;
  for (bool first = true; list.next_item(first);) {
    if (!read_as_observer_writes(node, comm, has_comm, list)) {
      read_any_attribute(node, comm, has_comm, list);
    }
  }
  if (has_comm) {
    node.comm = arena_.make(comm);
  }
}

Node NodeReader::read(JsonPull& json, MergedEvent& merged) {
  Node node;
  Parts parts{.inputs = {}, .outputs = {}, .merged = merged};
  try {
    std::string_view key;
    for (bool first = true; json.next_member(first, key);) {
      read_field(node, parts, key, json);
    }
    if (!parts.has_id) {
      refuse_field("id", "an integer", "nothing");
    }
    if (!parts.has_name) {
      refuse_field("name", "a text", "nothing");
    }
    node.inputs = values_.read(parts.inputs, "inputs");
    node.outputs = values_.read(parts.outputs, "outputs");
  } catch (const Error& error) {
    ErrorContext context = error.context();
    if (parts.has_id) {
      context.node = node.id;
    }
    throw bad_input(error.summary(), std::move(context));
  }
  return node;
}

}  // namespace understudy::et_schema
