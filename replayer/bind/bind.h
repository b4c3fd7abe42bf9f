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

/// A process group of the benchmark, with the id that the backend assigned.
struct BoundGroup {
  std::string name;
  backends::GroupId id = 0;
  int size = 1;
};

/// The instructions to bind: a program's, or those of a body that replaces its operator.
struct BindScope {
  std::span<const et_schema::Instruction> instructions;
  /// By slot: true if it holds a tensor before the first instruction. If empty, no slot does.
  std::vector<bool> available;
  /// By slot: true if it is read after the last instruction. If empty, no slot is.
  std::vector<bool> needed;
};

/// Binds instructions to steps by the decisions. An operator whose arguments cannot be boxed steps
/// down the ladder or is dropped. Lifetimes are computed from the instructions as bound, with
/// bodies in place of their operators. `groups` are indexed by GroupId; `order` is empty if no
/// other rank takes part in the communications. Throws Error (bad input) if a communication's
/// tensors do not fit it.
[[nodiscard]] BoundProgram bind_program(Decisions& decisions, const BindScope& scope,
                                        const std::vector<BoundGroup>& groups,
                                        const et_schema::CommOrder& order = {});

/// Binds the whole program.
[[nodiscard]] BoundProgram bind_program(Decisions& decisions, const std::vector<BoundGroup>& groups,
                                        const et_schema::CommOrder& order = {});

}  // namespace understudy::replayer
