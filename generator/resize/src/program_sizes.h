#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/operator_facts.h"
#include "et_schema/model/program.h"
#include "et_schema/model/schema_text.h"
#include "generator/resize/blur_shapes.h"
#include "shape_rewrite.h"

namespace understudy::generator {

/// Whether both are on one side of the sizes from which libraries take other kernels: blocks of
/// threads, rows that fit into one of them, elements from which a loop is shared among threads.
[[nodiscard]] bool same_side(std::int64_t a, std::int64_t b);

/// Why which size has to stay.
class Keeper {
 public:
  void keep(std::int64_t size, const std::string& why);
  void keep(const et_schema::Slot& slot, const std::string& why);
  /// Integers among an argument's.
  void keep_argument(const et_schema::Argument& argument, const std::string& why);
  [[nodiscard]] const std::map<std::int64_t, std::string>& all() const { return kept_; }

 private:
  std::map<std::int64_t, std::string> kept_;
};

/// What a program asks of its sizes.
class ProgramSizes {
 public:
  /// `rows` takes the rows of tables, to whose end indices reach.
  ProgramSizes(const et_schema::Program& program, Keeper& keeper, std::set<std::int64_t>& rows)
      : program_(program), keeper_(keeper), rows_(rows) {}

  /// Keeps what cannot change, whatever it becomes.
  void find();
  /// What one of its instructions asks, without what is recorded below it.
  void look_at(const et_schema::Instruction& instruction);

 private:
  void find_parts();
  void keep_inner(const et_schema::Slot& slot);
  void look_at_rule(const et_schema::ValueRule& rule);
  void look_at_reshape(const et_schema::Instruction& instruction);
  void look_at_communication(const et_schema::Instruction& instruction);
  void look_at_operator(const et_schema::Instruction& instruction);
  void look_at_sizes(const et_schema::Instruction& instruction, et_schema::SizeRule rule,
                     const std::vector<et_schema::SchemaArgument>& arguments);
  void keep_all(const et_schema::Instruction& instruction, const std::string& why);
  void keep_new_sizes(const et_schema::Instruction& instruction);
  void keep_dim(const et_schema::Instruction& instruction,
                const std::vector<et_schema::SchemaArgument>& arguments);
  template <typename Visit>
  void each_slot(const et_schema::Instruction& instruction, Visit visit) const;

  const et_schema::Program& program_;
  Keeper& keeper_;
  std::set<std::int64_t>& rows_;
};

/// Whether instructions run with other sizes, what is recorded below them included.
[[nodiscard]] bool fits(const et_schema::Program& program,
                        const std::vector<et_schema::Instruction>& instructions,
                        const SizeMap& sizes);

}  // namespace understudy::generator
