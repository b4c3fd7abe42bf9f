#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "et_schema/model/program.h"
#include "generator/resize/blur_shapes.h"

namespace understudy::generator {

/// Size → what it becomes. Others stay.
using SizeMap = std::map<std::int64_t, std::int64_t>;

[[nodiscard]] std::int64_t elements_of(const std::vector<std::int64_t>& shape,
                                       const SizeMap& sizes);

/// Calls visit(number) for each integer that an argument is or lists.
template <typename Value, typename Visit>
void for_each_integer(Value& argument, const Visit& visit) {
  if (auto* number = std::get_if<std::int64_t>(&argument.value)) {
    visit(*number);
  } else if (auto* list = std::get_if<et_schema::Argument::List>(&argument.value)) {
    for (auto& item : *list) {
      for_each_integer(item, visit);
    }
  }
}

/// The dimensions from the innermost outwards if the slot's elements lie without holes and none
/// twice, but for dimensions that are repeated (stride 0); else nothing.
[[nodiscard]] std::optional<std::vector<std::size_t>> dense_order(const et_schema::Slot& slot);

/// Replaces sizes in slots, strides, storages, arguments and value rules. Indices and their bounds
/// change in proportion, since a bound of 7981 tells of 8000 rows. Heap blocks and page faults of
/// the original go. `present`: the sizes of all tensors that instructions have.
void rewrite_sizes(et_schema::Program& program, const SizeMap& sizes,
                   const std::set<std::int64_t>& present);

[[nodiscard]] Work work_of(const et_schema::Bench& bench);

/// Whether both are on one side of the sizes from which libraries take other kernels: blocks of
/// threads, rows that fit into one of them, elements from which a loop is shared among threads.
[[nodiscard]] bool same_side(std::int64_t a, std::int64_t b);

/// Size → why it has to stay.
using KeptSizes = std::map<std::int64_t, std::string>;

/// Adds the sizes that a program cannot do without, whatever they would become; `rows` takes the
/// rows of its tables, to whose end indices reach. What is recorded below instructions is left out.
void find_kept(const et_schema::Program& program, KeptSizes& kept, std::set<std::int64_t>& rows);

/// Whether instructions run with other sizes, what is recorded below them included.
[[nodiscard]] bool fits(const et_schema::Program& program,
                        const std::vector<et_schema::Instruction>& instructions,
                        const SizeMap& sizes);

}  // namespace understudy::generator
