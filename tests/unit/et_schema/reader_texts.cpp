#include "reader_texts.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "et_schema/formats/pytorch_et/trace_reader.h"
#include "testing/error_text.h"

namespace understudy::et_schema::testing_texts {
namespace {

std::string arrays_text(const Arrays& arrays) {
  std::string text = fmt::format(R"({{"values": {}, "shapes": {}, "types": {})", arrays.values,
                                 arrays.shapes, arrays.types);
  if (!arrays.strides.empty()) {
    text += fmt::format(R"(, "strides": {})", arrays.strides);
  }
  return text + "}";
}

struct ShapeAndType {
  std::string shape;
  std::string type;
};

ShapeAndType shape_and_type(const nlohmann::json& value) {
  if (!value.is_array()) {
    const char* const type = value.is_string() ? "String" : value.is_boolean() ? "Bool" : "Int";
    return {"[]", type};
  }
  if (value.size() == 6 && value.back().is_string()) {
    return {fmt::format("[{}]", value[3].get<int>()), "Tensor(float)"};
  }
  std::vector<std::string> shapes;
  std::vector<std::string> types;
  for (const nlohmann::json& item : value) {
    const ShapeAndType of_item = shape_and_type(item);
    shapes.push_back(of_item.shape);
    types.push_back(of_item.type);
  }
  const bool is_tuple =
      !types.empty() && (types.front() == "String" || types.front() != types.back());
  return {fmt::format("[{}]", fmt::join(shapes, ",")),
          fmt::format("{}[{}]", is_tuple ? "Tuple" : "GenericList", fmt::join(types, ","))};
}

la_ssize_t append(archive* /*handle*/, void* target, const void* bytes, std::size_t count) {
  static_cast<std::string*>(target)->append(static_cast<const char*>(bytes), count);
  return static_cast<la_ssize_t>(count);
}

}  // namespace

Arrays arrays_of(const std::string& values) {
  Arrays arrays = {.values = values};
  nlohmann::json shapes = nlohmann::json::array();
  nlohmann::json types = nlohmann::json::array();
  for (const nlohmann::json& value : nlohmann::json::parse(values)) {
    const ShapeAndType of_value = shape_and_type(value);
    shapes.push_back(nlohmann::json::parse(of_value.shape));
    types.push_back(of_value.type);
  }
  arrays.shapes = shapes.dump();
  arrays.types = types.dump();
  return arrays;
}

std::string node(const NodeText& text) {
  return fmt::format(
      R"({{"id": {}, "name": "{}", "ctrl_deps": {}, "inputs": {}, "outputs": {}, "attrs": [)"
      R"({{"name": "rf_id", "type": "uint64", "value": {}}}, )"
      R"({{"name": "tid", "type": "uint64", "value": {}}}, )"
      R"({{"name": "op_schema", "type": "string", "value": "{}"}}{}]}})",
      text.id, text.name, text.parent, arrays_text(text.inputs), arrays_text(text.outputs), text.id,
      text.tid, text.schema, text.attributes);
}

std::vector<std::string> roots() {
  return {node({.id = 2, .parent = 1, .name = "[pytorch|profiler|execution_trace|thread]"}),
          node({.id = 1, .parent = 1, .name = "[pytorch|profiler|execution_trace|process]"})};
}

std::string trace(const std::vector<std::string>& nodes, std::string_view schema) {
  return fmt::format(
      R"({{"schema": "{}", "pid": 7, "time": "now", "start_ts": 1, "nodes": [{}], "finish_ts": 2}})",
      schema, fmt::join(nodes, ",\n"));
}

std::string trace_of(const NodeText& text) {
  return testing_texts::trace_of(std::vector{text});
}

std::string trace_of(const std::vector<NodeText>& texts) {
  std::vector<std::string> nodes = roots();
  for (const NodeText& text : texts) {
    nodes.push_back(node(text));
  }
  return trace(nodes);
}

Trace parse(const std::string& text) {
  return parse_trace(text, "t.json");
}

std::string captured_rank(int rank, const std::string& files, const std::string& step_ns,
                          const std::string& trace) {
  return fmt::format(
      R"({{"rank":{},"files":{},"trace":{},"step_ns":{},"step_minor_faults":[],)"
      R"("kineto_only_minor_faults":[],"observer_ns":null,"untouched_tensor_bytes":null,)"
      R"("kernel_settings":{{}},"environment":{{"variables":{{}}}}}})",
      rank, files, trace, step_ns);
}

std::string capture_description(const std::vector<std::string>& ranks, const std::string& id) {
  return fmt::format(
      R"({{"format":"understudy-capture","version":1,"id":"{}","world_size":{},"ranks":[{}]}})", id,
      ranks.size(), fmt::join(ranks, ","));
}

std::string error_of(const std::function<void()>& work) {
  return testing_errors::error_of([&] { return work(); });
}

std::string parse_error(const std::string& text) {
  return error_of([&text] { static_cast<void>(parse(text)); });
}

std::string pack(ArchiveKind kind, const std::vector<Member>& members) {
  std::string bytes;
  archive* handle = archive_write_new();
  if (kind == ArchiveKind::kZip) {
    archive_write_set_format_zip(handle);
  } else if (kind == ArchiveKind::kGzip) {
    archive_write_set_format_raw(handle);
  } else {
    archive_write_set_format_ustar(handle);
  }
  if (kind == ArchiveKind::kTarGz || kind == ArchiveKind::kGzip) {
    archive_write_add_filter_gzip(handle);
  }
  archive_write_set_bytes_in_last_block(handle, 1);
  archive_write_open(handle, &bytes, nullptr, &append, nullptr);
  for (const Member& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.content.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(handle, entry);
    archive_write_data(handle, member.content.data(), member.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(handle);
  archive_write_free(handle);
  return bytes;
}

}  // namespace understudy::et_schema::testing_texts
