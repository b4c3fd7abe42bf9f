#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/touches.h"

namespace understudy::et_schema {

/// Collectives and messages between two ranks; waits are none.
[[nodiscard]] bool is_communication(const Instruction& instruction);

/// Those, and waits for them.
[[nodiscard]] bool communicates(const Instruction& instruction);

/// The slots of an argument, of a communication 0 its inputs, 1 its outputs; none where it has no
/// such argument.
[[nodiscard]] std::vector<SlotId> slots_of(const Instruction& instruction, std::size_t argument);

/// Whether `wait` can be that of the communication `call`: of the same sequence number, in the same
/// group, a send or receive if it waits for one. What the trace does not say of a wait fits any.
[[nodiscard]] bool can_be_wait_of(const CommInfo& wait, const CommInfo& call);

/// The wait that was recorded behind a synchronous call: where a recorder writes the call's start
/// and its wait as two, what the call took is both. It is the next communication or wait of the
/// call's thread, or there is none.
[[nodiscard]] std::optional<std::uint32_t> wait_behind(const Program& program, std::uint32_t call);

/// Whether a communication is complete when its instruction is: barriers, and what is recorded as
/// synchronous.
[[nodiscard]] bool is_blocking(const CommInfo& comm);

/// Communications that were started and not yet joined, while one goes through a program in order.
/// They are known by numbers of the caller's.
class OpenComms {
 public:
  explicit OpenComms(const Program& program) : program_(program) {}

  void start(std::uint32_t number, const Instruction& instruction);
  /// A send whose tensors are its own: nothing joins it but the end.
  void start_detached(std::uint32_t number);

  /// Those that must be joined before something that touches these memories so. What reads the
  /// input of a communication alone joins nothing. A view joins a call that the program has to wait
  /// for before it touches the result, but not one that only streams wait for (CommInfo::why).
  [[nodiscard]] std::vector<std::uint32_t> take_touched(const Touched& touched);
  /// Those that a recorded wait joins: where it names their group, those of its group, sequence
  /// number and kind; else those that work on the tensor it names; else, of the first started that
  /// it can be meant for, all of the same group.
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
