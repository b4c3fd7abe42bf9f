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

#include "backends/communicator.h"
#include "et_schema/model/program.h"
#include "replayer/dispatch/arguments.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// One thing the run loop does.
enum class StepKind : std::uint8_t {
  kCall,        ///< an operator through the dispatcher
  kSubstitute,  ///< a function of ours in place of an operator
  kAlias,       ///< another layout of a slot's memory
  kGive,        ///< a pre-made tensor for a slot: results that are pinned, or that nothing makes
  kStart,       ///< starts a communication
  kJoin         ///< waits for one
};

/// Where one entry of an operator's stack comes from.
struct StackEntry {
  enum class From : std::uint8_t {
    kConstant,  ///< constants[index]
    kSlot,      ///< slot `index`, which is read again later
    kLastUse,   ///< slot `index`, which is given away: nothing reads it later
    kList       ///< lists[index]
  };
  From from = From::kConstant;
  std::uint32_t index = 0;
};

/// Where an output on the stack goes.
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
  std::uint32_t index = 0;  ///< kSubstitute, kStart, kJoin: into the array of its kind
  std::optional<c10::OperatorHandle> handle;
  IndexRange entries;  ///< the stack
  IndexRange stored;
  IndexRange dropped;  ///< slots that die with this step
  /// What it replays; null for a join.
  const et_schema::Instruction* source = nullptr;
};

/// A communication under way: what it works on stays alive until it is joined. One that is never
/// joined, because of an exception, goes on in the backend until the process ends: its memory is
/// then never freed.
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

/// An output that nothing made before the call.
struct FreshOutput {
  et_schema::SlotId slot = 0;
  c10::Device device{c10::kCPU};
};

/// A communication with its buffers described; only their addresses are set for each call.
struct BoundComm {
  backends::Call call;
  std::vector<et_schema::SlotId> inputs;
  std::vector<et_schema::SlotId> outputs;
  std::vector<FreshOutput> fresh;
  bool blocking = false;              ///< done when its start step is done; it has no join
  bool kept_apart = false;            ///< a send of a copy, which is joined at the program's end
  std::optional<std::uint32_t> turn;  ///< et_schema::CommOrder's; none: when it is started
  std::string group_name;
  int group_size = 1;
  OpenComm open;
  // Where communications complete one at a time:
  bool is_due = false;     ///< started, and its turn has not come
  double others_s = 0;     ///< what others' turns took in its start step
  double elsewhere_s = 0;  ///< what its own turn took in another's start step
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
  std::vector<std::uint32_t> turns;          ///< comms that have a turn, in order of it
  std::vector<et_schema::SlotId> externals;  ///< that some step reads or writes, ascending
  std::vector<et_schema::SlotId> states;     ///< of the externals those of optimizers, ascending
  std::size_t states_at = 0;                 ///< the first step that reads one of them
  std::vector<et_schema::SlotId> given;      ///< that kGive steps hand out, ascending
  std::vector<et_schema::SlotId> written;    ///< externals that operators write in place, ascending
  std::uint64_t live_peak_bytes = 0;         ///< of intermediates, by the slots' lifetimes
  et_schema::Losses losses;                  ///< of binding
};

}  // namespace understudy::replayer
