#include "value_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "et_schema/facts/schema_text.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {

std::string_view CallView::overload() const {
  return et_schema::overload_of(instruction_.name);
}

const Argument* CallView::find(std::string_view name) const {
  return find_argument(program_, instruction_, name);
}

const Slot* CallView::first_slot(const Argument* argument) const {
  if (argument == nullptr) {
    return nullptr;
  }
  if (const auto* reference = std::get_if<Argument::SlotRef>(&argument->value)) {
    return &program_.slots[reference->id];
  }
  const auto* list = std::get_if<Argument::List>(&argument->value);
  return list == nullptr || list->empty() ? nullptr : first_slot(&list->front());
}

const Slot* CallView::tensor(std::string_view name) const {
  const std::size_t end = std::min(name.find('|'), name.size());
  const Slot* slot = first_slot(find(name.substr(0, end)));
  return slot != nullptr || end == name.size() ? slot : tensor(name.substr(end + 1));
}

const Slot* CallView::first_argument() const {
  return instruction_.args.empty() ? nullptr : first_slot(&instruction_.args.front());
}

const Slot* CallView::result(std::size_t number) const {
  const Slot* found = nullptr;
  std::size_t seen = 0;
  et_schema::for_each_slot(instruction_.results, [&](et_schema::SlotId id) {
    if (seen++ == number) {
      found = &program_.slots[id];
    }
  });
  return found;
}

std::optional<std::int64_t> CallView::integer(std::string_view name) const {
  const Argument* argument = find(name);
  const auto* integer = argument == nullptr ? nullptr : std::get_if<std::int64_t>(&argument->value);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

std::optional<double> CallView::number(std::string_view name) const {
  if (const std::optional<std::int64_t> whole = integer(name)) {
    return static_cast<double>(*whole);
  }
  const Argument* argument = find(name);
  const auto* real = argument == nullptr ? nullptr : std::get_if<double>(&argument->value);
  return real == nullptr ? std::nullopt : std::optional(*real);
}

std::optional<bool> CallView::flag(std::string_view name) const {
  const Argument* argument = find(name);
  const auto* flag = argument == nullptr ? nullptr : std::get_if<bool>(&argument->value);
  return flag == nullptr ? std::nullopt : std::optional(*flag);
}

std::optional<std::int64_t> CallView::bound(const ArgumentFact& row) const {
  const std::int64_t dim = row.dim == et_schema::kByDim ? integer("dim").value_or(0) : row.dim;
  if (row.of.empty()) {
    return size_at(first_result(), dim);
  }
  if (const std::optional<std::int64_t> number = integer(row.of)) {
    return number;
  }
  if (const Slot* slot = tensor(row.of)) {
    return size_at(slot, dim);
  }
  const Argument* argument = find(row.of);
  const auto* list = argument == nullptr ? nullptr : std::get_if<Argument::List>(&argument->value);
  if (list == nullptr) {
    return std::nullopt;
  }
  const std::int64_t position = dim < 0 ? dim + static_cast<std::int64_t>(list->size()) : dim;
  if (position < 0 || static_cast<std::size_t>(position) >= list->size()) {
    return std::nullopt;
  }
  const auto* entry = std::get_if<std::int64_t>(&(*list)[static_cast<std::size_t>(position)].value);
  return entry == nullptr ? std::nullopt : std::optional(*entry);
}

std::optional<std::int64_t> size_at(const Slot* slot, std::int64_t dim) {
  if (slot == nullptr) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::int64_t>(slot->sizes.size());
  if (rank == 0) {
    return 1;
  }
  dim = dim < 0 ? dim + rank : dim;
  return dim < 0 || dim >= rank ? std::nullopt
                                : std::optional(slot->sizes[static_cast<std::size_t>(dim)]);
}

const Argument* find_argument(const Program& program, const Instruction& instruction,
                              std::string_view name) {
  if (!instruction.schema || name.empty()) {
    return nullptr;
  }
  const int index = et_schema::argument_index(program.schemas[*instruction.schema], name);
  const auto position = static_cast<std::size_t>(index);
  return index < 0 || position >= instruction.args.size() ? nullptr : &instruction.args[position];
}

std::optional<SlotId> slot_of(const Argument* argument) {
  const auto* slot =
      argument == nullptr ? nullptr : std::get_if<Argument::SlotRef>(&argument->value);
  return slot == nullptr ? std::nullopt : std::optional(slot->id);
}

std::optional<SlotId> slot_named(const Program& program, const Instruction& instruction,
                                 std::string_view name) {
  return slot_of(find_argument(program, instruction, name));
}

std::optional<SlotId> slot_at(const std::vector<Argument>& arguments, std::size_t place) {
  return place < arguments.size() ? slot_of(&arguments[place]) : std::nullopt;
}

std::string why_of(const OperatorFacts& facts, const ArgumentFact& row) {
  return fmt::format("{}.{}", facts.name, row.name);
}

}  // namespace understudy::generator
