#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"
#include "testing/made_program.h"

namespace understudy::generator::testing {

using Sizes = std::vector<std::int64_t>;

using testing_programs::ref;

/// Programs by hand, whose tensors have shapes.
struct Made {
  et_schema::Program program;

  et_schema::SlotId slot(const Sizes& sizes, bool external = false, Sizes strides = {}) {
    const et_schema::SlotId made = testing_programs::add_tensor(
        program, sizes, external, et_schema::DType::kFloat32, et_schema::parse_device("cpu"));
    if (!strides.empty()) {
      program.slots[made].strides = std::move(strides);
    }
    return made;
  }
  et_schema::SlotId data(const Sizes& sizes) { return slot(sizes, true); }

  et_schema::SlotId op(const std::string& name, std::vector<et_schema::Argument> args,
                       const Sizes& result) {
    const et_schema::SlotId out = slot(result);
    add(name, std::move(args), {ref(out)});
    return out;
  }
  void add(const std::string& name, std::vector<et_schema::Argument> args,
           std::vector<et_schema::Argument> results) {
    et_schema::Instruction& instruction = program.instructions.emplace_back();
    instruction.name = name;
    instruction.node_id = program.instructions.size();
    instruction.args = std::move(args);
    instruction.results = std::move(results);
  }
  /// Of the instruction that was added last.
  void say_schema(const std::string& schema) {
    program.instructions.back().schema = static_cast<et_schema::SchemaId>(program.schemas.size());
    program.schemas.push_back(schema);
  }
};

using testing_programs::list_of;
using testing_programs::number;
using testing_programs::numbers;

}  // namespace understudy::generator::testing
