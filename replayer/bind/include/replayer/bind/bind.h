#pragma once

#include <c10/core/Device.h>

#include <span>
#include <string>
#include <vector>

#include "backends/communicator.h"
#include "et_schema/model/comm_order.h"
#include "et_schema/model/program.h"
#include "replayer/bind/bound.h"
#include "replayer/bind/decisions.h"

namespace understudy::replayer {

/// A process group of the benchmark as the backend knows it.
struct BoundGroup {
  std::string name;
  backends::GroupId id = 0;
  int size = 1;
};

/// What is bound: a program's instructions, or a body in the place of its operator.
struct BindScope {
  std::span<const et_schema::Instruction> instructions;
  /// By slot: holds a tensor before the first instruction. Empty: none does.
  std::vector<bool> available;
  /// By slot: read after the last instruction. Empty: none is.
  std::vector<bool> needed;
};

/// Turns instructions into steps by the decisions; operators whose arguments cannot be boxed step
/// down the ladder, or are dropped, on the way. Lifetimes are those of the instructions as they are
/// bound, bodies in place of their operators. `groups` are the benchmark's, by GroupId; `order` is
/// the rank's, or empty where no other rank has a part in its communications. Throws Error (bad
/// input): a communication whose tensors do not fit it.
[[nodiscard]] BoundProgram bind_program(Decisions& decisions, const BindScope& scope,
                                        const std::vector<BoundGroup>& groups,
                                        const et_schema::CommOrder& order = {});

/// The program as a whole.
[[nodiscard]] BoundProgram bind_program(Decisions& decisions, const std::vector<BoundGroup>& groups,
                                        const et_schema::CommOrder& order = {});

}  // namespace understudy::replayer
