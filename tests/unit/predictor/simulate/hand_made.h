#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predictor/calls/costs.h"
#include "predictor/simulate/job.h"
#include "predictor/simulate/simulate.h"
#include "testing/made_program.h"

namespace understudy::predictor::testing {

using et_schema::Argument;
using et_schema::CommKind;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;

using testing_programs::ref;

inline et_schema::ProcessGroup group(const std::string& name, std::vector<std::int64_t> ranks,
                                     std::int64_t size) {
  et_schema::ProcessGroup group;
  group.name = name;
  group.ranks = std::move(ranks);
  group.size = size;
  return group;
}

/// What an instruction of a hand-made program costs.
struct Times {
  std::int64_t gap_ns = 0;
  std::int64_t host_ns = 0;
  std::int64_t device_ns = 0;
  std::uint64_t launches = 0;  ///< 1 where there is device time and nothing else is said
};

/// Jobs made by hand, with the costs of their instructions. Slots are storages of their own.
class HandMade final : public Costs {
 public:
  /// The next instructions are of this program.
  void begin_program() { programs_.emplace_back(); }

  SlotId slot(const std::string& device, std::int64_t bytes = 4) {
    Program& program = programs_.back();
    program.storages.push_back({.device = et_schema::parse_device(device), .bytes = bytes});
    et_schema::Slot& slot = program.slots.emplace_back();
    slot.storage = static_cast<et_schema::StorageId>(program.storages.size() - 1);
    slot.dtype = et_schema::DType::kFloat32;
    slot.sizes = {bytes / 4};
    return static_cast<SlotId>(program.slots.size() - 1);
  }
  SlotId cpu(std::int64_t bytes = 4) { return slot("cpu", bytes); }
  SlotId cuda(std::int64_t bytes = 4) { return slot("cuda:0", bytes); }

  /// An operator that reads and writes these; on a stream of the device if one is given.
  Instruction& op(const std::string& name, const std::vector<SlotId>& reads,
                  const std::vector<SlotId>& writes, const Times& times,
                  std::optional<std::int64_t> stream = {}) {
    Instruction& instruction = add(InstructionKind::kOp, name, times);
    std::string schema = name + "(";
    for (const SlotId slot : reads) {
      instruction.args.push_back(ref(slot));
      schema += schema.ends_with('(') ? "Tensor self" : ", Tensor other";
    }
    for (const SlotId slot : writes) {
      instruction.results.push_back(ref(slot));
    }
    programs_.back().schemas.push_back(schema + ") -> Tensor");
    instruction.schema = static_cast<et_schema::SchemaId>(programs_.back().schemas.size() - 1);
    if (stream) {
      instruction.timing = et_schema::Timing{.stream = stream};
    }
    return instruction;
  }

  /// A communication in place, on the group's own stream.
  Instruction& comm(CommKind kind, const std::vector<SlotId>& tensors, std::int64_t host_ns,
                    std::int64_t moving_ns, bool is_async, et_schema::GroupId group = 0) {
    const bool is_message = et_schema::is_message(kind);
    Instruction& call = add(is_message ? InstructionKind::kP2p : InstructionKind::kCollective,
                            std::string(et_schema::to_string(kind)), {.host_ns = host_ns});
    Argument::List list;
    for (const SlotId slot : tensors) {
      list.push_back(ref(slot));
    }
    call.args = {{list}, {list}};
    call.comm.emplace();
    call.comm->kind = kind;
    call.comm->group = group;
    call.comm->is_async = is_async;
    moving_[call.node_id] = moving_ns;
    return call;
  }
  Instruction& message(CommKind kind, SlotId tensor, std::int64_t peer, std::int64_t moving_ns,
                       bool is_async = false) {
    Instruction& call = comm(kind, {tensor}, 0, moving_ns, is_async);
    call.comm->root_or_peer = peer;
    return call;
  }
  Instruction& wait(SlotId tensor, std::int64_t host_ns = 0) {
    Instruction& instruction = add(InstructionKind::kWait, "wait", {.host_ns = host_ns});
    instruction.args = {ref(tensor)};
    instruction.comm.emplace().kind = CommKind::kWait;
    return instruction;
  }

  Program& program() { return programs_.back(); }

  /// A rank for each number: the program that it runs.
  [[nodiscard]] Job job(std::vector<std::uint32_t> program_of) const {
    Job job;
    job.groups = {group("world", {}, static_cast<std::int64_t>(program_of.size()))};
    for (const Program& program : programs_) {
      job.programs.push_back(&program);
    }
    job.program_of = std::move(program_of);
    return job;
  }
  /// A rank for each program.
  [[nodiscard]] Job job() const {
    std::vector<std::uint32_t> programs(programs_.size());
    for (std::uint32_t i = 0; i < programs.size(); ++i) {
      programs[i] = i;
    }
    return job(std::move(programs));
  }

  [[nodiscard]] OperatorCost of_operator(const Program&,
                                         const Instruction& instruction) const override {
    const Times& times = times_.at(instruction.node_id);
    return {known(static_cast<double>(times.host_ns), "made"),
            known(static_cast<double>(times.device_ns), "made"),
            times.launches == 0 && times.device_ns > 0 ? 1 : times.launches};
  }
  [[nodiscard]] Estimate of_communication(const GroupComm& call) const override {
    return known(static_cast<double>(moving_.at(call.sides.front()->node_id)), "made");
  }
  [[nodiscard]] Estimate of_gap(const Program&, const Instruction& instruction) const override {
    return known(static_cast<double>(times_.at(instruction.node_id).gap_ns), "made");
  }

 private:
  Instruction& add(InstructionKind kind, const std::string& name, const Times& times) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.name = name;
    instruction.node_id = ++nodes_;
    times_[nodes_] = times;
    programs_.back().instructions.push_back(std::move(instruction));
    return programs_.back().instructions.back();
  }

  std::deque<Program> programs_;
  std::uint64_t nodes_ = 0;
  std::map<std::uint64_t, Times> times_;
  std::map<std::uint64_t, std::int64_t> moving_;
};

/// Nothing between a call and its kernel: times come out round.
inline SimulateOptions round_times() {
  SimulateOptions options;
  options.device = {.launch_ns = 0, .kernel_gap_ns = 0};
  return options;
}

/// One iteration from a standing start: it begins at 0.
inline SimulateOptions single_step() {
  SimulateOptions options = round_times();
  options.warmup = 0;
  options.iterations = 1;
  return options;
}

}  // namespace understudy::predictor::testing
