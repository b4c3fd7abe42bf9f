#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "et_schema/model/program.h"

namespace understudy::generator {

/// The communications issued so far in a program. Counts waits that join none of them, and
/// reductions whose operation the trace does not hold.
class IssuedComms {
 public:
  /// Adds a communication or a wait; counts into the program's losses.
  void add(const et_schema::Instruction& instruction, et_schema::Program& program);

 private:
  [[nodiscard]] bool is_issued(const et_schema::Instruction& wait,
                               const et_schema::Program& program) const;

  std::unordered_multimap<std::int64_t, et_schema::CommInfo> by_seq_;
  std::unordered_set<et_schema::StorageId> touched_;  ///< storages that a communication has used
};

}  // namespace understudy::generator
