#include "world_rules.h"

#include <set>
#include <string>

#include "et_schema/model/comm_traits.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

std::int64_t bytes_of(const Program& program, const Instruction& call, std::size_t argument) {
  std::int64_t bytes = 0;
  if (argument < call.args.size()) {
    et_schema::for_each_slot({call.args[argument]}, [&](SlotId slot) {
      bytes += element_count(program.slots[slot]) * et_schema::item_size(program.slots[slot].dtype);
    });
  }
  return bytes;
}

template <typename Instructions>
std::vector<const Instruction*> calls_of(const Instructions& instructions) {
  std::vector<const Instruction*> calls;
  each_communication(instructions, [&](const Instruction& call) {
    if (et_schema::traits(call.comm->kind).sizes != et_schema::CommSizes::kNoCommunication) {
      calls.push_back(&call);
    }
  });
  return calls;
}

std::string rule_text(const WorldPlan& plan, et_schema::GroupId id,
                      const et_schema::ScaledGroup& group) {
  if (!plan.grows(id)) {
    return group.sent_bytes_before == group.sent_bytes_after
               ? "keeps its ranks, and its calls their sizes"
               : "keeps its ranks; parts of sharded parameters are smaller or larger";
  }
  switch (plan.kinds()[id]->kind) {
    case GroupKind::kSharded:
      return "what is gathered and scattered keeps its size, a rank's part is a smaller or larger "
             "one; sums keep their size";
    case GroupKind::kExpert:
      return "each rank sends as many rows as it did, to all ranks; sums keep their size";
    case GroupKind::kData:
    case GroupKind::kTensor:
    case GroupKind::kPipeline:
      break;
  }
  return "sums and broadcasts keep their size";
}

}  // namespace

void WorldRules::note(const Program& recorded, const Program& program) {
  const std::vector<const Instruction*> before = calls_of(recorded.instructions);
  const std::vector<const Instruction*> after = calls_of(program.instructions);
  std::set<et_schema::GroupId> now;
  for (std::size_t i = 0; i < before.size() && i < after.size(); ++i) {
    const et_schema::GroupId id = before[i]->comm->group;
    et_schema::ScaledGroup& group = groups_[id];
    if (group.calls > 0 && !now.contains(id)) {
      continue;
    }
    now.insert(id);
    ++group.calls;
    group.sent_bytes_before += bytes_of(recorded, *before[i], 0);
    group.sent_bytes_after += bytes_of(program, *after[i], 0);
    group.received_bytes_before += bytes_of(recorded, *before[i], 1);
    group.received_bytes_after += bytes_of(program, *after[i], 1);
  }
}

std::vector<et_schema::ScaledGroup> WorldRules::groups() const {
  std::vector<et_schema::ScaledGroup> all;
  for (et_schema::GroupId id = 0; id < groups_.size(); ++id) {
    if (groups_[id].calls == 0) {
      continue;
    }
    const DecidedKind& decided = *plan_.kinds()[id];
    et_schema::ScaledGroup& group = all.emplace_back(groups_[id]);
    group.name = plan_.bench().groups[id].name;
    group.description = plan_.bench().groups[id].description;
    group.kind = std::string(to_string(decided.kind));
    group.why = decided.why;
    group.rule = rule_text(plan_, id, group);
    group.ranks_before = static_cast<std::int64_t>(plan_.before().ranks_of(id).size());
    group.ranks_after = plan_.count_after(id);
  }
  return all;
}

}  // namespace understudy::generator
