#include "statement_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "et_schema/facts/schema_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;

constexpr std::int64_t kLeastFreedBytes = std::int64_t{64} << 10;

std::optional<SlotId> new_slot(const DataFlow& flow, std::size_t at, const Argument& result) {
  if (flow.kind_of(at, result) != ResultKind::kNew) {
    return std::nullopt;
  }
  return std::get<Argument::SlotRef>(result.value).id;
}

class StatementWriter {
 public:
  StatementWriter(const DataFlow& flow, std::size_t at, const std::vector<std::string>& words,
                  const Scope& scope)
      : flow_(flow),
        at_(at),
        words_(words),
        scope_(scope),
        instruction_(flow.program().instructions[at]) {}

  void write_alias() {
    const Program& program = flow_.program();
    if (instruction_.results.empty() || flow_.reads(at_).empty()) {
      return;
    }
    const std::string base = scope_.next();
    const std::optional<SlotId> to = new_slot(flow_, at_, instruction_.results.front());
    if (!to) {
      return;
    }
    const Slot& from = program.slots[flow_.reads(at_).front()];
    const Slot& layout = program.slots[*to];
    const bool is_same = from.dtype == layout.dtype;
    std::vector<std::string> arguments = {
        base, sizes_text(layout.sizes), sizes_text(layout.strides),
        fmt::format("{}", layout.offset - (is_same ? from.offset : 0))};
    if (!is_same) {
      arguments.insert(arguments.begin() + 1, dtype_text(layout.dtype));
    }
    define_one(*to, bench_text(is_same ? "relayout" : "relayout_as", arguments));
  }

  void write_call(const CallText& call) {
    if (call.shape == ResultShape::kNothing || flow_.is_unread_view(at_)) {
      add(call.expression);
    } else if (call.shape == ResultShape::kTensor) {
      write_tensor(call.expression);
    } else if (call.shape == ResultShape::kTensors) {
      write_list(call.expression, instruction_.results.empty() ? nullptr : list_of(0));
    } else {
      write_tuple(call.expression);
    }
  }

 private:
  void add(const std::string& statement) { scope_.lines.push_back(statement); }
  std::string take(SlotId slot) {
    std::string name = scope_.names.take(words_[slot]);
    scope_.made(slot, name);
    return name;
  }
  void define_one(SlotId slot, const std::string& expression) {
    const std::string name = take(slot);
    add(fmt::format("{} = {}", name, expression));
  }

  void write_tensor(const std::string& expression) {
    const auto slot = instruction_.results.empty()
                          ? std::nullopt
                          : new_slot(flow_, at_, instruction_.results.front());
    if (slot) {
      define_one(*slot, expression);
    } else {
      add(expression);
    }
  }

  [[nodiscard]] const Argument::List* list_of(std::size_t result) const {
    return std::get_if<Argument::List>(&instruction_.results[result].value);
  }

  [[nodiscard]] bool has_new(const Argument::List& list) const {
    return std::any_of(list.begin(), list.end(), [this](const Argument& element) {
      return new_slot(flow_, at_, element).has_value();
    });
  }

  void write_list(const std::string& expression, const Argument::List* list) {
    if (list == nullptr || !has_new(*list)) {
      add(expression);
      return;
    }
    const std::string name = scope_.names.take(operator_word(instruction_.name) + "_parts");
    add(fmt::format("{} = {}", name, expression));
    name_elements(*list, name);
  }

  void name_elements(const Argument::List& list, const std::string& name) {
    std::vector<std::string> elements;
    for (std::size_t i = 0; i < list.size(); ++i) {
      elements.push_back(fmt::format("{}[{}]", name, i));
      if (const auto slot = new_slot(flow_, at_, list[i])) {
        scope_.made(*slot, elements.back());
      }
    }
    scope_.vectors[fmt::format("{}", fmt::join(elements, ", "))] = name;
  }

  void write_tuple(const std::string& expression) {
    std::vector<std::string> names;
    bool any = false;
    for (const Argument& result : instruction_.results) {
      const auto slot = new_slot(flow_, at_, result);
      const auto* list = std::get_if<Argument::List>(&result.value);
      if (list != nullptr) {
        names.push_back(scope_.names.take(operator_word(instruction_.name) + "_parts"));
        name_elements(*list, names.back());
        any = true;
      } else {
        names.push_back(slot ? take(*slot) : "_");
        any = any || slot;
      }
    }
    add(any ? fmt::format("{} = {}", fmt::join(names, ", "), expression) : expression);
  }

  const DataFlow& flow_;
  std::size_t at_;
  const std::vector<std::string>& words_;
  const Scope& scope_;
  const Instruction& instruction_;
};

}  // namespace

void write_statement(const DataFlow& flow, std::size_t at, const std::vector<std::string>& words,
                     CallWriter& calls, const Scope& scope) {
  const Instruction& instruction = flow.program().instructions[at];
  StatementWriter writer(flow, at, words, scope);
  if (instruction.kind == InstructionKind::kAlias) {
    writer.write_alias();
  } else if (instruction.kind == InstructionKind::kOp) {
    NextTensor next = scope.next;
    if (et_schema::lays_out_in_place(et_schema::without_overload(instruction.name))) {
      // Later readers of the tensor need its former layout.
      next = [&scope, is_first = true]() mutable {
        const std::string tensor = scope.next();
        return std::exchange(is_first, false) ? bench_text("another", {tensor}) : tensor;
      };
    }
    writer.write_call(calls.write(instruction, next, scope.vectors));
  }
}

std::string release_text(const std::vector<std::string>& variables, const Vectors& vectors) {
  const auto vector = vectors.find(fmt::format("{}", fmt::join(variables, ", ")));
  return (vector != vectors.end() ? vector->second
                                  : fmt::format("{}", fmt::join(variables, " = "))) +
         " = None";
}

bool is_worth_freeing(const et_schema::Storage& storage) {
  return storage.bytes >= kLeastFreedBytes;
}

}  // namespace understudy::emitter
