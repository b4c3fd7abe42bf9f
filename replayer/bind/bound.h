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

#include "et_schema/model/program.h"
#include "replayer/backends/interface/communicator.h"
#include "replayer/dispatch/arguments.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// The kinds of actions in the run loop.
enum class StepKind : std::uint8_t {
  kCall,        ///< an operator through the dispatcher
  kSubstitute,  ///< a substitute in place of an operator
  kAlias,       ///< another layout of a slot's memory
  kGive,   ///< a slot gets a tensor made before the run: a pinned result, or one that nothing makes
  kStart,  ///< starts a communication
  kJoin    ///< waits for a communication
};

/// The source of one entry of an operator's stack.
struct StackEntry {
  enum class From : std::uint8_t {
    kConstant,  ///< constants[index]
    kSlot,      ///< slot `index`, which is read again later and stays
    kLastUse,   ///< slot `index`, which is given away: nothing reads it later
    kView,  ///< another tensor of slot `index`, whose layout the call changes, and not the slot's
    kList   ///< lists[index]
  };
  From from = From::kConstant;
  std::uint32_t index = 0;
};

/// The place for an output on the stack.
struct StoredResult {
  std::uint32_t position = 0;            ///< on the stack
  std::optional<std::uint32_t> element;  ///< of the list at that position
  et_schema::SlotId slot = 0;
};

/// [begin, end) of one of the program's arrays.
struct IndexRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct Step {
  StepKind kind = StepKind::kCall;
  std::uint32_t index = 0;  ///< kSubstitute, kStart, kJoin: position in the array of that kind
  std::optional<c10::OperatorHandle> handle;
  IndexRange entries;  ///< stack entries
  IndexRange stored;
  IndexRange dropped;  ///< slots that die with this step
  /// The instruction that it replays; null for a join.
  const et_schema::Instruction* source = nullptr;
  /// Its tensors are checked at every call (replayer/dispatch/extent.h). The trial finds that out.
  bool is_watched = false;
};

/// A communication under way; its tensors stay alive until it is joined. One that is never joined,
/// because of an exception, continues in the backend until the process ends: then its memory is
/// never freed.
struct OpenComm {
  OpenComm() = default;
  OpenComm(OpenComm&&) noexcept = default;
  OpenComm& operator=(OpenComm&&) noexcept = default;
  ~OpenComm();

  std::unique_ptr<backends::Work> work;                   ///< null: complete
  std::vector<at::Tensor> inputs;                         ///< contiguous
  std::vector<at::Tensor> outputs;                        ///< contiguous
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  ///< to, from: outputs with strides
};

/// An output that nothing has made before the call.
struct FreshOutput {
  et_schema::SlotId slot = 0;
  c10::Device device{c10::kCPU};
};

/// What tells where a communication is joined.
enum class JoinedBy : std::uint8_t {
  kWait,      ///< a recorded wait
  kDataFlow,  ///< what first needs its result
  kEnd        ///< neither: the end of the step
};

/// A communication with its buffers described; each call sets only their addresses.
struct BoundComm {
  backends::Call call;
  std::vector<et_schema::SlotId> inputs;
  std::vector<et_schema::SlotId> outputs;
  std::vector<FreshOutput> fresh;
  bool blocking = false;                            ///< its start step completes it; it has no join
  JoinedBy joined_by = JoinedBy::kEnd;              ///< unless it is blocking
  std::optional<et_schema::Timing> joined_at = {};  ///< of the wait that joins it, if recorded
  bool batch_goes_on = false;                       ///< it starts with the next one that starts
  bool kept_apart = false;  ///< a send that uses a copy, which is joined at the program's end
  /// Position in et_schema::CommOrder's turns; none: it runs when it starts.
  std::optional<std::uint32_t> turn;
  std::string group_name;
  int group_size = 1;
  OpenComm open;
  backends::Ended ended;  ///< the last call that was waited for
  // Used if communications complete one at a time:
  bool is_due = false;     ///< it has started, and its turn has not come
  double others_s = 0;     ///< time of its start step that other communications' turns took
  double elsewhere_s = 0;  ///< time that its own turn took in another one's start step
};

/// A program ready to run on one device: flat arrays, integers, prepared stacks. It refers to the
/// et_schema::Program it was made of, which must outlive it.
struct BoundProgram {
  std::vector<Step> steps;
  std::vector<StackEntry> entries;
  std::vector<StoredResult> stored;
  std::vector<et_schema::SlotId> dropped;
  std::vector<c10::IValue> constants;
  std::vector<SlotList> lists;
  std::vector<Substitute> substitutes;
  std::vector<BoundComm> comms;
  std::vector<std::uint32_t> turns;          ///< comms that have a turn, in the order of turns
  std::vector<et_schema::SlotId> externals;  ///< those that some step reads or writes, ascending
  std::vector<et_schema::SlotId> states;     ///< externals that belong to optimizers, ascending
  std::size_t states_at = 0;                 ///< the first step that reads one of them
  std::vector<et_schema::SlotId> given;      ///< slots that kGive steps hand out, ascending
  std::vector<et_schema::SlotId> written;    ///< externals that operators write in place, ascending
  std::uint64_t live_peak_bytes = 0;         ///< peak of intermediates, by the slots' lifetimes
  et_schema::Losses losses;                  ///< losses of binding
};

}  // namespace understudy::replayer
