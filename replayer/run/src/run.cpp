#include "replayer/run/run.h"

#include <ATen/ops/_efficientzerotensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "replayer/device/device.h"
#include "replayer/dispatch/extent.h"
#include "replayer/dispatch/layout.h"

namespace understudy::replayer {

using et_schema::DeviceType;

namespace {

// Room for twice the arguments of the largest known operators.
constexpr std::size_t kStackRoom = 64;

/// Returns the tensor in the call's memory: on the device, or a copy on the host.
at::Tensor placed(const at::Tensor& tensor, const backends::Call& call, c10::Device device) {
  return tensor.to(call.memory == DeviceType::kCuda ? device : c10::Device(c10::kCPU)).contiguous();
}

std::vector<SlotId> slots_of(const BoundComm& comm) {
  std::vector<SlotId> slots = comm.inputs;
  slots.insert(slots.end(), comm.outputs.begin(), comm.outputs.end());
  return slots;
}

/// Returns the tensor's memory. Throws if an operator has returned a smaller tensor than recorded.
void* data_of(const at::Tensor& tensor, const backends::Buffer& buffer) {
  const auto bytes = static_cast<std::size_t>(buffer.count * et_schema::item_size(buffer.dtype));
  if (tensor.nbytes() < bytes) {
    throw et_schema::bad_input("a communication's tensor is smaller than what it moves",
                               {.expected = fmt::format("{} bytes", bytes),
                                .got = describe(tensor),
                                .hint = "The benchmark is damaged, or made to read what is not "
                                        "its own."});
  }
  return tensor.data_ptr();
}

void complete(OpenComm& open) {
  for (auto& [to, from] : open.copies) {
    to.copy_(from);
  }
  open.copies.clear();
  open.inputs.clear();
  open.outputs.clear();
}

}  // namespace

OpenComm::~OpenComm() {
  if (work != nullptr || !inputs.empty() || !outputs.empty()) {
    static auto& abandoned = *std::make_unique<std::vector<OpenComm>>().release();
    abandoned.push_back(std::move(*this));
  }
}

Machine::Machine(const et_schema::Program& program, backends::Communicator& communicator)
    : program_(program),
      communicator_(communicator),
      own_slots_(program.slots.size()),
      own_given_(program.slots.size()),
      slots_(own_slots_),
      given_(own_given_) {
  stack_.reserve(kStackRoom);
}

Machine::Machine(Machine& owner)
    : program_(owner.program_),
      communicator_(owner.communicator_),
      device_(owner.device_),
      slots_(owner.slots_),
      given_(owner.given_) {
  stack_.reserve(kStackRoom);
}

void Machine::connect(BoundProgram& program, c10::Device device) {
  device_ = device;
  std::vector<backends::Call> calls;
  for (BoundComm& comm : program.comms) {
    const std::vector<SlotId> slots = slots_of(comm);
    const bool is_on_device =
        device.is_cuda() && std::all_of(slots.begin(), slots.end(), [&](SlotId slot) {
          const Slot& layout = program_.slots[slot];
          return map_device(program_.storages[layout.storage].device, device) == device;
        });
    comm.call.memory = is_on_device ? DeviceType::kCuda : DeviceType::kCpu;
    if (!communicator_.takes(comm.call)) {
      comm.call.memory = DeviceType::kCpu;
    }
    calls.push_back(comm.call);
  }
  communicator_.prepare(calls);
}

void Machine::prime(BoundProgram& program) const {
  for (SlotList& list : program.lists) {
    for (const auto& [position, slot] : list.elements) {
      if (program_.slots[slot].external) {
        list.set(position, slots_[slot]);
      }
    }
  }
}

void Machine::fill_list(BoundProgram& program, const StackEntry& entry) {
  SlotList& list = program.lists[entry.index];
  for (const auto& [position, slot] : list.elements) {
    if (!program_.slots[slot].external) {
      list.set(position, slots_[slot]);
    }
  }
  stack_.push_back(list.boxed);
}

void Machine::empty_list(SlotList& list) {
  for (const auto& [position, slot] : list.elements) {
    if (!program_.slots[slot].external) {
      list.set(position, at::Tensor());
    }
  }
}

void Machine::drop_kept(const BoundProgram& program, const Step& step) {
  for (std::uint32_t i = step.entries.begin; i < step.entries.end; ++i) {
    if (program.entries[i].from == StackEntry::From::kLastUse) {
      slots_[program.entries[i].index].reset();
    }
  }
}

void Machine::refuse_outside(const Step& step) const {
  replayer::refuse_outside(stack_, step.source->name, step.source->node_id);
}

void Machine::refuse_unsafe(const Step& step) const {
  if (std::optional<std::string> problem = step.check(stack_)) {
    throw et_schema::bad_input(
        "an operator would reach beyond its tensors",
        {.node = step.source->node_id,
         .field = step.source->name,
         .expected = "numbers that lie within them, as in the first iteration",
         .got = *std::move(problem),
         .hint = "The benchmark is damaged, or made to reach what is not "
                 "its own."});
  }
}

void Machine::perform(BoundProgram& program, const Step& step) {
  switch (step.kind) {
    case StepKind::kAlias:
      make_alias(program, step);
      break;
    case StepKind::kGive:
      slots_[step.index] = given_[step.index];
      break;
    case StepKind::kStart: {
      const RunningStep running(step);
      start(program, program.comms[step.index]);
      break;
    }
    case StepKind::kJoin: {
      const RunningStep running(step);
      join(program.comms[step.index]);
      break;
    }
    case StepKind::kCall:
    case StepKind::kSubstitute:
      UNDERSTUDY_ASSERT(false);
  }
}

void Machine::make_alias(const BoundProgram& program, const Step& step) {
  const SlotId from = program.entries[step.entries.begin].index;
  const at::Tensor& base = slots_[from];
  const Slot& layout = program_.slots[step.index];
  const Slot& recorded = program_.slots[from];
  // If the storage differs from the recorded one, the base may have another offset in it.
  const std::int64_t offset = recorded.dtype == layout.dtype
                                  ? base.storage_offset() + layout.offset - recorded.offset
                                  : layout.offset;
  TORCH_CHECK(fits(layout, offset, base.storage().nbytes()), "a view (", describe(layout),
              ", offset ", offset, ") lies outside of the ", base.storage().nbytes(),
              " bytes of the tensor it is a view of");
  // A view of a quantised tensor keeps its scale. Zero tensors have no memory to view.
  at::Tensor view = base._is_zerotensor() ? at::_efficientzerotensor(layout.sizes, base.options())
                    : base.is_quantized() && recorded.dtype == layout.dtype
                        ? base.as_strided(layout.sizes, layout.strides, offset)
                        : view_storage(base.storage(), layout, offset);
  if (program.entries[step.entries.begin].from == StackEntry::From::kLastUse) {
    slots_[from].reset();
  }
  slots_[step.index] = std::move(view);
}

void Machine::prepare(BoundComm& comm) {
  OpenComm& open = comm.open;
  for (const FreshOutput& output : comm.fresh) {
    if (!slots_[output.slot].defined()) {  // a graph's tensors stay where they are
      slots_[output.slot] = make_tensor(program_.slots[output.slot], output.device);
    }
  }
  for (std::size_t i = 0; i < comm.outputs.size(); ++i) {
    const at::Tensor& output = slots_[comm.outputs[i]];
    open.outputs.push_back(placed(output, comm.call, device_));
    if (!open.outputs.back().is_same(output)) {
      open.copies.emplace_back(output, open.outputs.back());
    }
    comm.call.outputs[i].data = data_of(open.outputs.back(), comm.call.outputs[i]);
  }
  for (std::size_t i = 0; i < comm.inputs.size(); ++i) {
    // An in-place call reads the copy made for its output.
    const auto same = std::find(comm.outputs.begin(), comm.outputs.end(), comm.inputs[i]);
    open.inputs.push_back(
        same == comm.outputs.end()
            ? placed(slots_[comm.inputs[i]], comm.call, device_)
            : open.outputs[static_cast<std::size_t>(same - comm.outputs.begin())]);
    if (comm.kept_apart) {
      open.inputs.back() = open.inputs.back().clone();
    }
    comm.call.inputs[i].data = data_of(open.inputs.back(), comm.call.inputs[i]);
  }
}

void Machine::start(BoundProgram& program, BoundComm& comm) {
  prepare(comm);
  comm.others_s = 0;
  comm.elsewhere_s = 0;
  const bool is_message = et_schema::is_message(comm.call.kind);
  const bool takes_turns = blocking_ && comm.turn;
  const bool is_in_batch = comm.call.path == backends::MessagePath::kBatch;
  if (!is_message && !takes_turns && (blocking_ || (comm.blocking && !is_in_batch))) {
    communicator_.run(comm.call);
    complete(comm.open);
    return;
  }
  if (is_message || !takes_turns) {
    begin(comm);
  }
  if (takes_turns) {
    comm.is_due = true;
    take_turns(program, comm);
  }
  if (comm.blocking && !comm.batch_goes_on) {
    join(comm);
  }
}

void Machine::begin(BoundComm& comm) {
  if (comm.call.path != backends::MessagePath::kBatch) {
    comm.open.work = communicator_.start(comm.call);
    return;
  }
  if (!batch_.empty() && batch_.front()->call.group != comm.call.group) {
    begin_batch();  // the open batch is another thread's
  }
  batch_.push_back(&comm);
  if (!comm.batch_goes_on) {
    begin_batch();
  }
}

void Machine::begin_batch() {
  const std::vector<BoundComm*> batch = std::exchange(batch_, {});
  std::vector<const backends::Call*> calls;
  for (const BoundComm* const comm : batch) {
    calls.push_back(&comm->call);
  }
  std::vector<std::unique_ptr<backends::Work>> works = communicator_.start_batch(calls);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i]->open.work = std::move(works[i]);
  }
  for (BoundComm* const comm : batch) {
    if (comm->blocking) {
      join(*comm);
    }
  }
}

