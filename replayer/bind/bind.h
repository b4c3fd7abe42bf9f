#pragma once

#include <c10/core/Device.h>

#include <span>
#include <string>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/program.h"
#include "replayer/backends/interface/communicator.h"
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

/// Turns instructions into steps by the decisions. Operators whose arguments cannot be boxed step
/// down the ladder on the way, or are dropped. Lifetimes are those of the instructions as they are
/// bound, with bodies in place of their operators. `groups` are the benchmark's, by GroupId;
/// `order` is the rank's, or empty where no other rank takes part in its communications. Throws
/// Error (bad input) if a communication's tensors do not fit it.
[[nodiscard]] BoundProgram bind_program(Decisions& decisions, const BindScope& scope,
                                        const std::vector<BoundGroup>& groups,
                                        const et_schema::CommOrder& order = {});

/// Binds the whole program.
[[nodiscard]] BoundProgram bind_program(Decisions& decisions, const std::vector<BoundGroup>& groups,
                                        const et_schema::CommOrder& order = {});

}  // namespace understudy::replayer
