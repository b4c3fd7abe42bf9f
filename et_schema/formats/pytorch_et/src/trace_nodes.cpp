#include "trace_nodes.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <string>

#include "et_schema/json_trace/escaped_name.h"
#include "et_schema/support/error.h"
#include "et_schema/support/json_element.h"

namespace understudy::et_schema {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::element;

[[noreturn]] void refuse_field(std::string_view field, std::string expected, std::string got) {
  throw bad_input(
      "a node cannot be read",
      {.field = std::string(field), .expected = std::move(expected), .got = std::move(got)});
}

std::uint64_t unsigned_number(element value, std::string_view field) {
  std::uint64_t number = 0;
  if (value.get_uint64().get(number) != SUCCESS) {
    refuse_field(field, "an integer from 0 to 2^64 - 1", describe(value));
  }
  return number;
}

std::int64_t signed_number(element value, std::string_view field) {
  std::int64_t number = 0;
  if (value.get_int64().get(number) != SUCCESS) {
    refuse_field(field, "an integer from -2^63 to 2^63 - 1", describe(value));
  }
  return number;
}

Scope scope_of(element value) {
  const std::uint64_t number = unsigned_number(value, "scope");
  if (number > std::numeric_limits<std::uint8_t>::max()) {
    refuse_field("scope", "a number from 0 to 255", describe(value));
  }
  return static_cast<Scope>(number);
}

/// `inputs` and `outputs` of the nested layout.
void read_nested_arrays(ValueArrays& arrays, element value, std::string_view side) {
  simdjson::dom::object object;
  if (value.get_object().get(object) != SUCCESS) {
    refuse_field(side, "an object or an array", describe(value));
  }
  for (const auto [key, list] : object) {
    if (key == "values") {
      arrays.values = list;
      arrays.has_values = true;
    } else if (key == "shapes") {
      arrays.shapes = list;
      arrays.has_shapes = true;
    } else if (key == "types") {
      arrays.types = list;
      arrays.has_types = true;
    } else if (key == "strides") {
      arrays.strides = list;
      arrays.has_strides = true;
    }
  }
}

/// `inputs` and `outputs`: an array in the flat layout, an object in the nested one.
void read_values_field(ValueArrays& arrays, element value, std::string_view side) {
  if (value.is_array()) {
    arrays.values = value;
    arrays.has_values = true;
  } else {
    read_nested_arrays(arrays, value, side);
  }
}

/// `input_shapes` and the like of the flat layout; other keys are passed over.
void read_flat_list(ValueArrays& inputs, ValueArrays& outputs, std::string_view key,
                    element value) {
  constexpr std::string_view kInput = "input_";
  constexpr std::string_view kOutput = "output_";
  if (!key.starts_with(kInput) && !key.starts_with(kOutput)) {
    return;
  }
  ValueArrays& arrays = key.starts_with(kInput) ? inputs : outputs;
  key.remove_prefix(key.starts_with(kInput) ? kInput.size() : kOutput.size());
  if (key == "shapes") {
    arrays.shapes = value;
    arrays.has_shapes = true;
  } else if (key == "types") {
    arrays.types = value;
    arrays.has_types = true;
  } else if (key == "strides") {
    arrays.strides = value;
    arrays.has_strides = true;
  }
}

// The fields that both layouts have: members of a node in the flat one, attributes in the nested.
struct UnsignedField {
  std::string_view name;
  std::uint64_t Node::*member;
};
constexpr std::array kUnsignedFields = {
    UnsignedField{"rf_id", &Node::rf_id}, UnsignedField{"fw_parent", &Node::fw_parent},
    UnsignedField{"tid", &Node::tid}, UnsignedField{"fw_tid", &Node::fw_tid}};

struct TextField {
  std::string_view name;
  std::string_view Node::*member;
};
constexpr std::array kTextFields = {
    TextField{"op_schema", &Node::op_schema}, TextField{"kernel_backend", &Node::kernel_backend},
    TextField{"kernel_file", &Node::kernel_file}, TextField{"tensor_range", &Node::tensor_range}};

struct CommNumber {
  std::string_view name;
  std::int64_t CommAttributes::*member;
};
constexpr std::array kCommNumbers = {
    CommNumber{"in_msg_nelems", &CommAttributes::in_msg_nelems},
    CommNumber{"out_msg_nelems", &CommAttributes::out_msg_nelems},
    CommNumber{"global_rank_start", &CommAttributes::global_rank_start},
    CommNumber{"global_rank_stride", &CommAttributes::global_rank_stride},
    CommNumber{"pg_size", &CommAttributes::pg_size}};

struct CommText {
  std::string_view name;
  std::string_view CommAttributes::*member;
};
constexpr std::array kCommTexts = {CommText{"collective_name", &CommAttributes::collective_name},
                                   CommText{"dtype", &CommAttributes::dtype},
                                   CommText{"in_split_size", &CommAttributes::in_split_size},
                                   CommText{"out_split_size", &CommAttributes::out_split_size},
                                   CommText{"pg_name", &CommAttributes::pg_name},
                                   CommText{"pg_desc", &CommAttributes::pg_desc}};

}  // namespace

