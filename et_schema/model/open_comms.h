#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/touches.h"

namespace understudy::et_schema {

/// Returns true for collectives and for messages between two ranks, but not for waits.
[[nodiscard]] bool is_communication(const Instruction& instruction);

/// Returns true for communications and for waits.
[[nodiscard]] bool communicates(const Instruction& instruction);

/// Returns the slots of an argument; empty if the instruction has no such argument. A
/// communication's argument 0 is its inputs, 1 its outputs.
[[nodiscard]] std::vector<SlotId> slots_of(const Instruction& instruction, std::size_t argument);

/// Returns true if `wait` can be a wait for `call`: both record the same sequence number, and the
/// group and the kind (message or collective) match. If the wait does not record its group or its
/// kind, any group or kind matches.
[[nodiscard]] bool can_be_wait_of(const CommInfo& wait, const CommInfo& call);

/// Returns the wait recorded behind a synchronous call. Some recorders write the call's start and
/// its wait separately; the call then took the time of both. Empty unless the next communication or
/// wait of the call's thread is that wait.
[[nodiscard]] std::optional<std::uint32_t> wait_behind(const Program& program, std::uint32_t call);

/// Returns true if a communication is complete when its instruction returns: barriers, and calls
/// recorded as synchronous.
[[nodiscard]] bool is_blocking(const CommInfo& comm);

/// Tracks communications that were started and not yet joined, in one pass over a program. The
/// caller's numbers identify them.
class OpenComms {
 public:
  explicit OpenComms(const Program& program) : program_(program) {}

  void start(std::uint32_t number, const Instruction& instruction);
  /// Starts a send that owns its tensors: only take_all() joins it.
  void start_detached(std::uint32_t number);

  /// Removes and returns the calls that must be joined before these accesses. Reading a
  /// communication's input joins nothing. A view of an output joins the call, unless CommInfo::why
  /// is set: then the host need not wait before it makes the view.
  [[nodiscard]] std::vector<std::uint32_t> take_touched(const Touched& touched);
  /// Removes and returns the calls that a recorded wait joins. If the wait records its group: the
  /// calls of its group, sequence number and kind. Else, if it records a tensor: the calls that use
  /// the tensor. Else: the first started call that it can wait for, and all matching calls of that
  /// call's group and kind.
  [[nodiscard]] std::vector<std::uint32_t> take_waited(const Instruction& wait);
  [[nodiscard]] std::vector<std::uint32_t> take_all();

 private:
  struct Open {
    std::uint32_t number = 0;
    const CommInfo* comm = nullptr;  ///< null: detached
    std::set<StorageId> inputs;
    std::set<StorageId> outputs;
  };
  template <typename Matches>
  std::vector<std::uint32_t> take_if(Matches matches);

  const Program& program_;
  std::vector<Open> open_;  ///< in order of start
};

}  // namespace understudy::et_schema
