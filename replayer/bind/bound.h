#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replayer/backends/interface/communicator.h"
#include "replayer/dispatch/arguments.h"
#include "replayer/dispatch/model_names.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// The kinds of actions in the run loop.
enum class StepKind : std::uint8_t {
  kCall,        ///< an operator through the dispatcher
  kSubstitute,  ///< a substitute in place of an operator
  kAlias,       ///< another layout of a slot's memory
  /// Sets a slot to a tensor made before the run: a pinned result, or one that no step makes.
  kGive,
  kStart,  ///< starts a communication
  kJoin    ///< waits for a communication
};

/// The source of one entry of an operator's stack.
struct StackEntry {
  enum class From : std::uint8_t {
    kConstant,  ///< constants[index]
    kSlot,      ///< slot `index`, which is read again later and keeps its tensor
    kLastUse,   ///< slot `index`, whose tensor is moved: no later step reads it
    /// A new tensor over the memory of slot `index`: the call changes the layout of this tensor
    /// only.
    kView,
    kList  ///< lists[index]
  };
  From from = From::kConstant;
  std::uint32_t index = 0;
};

/// Position of an output on the stack.
struct StoredResult {
  std::uint32_t position = 0;            ///< on the stack
  std::optional<std::uint32_t> element;  ///< index in the list at that position, if it is one
  et_schema::SlotId slot = 0;
};

/// [begin, end) of one of the program's arrays.
struct IndexRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct Step {
  StepKind kind = StepKind::kCall;
  std::uint32_t index = 0;  ///< position in the array of its kind (kSubstitute, kStart, kJoin)
  std::optional<c10::OperatorHandle> handle;
  IndexRange entries;
  IndexRange stored;
  IndexRange dropped;  ///< slots released after this step
  /// The instruction that this step replays; null for a join.
  const et_schema::Instruction* source = nullptr;
  /// The program's instruction of which `source` is, or in whose body it is; set where it is.
  const et_schema::Instruction* whole = nullptr;
  /// The step's tensors are checked at every call (replayer/dispatch/extent.h). Set by the trial.
  bool is_watched = false;
  /// Run before every call of a kernel that does not check its arguments; empty for all others. Set
  /// by the trial.
  ArgumentCheck check = {};

  /// Returns true for operators, their substitutes, and starts of communications.
  [[nodiscard]] bool does_work() const {
    return kind == StepKind::kCall || kind == StepKind::kSubstitute || kind == StepKind::kStart;
  }
};

/// A communication in flight. Its tensors stay alive until it is joined. If an exception prevents
/// the join, the communication continues in the backend until the process ends, and its memory is
/// not freed.
struct OpenComm {
  OpenComm() = default;
  OpenComm(OpenComm&&) noexcept = default;
  OpenComm& operator=(OpenComm&&) noexcept = default;
  ~OpenComm();

  std::unique_ptr<backends::Work> work;                   ///< null if complete
  std::vector<at::Tensor> inputs;                         ///< contiguous
  std::vector<at::Tensor> outputs;                        ///< contiguous
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  ///< to, from: outputs with strides
};

/// An output that no step has made before the call.
struct FreshOutput {
  et_schema::SlotId slot = 0;
  c10::Device device{c10::kCPU};
};

/// The event that joins a communication.
enum class JoinedBy : std::uint8_t {
  kWait,      ///< a recorded wait
  kDataFlow,  ///< the first step that needs its result
  kEnd        ///< the end of the step, if there is no wait and no reader
};

/// A communication with prepared buffer descriptions; each call sets only their addresses.
struct BoundComm {
  backends::Call call;
  std::vector<et_schema::SlotId> inputs;
  std::vector<et_schema::SlotId> outputs;
  std::vector<FreshOutput> fresh;
  bool blocking = false;                ///< its start step completes it; there is no join
  JoinedBy joined_by = JoinedBy::kEnd;  ///< unused if `blocking`
  std::optional<et_schema::Timing> joined_at = {};  ///< of the wait that joins it, if recorded
  bool batch_goes_on = false;  ///< another call of its batch follows; they start together
  /// A send from a copy of its tensor, joined at the program's end.
  bool kept_apart = false;
  /// Position in the turns of et_schema::CommOrder; if unset, it runs when it starts.
  std::optional<std::uint32_t> turn;
  std::string group_name;
  int group_size = 1;
  OpenComm open;
  backends::Ended ended;  ///< result of the last call that was waited for
  // Used if communications complete one at a time:
  bool is_due = false;     ///< it has started and waits for its turn
  double others_s = 0;     ///< part of its start step's time spent on other communications' turns
  double elsewhere_s = 0;  ///< time of its own turn, spent in another one's start step
};

/// A program prepared for one device: flat arrays, integers and stack entries. The
/// et_schema::Program that it refers to must outlive it.
struct BoundProgram {
  std::vector<Step> steps;
  std::vector<StackEntry> entries;
  std::vector<StoredResult> stored;
  std::vector<et_schema::SlotId> dropped;
  std::vector<c10::IValue> constants;
  std::vector<SlotList> lists;
  std::vector<Substitute> substitutes;
  std::vector<BoundComm> comms;
  std::vector<std::uint32_t> turns;          ///< comms that have a turn, ordered by turn
  std::vector<et_schema::SlotId> externals;  ///< externals that a step reads or writes, ascending
  std::vector<et_schema::SlotId> states;     ///< externals that belong to optimizers, ascending
  std::size_t states_at = 0;                 ///< index of the first step that reads one of `states`
  std::vector<et_schema::SlotId> given;      ///< slots that kGive steps set, ascending
  /// Externals, and views of their memory, that operators write in place; ascending.
  std::vector<et_schema::SlotId> written;
  std::uint64_t live_peak_bytes = 0;  ///< peak of intermediates, computed from the slots' lifetimes
  et_schema::Losses losses;           ///< found while binding
};

}  // namespace understudy::replayer