void Machine::take_turns(BoundProgram& program, BoundComm& here) {
  using Clock = std::chrono::steady_clock;
  while (next_turn_ < program.turns.size() && program.comms[program.turns[next_turn_]].is_due) {
    BoundComm& comm = program.comms[program.turns[next_turn_++]];
    comm.is_due = false;
    if (et_schema::is_message(comm.call.kind)) {
      continue;  // started already
    }
    const Clock::time_point begin = Clock::now();
    communicator_.run(comm.call);
    complete(comm.open);
    if (comm.call.memory == DeviceType::kCuda) {
      synchronize_stream(device_);
    }
    if (&comm != &here) {
      comm.elsewhere_s = std::chrono::duration<double>(Clock::now() - begin).count();
      here.others_s += comm.elsewhere_s;
    }
  }
  if (next_turn_ == program.turns.size()) {
    next_turn_ = 0;
  }
}

void Machine::join(BoundComm& comm) {
  if (std::ranges::find(batch_, &comm) != batch_.end()) {
    begin_batch();  // a step needs it before the original's batch ended
  }
  if (comm.open.work != nullptr) {
    comm.ended = communicator_.wait(std::move(comm.open.work));
    complete(comm.open);
  }
  UNDERSTUDY_ASSERT(comm.open.inputs.empty() && comm.open.outputs.empty());  // its turn is over
}

}  // namespace understudy::replayer
