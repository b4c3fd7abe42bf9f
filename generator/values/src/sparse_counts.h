#pragma once

#include <cstdint>
#include <map>

#include "demands.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// How many different rows a sparse gradient has decides shapes once it is coalesced. This carries
/// the recorded number against the flow to the indices that the gradient was made of, which are
/// then drawn with as many different values.
class SparseCounts {
 public:
  explicit SparseCounts(const et_schema::Program& program) : program_(program) {}

  /// Looks at one operator; operators come in reverse order.
  void visit(const et_schema::Instruction& instruction, Demands& demands);

 private:
  void note(et_schema::SlotId sparse, std::int64_t count) {
    rows_[program_.slots[sparse].storage] = count;
  }

  const et_schema::Program& program_;
  std::map<et_schema::StorageId, std::int64_t> rows_;       ///< of coalesced tensors
  std::map<et_schema::StorageId, std::int64_t> different_;  ///< of tensors that are coalesced later
};

}  // namespace understudy::generator
