#include "comm_calls.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/pages/document/from_json.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/open_comms.h"
#include "et_schema/model/slot_extent.h"
#include "op_times.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Instruction;
using et_schema::Program;
using et_schema::SlotId;
using et_schema::Tensor;
using pages::counts, pages::ids, pages::texts;

std::uint64_t bytes_of(const std::vector<const Tensor*>& tensors) {
  std::uint64_t bytes = 0;
  for (const Tensor* tensor : tensors) {
    bytes += tensor_bytes(*tensor);
  }
  return bytes;
}

std::int64_t bytes_of(const Program& program, const std::vector<SlotId>& slots) {
  std::int64_t bytes = 0;
  for (const SlotId slot : slots) {
    bytes += element_count(program.slots[slot]) * item_size(program.slots[slot].dtype);
  }
  return bytes;
}

/// Returns how a reduction is known: `why`, "recorded" if `why` is empty, or "not recorded".
Json told_by(const std::string& reduce_op, const std::string& why) {
  return reduce_op.empty() ? Json("not recorded") : Json(why.empty() ? "recorded" : why);
}

/// Returns "3", the batch's number on its rank; "alone" for a single message; null for a single
/// collective, or for a message if it is not recorded.
Json batch_of(const et_schema::CommInfo& call, std::size_t& batches) {
  if (!call.in_batch) {
    return {};
  }
  if (!*call.in_batch) {
    return "alone";
  }
  batches += call.joins_batch ? 0 : 1;
  return fmt::format("{}", batches);
}

/// Walks a program in the order of a replay.
class CallsOfProgram {
 public:
  CallsOfProgram(const Program& program, const std::vector<et_schema::ProcessGroup>& groups)
      : program_(program), groups_(groups), open_(program) {}

  Json list() {
    for (const Instruction& instruction : program_.instructions) {
      if (instruction.kind == et_schema::InstructionKind::kWait) {
        const std::string& why = instruction.comm->why;
        join(open_.take_waited(instruction), instruction,
             why.empty() ? "recorded wait" : why + " in the profile");
        continue;
      }
      join(open_.take_touched(touched_by(program_, instruction)), instruction,
           "needs what it gives or takes");
      if (is_communication(instruction)) {
        add(instruction);
      }
    }
    for (const std::uint32_t call : open_.take_all()) {
      calls_[call]["joined"] = "end of the step";
      calls_[call]["joined_why"] = "nothing joins it";
    }
    return std::move(calls_);
  }

 private:
  void add(const Instruction& instruction) {
    const et_schema::CommInfo& comm = *instruction.comm;
    const std::vector<SlotId> inputs = slots_of(instruction, 0);
    const std::vector<SlotId> outputs = slots_of(instruction, 1);
    const bool reduces = et_schema::traits(comm.kind).reduces;
    const bool is_blocking = et_schema::is_blocking(comm);
    const et_schema::ProcessGroup* group =
        comm.group < groups_.size() ? &groups_[comm.group] : nullptr;
    const auto number = static_cast<std::uint32_t>(calls_.size());
    const std::vector<SlotId>& typed = inputs.empty() ? outputs : inputs;
    calls_.push_back(
        {{"node", instruction.node_id},
         {"name", instruction.name},
         {"group", group == nullptr ? Json() : Json(group->name)},
         {"group_size", group == nullptr ? Json() : Json(group->size)},
         {"seq", comm.seq ? Json(*comm.seq) : Json()},
         {"batch", batch_of(comm, batches_)},
         {"dtype", typed.empty() ? Json() : Json(to_string(program_.slots[typed.front()].dtype))},
         {"in_bytes", bytes_of(program_, inputs)},
         {"out_bytes", bytes_of(program_, outputs)},
         {"reduce_op", reduces ? Json(comm.reduce_op) : Json()},
         {"reduce_op_why", reduces ? told_by(comm.reduce_op, comm.reduce_op_why) : Json()},
         {"asynchronous", is_blocking ? "no" : "yes"},
         {"asynchronous_why", !comm.why.empty() ? comm.why
                              : comm.is_async   ? "recorded"
                              : is_blocking     ? "a barrier"
                                                : "nothing says that it is not"},
         {"joined", is_blocking ? Json("at its call") : Json()},
         {"joined_why", is_blocking ? Json("synchronous") : Json()}});
    if (!is_blocking) {
      open_.start(number, instruction);
    }
  }

  void join(const std::vector<std::uint32_t>& calls, const Instruction& by,
            const std::string& why) {
    for (const std::uint32_t call : calls) {
      calls_[call]["joined"] = by.node_id == et_schema::kNoNodeId
                                   ? by.name
                                   : fmt::format("{}, node {}", by.name, by.node_id);
      calls_[call]["joined_why"] = why;
    }
  }

  const Program& program_;
  const std::vector<et_schema::ProcessGroup>& groups_;
  et_schema::OpenComms open_;
  std::size_t batches_ = 0;
  Json calls_ = Json::array();
};

}  // namespace

Json call_json(const et_schema::Node& node, const et_schema::CommCall& call, std::size_t& batches) {
  const Tensor* first = !call.inputs.empty()    ? call.inputs.front()
                        : !call.outputs.empty() ? call.outputs.front()
                                                : nullptr;
  const bool reduces = et_schema::traits(call.kind).reduces;
  Json json = {{"node", node.id},
               {"name", call.name},
               {"group", call.pg_name.empty() ? Json() : Json(call.pg_name)},
               {"group_size", call.group_size == 0 ? Json() : Json(call.group_size)},
               {"seq", call.seq ? Json(*call.seq) : Json()},
               {"batch", batch_of(call, batches)},
               {"dtype", first == nullptr ? Json() : Json(to_string(first->dtype))},
               {"in_bytes", bytes_of(call.inputs)},
               {"out_bytes", bytes_of(call.outputs)},
               {"reduce_op", reduces && !call.reduce_op.empty() ? Json(call.reduce_op) : Json()},
               {"reduce_op_why", reduces ? told_by(call.reduce_op, call.reduce_op_why) : Json()}};
  if (call.kind != et_schema::CommKind::kWait) {
    json["asynchronous"] = !call.is_async ? "not recorded" : *call.is_async ? "yes" : "no";
  }
  return json;
}

Json calls_json(const et_schema::Bench& bench, std::size_t rank) {
  return CallsOfProgram(bench.programs.of(rank), bench.groups).list();
}

pages::Section calls_section(const Json& document, CallDetail detail) {
  std::vector<pages::Column> columns = {texts("collective", "name"),
                                        ids("node"),
                                        ids("seq"),
                                        texts("batch"),
                                        counts("group size", "group_size"),
                                        counts("in bytes", "in_bytes"),
                                        counts("out bytes", "out_bytes"),
                                        ids("rank"),
                                        texts("dtype"),
                                        texts("group"),
                                        texts("reduction", "reduce_op"),
                                        texts("known by", "reduce_op_why"),
                                        texts("asynchronous")};
  if (detail == CallDetail::kDecided) {
    columns.insert(columns.end(), {texts("because", "asynchronous_why"),
                                   texts("joined by", "joined"), texts("which is", "joined_why")});
  }
  return {"calls",
          "Communication calls",
          {pages::table_at(document, "/ranks/*/calls", "Communication calls", std::move(columns))}};
}

}  // namespace understudy::cli
