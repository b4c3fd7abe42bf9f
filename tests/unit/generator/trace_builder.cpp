#include "trace_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <variant>

#include "et_schema/formats/pytorch_et/trace_reader.h"

namespace understudy::generator::test {
namespace {

const et_schema::Slot& slot_of(const et_schema::Program& program,
                               const et_schema::Argument& tensor) {
  return program.slots.at(std::get<et_schema::Argument::SlotRef>(tensor.value).id);
}

std::string side(const std::vector<TestValue>& values) {
  std::vector<std::string> texts;
  std::vector<std::string> shapes;
  std::vector<std::string> types;
  std::vector<std::string> strides;
  for (const TestValue& value : values) {
    texts.push_back(value.value);
    shapes.push_back(value.shape);
    types.push_back('"' + value.type + '"');
    strides.push_back(value.strides);
  }
  return fmt::format(R"({{"values":[{}],"shapes":[{}],"types":[{}],"strides":[{}]}})",
                     fmt::join(texts, ","), fmt::join(shapes, ","), fmt::join(types, ","),
                     fmt::join(strides, ","));
}

std::string node_text(std::uint64_t id, const std::string& name, std::uint64_t parent,
                      const std::string& schema, const std::vector<TestValue>& inputs,
                      const std::vector<TestValue>& outputs, const std::string& more) {
  const bool is_backward =
      name.ends_with("Backward") || name.starts_with("torch::autograd::CppNode<");
  return fmt::format(
      R"({{"id":{},"name":"{}","ctrl_deps":{},"inputs":{},"outputs":{},"attrs":[)"
      R"({{"name":"rf_id","type":"uint64","value":{}}},{{"name":"fw_parent","type":"uint64","value":0}},)"
      R"({{"name":"seq_id","type":"int64","value":-1}},{{"name":"scope","type":"uint64","value":{}}},)"
      R"({{"name":"tid","type":"uint64","value":1}},{{"name":"fw_tid","type":"uint64","value":0}},)"
      R"({{"name":"op_schema","type":"string","value":"{}"}}{}]}})",
      id, name, parent, side(inputs), side(outputs), id, is_backward ? 1 : 0, schema, more);
}

std::int64_t item_bytes(const std::string& dtype) {
  return dtype == "long int" || dtype == "double" ? 8 : dtype == "bool" ? 1 : 4;
}

}  // namespace

TestValue tensor(std::int64_t id, std::int64_t storage, std::vector<std::int64_t> sizes,
                 const std::string& dtype, std::int64_t offset) {
  std::int64_t count = 1;
  std::vector<std::int64_t> strides(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = count;
    count *= sizes[i];
  }
  return {fmt::format(R"([{},{},{},{},{},"cpu"])", id, storage, offset, count, item_bytes(dtype)),
          fmt::format("[{}]", fmt::join(sizes, ",")), fmt::format("Tensor({})", dtype),
          fmt::format("[{}]", fmt::join(strides, ","))};
}

TestValue without_storage(std::int64_t id, const std::vector<std::int64_t>& sizes,
                          const std::vector<std::int64_t>& strides) {
  return {fmt::format(R"([{},0,0,0,0,""])", id), fmt::format("[{}]", fmt::join(sizes, ",")),
          "Tensor(float)", fmt::format("[{}]", fmt::join(strides, ","))};
}

TestValue integer(std::int64_t value) {
  return {std::to_string(value), "[]", "Int", "[]"};
}

TestValue none() {
  return {"\"<None>\"", "[]", "None", "[]"};
}

TestValue list(const std::vector<TestValue>& items) {
  std::vector<std::string> values;
  std::vector<std::string> shapes;
  std::vector<std::string> types;
  std::vector<std::string> strides;
  for (const TestValue& item : items) {
    values.push_back(item.value);
    shapes.push_back(item.shape);
    types.push_back(item.type);
    strides.push_back(item.strides);
  }
  return {fmt::format("[{}]", fmt::join(values, ",")), fmt::format("[{}]", fmt::join(shapes, ",")),
          fmt::format("GenericList[{}]", fmt::join(types, ",")),
          fmt::format("[{}]", fmt::join(strides, ","))};
}

std::uint64_t TraceBuilder::add(std::uint64_t parent, const std::string& name,
                                const std::string& schema, const std::vector<TestValue>& inputs,
                                const std::vector<TestValue>& outputs,
                                const std::string& more_attributes) {
  nodes_.push_back(node_text(next_id_, name, parent, schema, inputs, outputs, more_attributes));
  return next_id_++;
}

et_schema::Trace TraceBuilder::trace() const {
  std::vector<std::string> nodes = {
      node_text(1, "[pytorch|profiler|execution_trace|process]", 1, "", {}, {}, ""),
      node_text(2, "[pytorch|profiler|execution_trace|thread]", 1, "", {}, {}, "")};
  nodes.insert(nodes.end(), nodes_.begin(), nodes_.end());
  const std::string json = fmt::format(
      R"({{"schema":"1.1.1-chakra.0.0.4","pid":1,"time":"2026-01-01 00:00:00","start_ts":0,"nodes":[{}],"finish_ts":1}})",
      fmt::join(nodes, ","));
  return et_schema::parse_trace(json, "test.json");
}

et_schema::Program TraceBuilder::program(const GenerateOptions& options) const {
  std::vector<et_schema::Trace> traces;
  traces.push_back(trace());
  return std::move(generate(traces, options).programs.front());
}

std::vector<std::string> names(const std::vector<et_schema::Instruction>& instructions) {
  std::vector<std::string> result;
  for (const et_schema::Instruction& instruction : instructions) {
    result.push_back(instruction.name);
  }
  return result;
}

const et_schema::Slot& argument_slot(const et_schema::Program& program, std::size_t instruction,
                                     std::size_t argument) {
  return slot_of(program, program.instructions.at(instruction).args.at(argument));
}

const et_schema::Slot& result_slot(const et_schema::Program& program, std::size_t instruction,
                                   std::size_t result) {
  return slot_of(program, program.instructions.at(instruction).results.at(result));
}

}  // namespace understudy::generator::test