/// What read_field() leaves for the end, when the node's id is known.
struct NodeReader::Parts {
  ValueArrays inputs;
  ValueArrays outputs;
  std::optional<element> attributes;
  bool has_id = false;
  bool has_name = false;
};

std::string_view NodeReader::text(element value, std::string_view field) {
  std::string_view result;
  if (value.get_string().get(result) != SUCCESS) {
    refuse_field(field, "a text", describe(value));
  }
  return escaped_name(arena_.copy(result), arena_, losses_);
}

bool NodeReader::read_common_field(Node& node, std::string_view key, element value) {
  for (const UnsignedField& field : kUnsignedFields) {
    if (field.name == key) {
      node.*field.member = unsigned_number(value, key);
      return true;
    }
  }
  for (const TextField& field : kTextFields) {
    if (field.name == key) {
      node.*field.member = text(value, key);
      return true;
    }
  }
  if (key == "seq_id") {
    node.seq_id = signed_number(value, key);
    return true;
  }
  if (key == "scope") {
    node.scope = scope_of(value);
    return true;
  }
  return false;
}

void NodeReader::read_field(Node& node, Parts& parts, std::string_view key, element value) {
  if (key == "id") {
    node.id = unsigned_number(value, key);
    parts.has_id = true;
  } else if (key == "name") {
    node.name = text(value, key);
    parts.has_name = true;
  } else if (key == "ctrl_deps" || key == "parent") {
    // The nested layout's name for it, and the flat one's.
    node.parent_id = unsigned_number(value, key);
  } else if (key == "inputs") {
    read_values_field(parts.inputs, value, key);
  } else if (key == "outputs") {
    read_values_field(parts.outputs, value, key);
  } else if (key == "attrs") {
    parts.attributes = value;
  } else if (!read_common_field(node, key, value)) {
    read_flat_list(parts.inputs, parts.outputs, key, value);
  }
}

bool NodeReader::read_comm_attribute(CommAttributes& comm, std::string_view name, element value) {
  for (const CommNumber& field : kCommNumbers) {
    if (field.name == name) {
      comm.*field.member = signed_number(value, name);
      return true;
    }
  }
  for (const CommText& field : kCommTexts) {
    if (field.name == name) {
      comm.*field.member = text(value, name);
      return true;
    }
  }
  return false;
}

void NodeReader::read_attributes(Node& node, element list) {
  simdjson::dom::array attributes;
  if (list.get_array().get(attributes) != SUCCESS) {
    refuse_field("attrs", "an array", describe(list));
  }
  CommAttributes comm;
  bool has_comm = false;
  for (const element attribute : attributes) {
    simdjson::dom::object object;
    if (attribute.get_object().get(object) != SUCCESS) {
      refuse_field("attrs", R"(objects {"name", "type", "value"})", describe(attribute));
    }
    std::string_view name;
    std::optional<element> value;
    for (const auto [key, field] : object) {
      if (key == "name") {
        if (field.get_string().get(name) != SUCCESS) {
          refuse_field("attrs", "a text as name", describe(attribute));
        }
      } else if (key == "value") {
        value = field;
      }
    }
    if (name.empty() || !value) {
      refuse_field("attrs", R"(objects {"name", "type", "value"})", describe(attribute));
    }
    // Attributes of a later torch are passed over.
    if (!read_common_field(node, name, *value) && read_comm_attribute(comm, name, *value)) {
      has_comm = true;
    }
  }
  if (has_comm) {
    node.comm = arena_.make(comm);
  }
}

Node NodeReader::read(simdjson::dom::object object) {
  Node node;
  Parts parts;
  try {
    for (const auto [key, value] : object) {
      read_field(node, parts, key, value);
    }
    if (!parts.has_id) {
      refuse_field("id", "an integer", "nothing");
    }
    if (!parts.has_name) {
      refuse_field("name", "a text", "nothing");
    }
    if (parts.attributes) {
      read_attributes(node, *parts.attributes);
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
