#include "chakra_comms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <utility>

#include "chakra_values.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/json_text.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;
using et_schema::ChakraCollective;
using et_schema::CommInfo;
using et_schema::GroupId;

Argument list_of(const std::vector<std::int64_t>& integers) {
  Argument::List list;
  for (const std::int64_t integer : integers) {
    list.push_back({integer});
  }
  return {std::move(list)};
}

ChakraCollective collective_of(CommKind kind) {
  switch (kind) {
    case CommKind::kAllReduce:
      return ChakraCollective::kAllReduce;
    case CommKind::kBroadcast:
      return ChakraCollective::kBroadcast;
    case CommKind::kReduce:
      return ChakraCollective::kReduce;
    case CommKind::kAllGather:
    case CommKind::kAllGatherBase:
      return ChakraCollective::kAllGather;
    case CommKind::kReduceScatter:
    case CommKind::kReduceScatterBase:
      return ChakraCollective::kReduceScatter;
    case CommKind::kGather:
      return ChakraCollective::kGather;
    case CommKind::kScatter:
      return ChakraCollective::kScatter;
    case CommKind::kAllToAll:
    case CommKind::kAllToAllV:
      return ChakraCollective::kAllToAll;
    case CommKind::kBarrier:
    case CommKind::kSend:
    case CommKind::kRecv:
    case CommKind::kWait:
    case CommKind::kInit:
      break;  // callers pass only a barrier of these kinds
  }
  return ChakraCollective::kBarrier;
}

std::int64_t bytes_of_list(const Argument& argument, const et_schema::Program& program) {
  std::int64_t bytes = 0;
  et_schema::for_each_slot({argument},
                           [&](et_schema::SlotId slot) { bytes += bytes_of(program.slots[slot]); });
  return bytes;
}

/// Removes quotes, backslashes and control characters: ASTRA-sim does not unescape Python's texts.
std::string unquoted(std::string text) {
  std::erase_if(text, [](char c) {
    return c == '\'' || c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  });
  return text;
}

}  // namespace

std::vector<std::int64_t> ranks_of(const Bench& bench, GroupId group) {
  std::vector<std::int64_t> ranks = bench.groups[group].ranks;
  if (ranks.empty()) {
    ranks.resize(static_cast<std::size_t>(bench.recorded_world_size()));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  return ranks;
}

std::vector<Argument> recorded_arguments(const Instruction& instruction, const Bench& bench) {
  const CommInfo& comm = *instruction.comm;
  const bool is_wait = comm.kind == CommKind::kWait;
  std::vector<Argument> arguments;
  if (is_wait && !instruction.args.empty()) {
    arguments.push_back({Argument::List(instruction.args)});
  } else if (!is_wait && comm.kind != CommKind::kBarrier) {
    UNDERSTUDY_ASSERT(!instruction.args.empty());
    arguments.push_back(instruction.args[0]);
  }
  Argument sequence;
  if (comm.seq && is_wait && !comm.is_p2p) {
    sequence.value = *comm.seq;  // the trace does not record what it waits for
  } else if (comm.seq) {
    sequence.value =
        Argument::List{{*comm.seq}, {comm.is_p2p.value_or(et_schema::is_message(comm.kind))}};
  }
  Argument group{std::int64_t{0}};
  if (!is_wait || comm.names_group) {
    group.value =
        Argument::List{{std::to_string(comm.group)}, {bench.groups[comm.group].description}};
  }
  const auto ranks = static_cast<std::int64_t>(ranks_of(bench, comm.group).size());
  arguments.insert(arguments.end(), {sequence,
                                     group,
                                     {comm.root_or_peer},
                                     {instruction.name},
                                     list_of(comm.in_splits),
                                     list_of(comm.out_splits),
                                     {std::int64_t{-1}},
                                     {std::int64_t{-1}},
                                     {ranks}});
  if (comm.is_async) {
    arguments.push_back({*comm.is_async});
  }
  return arguments;
}

std::vector<Argument> recorded_results(const Instruction& instruction) {
  std::vector<Argument> results;
  if (instruction.kind != et_schema::InstructionKind::kWait && instruction.args.size() > 1) {
    results.push_back(instruction.args[1]);
  }
  return results;
}

ChakraComm ChakraCommTable::next(const Instruction& instruction,
                                 const et_schema::Program& program) {
  const CommInfo& info = *instruction.comm;
  ChakraComm comm;
  const bool takes_alone = info.kind == CommKind::kRecv || info.kind == CommKind::kScatter;
  if (instruction.args.size() > 1) {
    comm.bytes = bytes_of_list(instruction.args[takes_alone ? 1 : 0], program);
  }
  if (!et_schema::is_message(info.kind)) {
    comm.collective = collective_of(info.kind);
    return comm;
  }
  const bool is_send = info.kind == CommKind::kSend;
  const std::vector<std::int64_t> ranks = ranks_of(bench_, info.group);
  const auto peer = static_cast<std::size_t>(info.root_or_peer);
  const std::int64_t other = peer < ranks.size() ? ranks[peer] : info.root_or_peer;
  const std::int64_t source = is_send ? rank_ : other;
  const std::int64_t destination = is_send ? other : rank_;
  const auto groups = static_cast<std::int32_t>(bench_.groups.size());
  comm.type = is_send ? et_schema::ChakraNodeType::kSend : et_schema::ChakraNodeType::kRecv;
  comm.source = static_cast<std::int32_t>(source);
  comm.destination = static_cast<std::int32_t>(destination);
  comm.tag =
      sent_[{source, destination, info.group}]++ * groups + static_cast<std::int32_t>(info.group);
  return comm;
}

std::string process_groups_json(const Bench& bench) {
  std::string json = "[";
  for (GroupId id = 0; id < bench.groups.size(); ++id) {
    const et_schema::ProcessGroup& group = bench.groups[id];
    json += id == 0 ? "" : ", ";
    json += fmt::format(R"({{"pg_name": "{}", "pg_desc": )", id);
    et_schema::append_json_string(json, unquoted(id == 0 ? "default_pg" : group.description));
    json += R"(, "backend_config": )";
    et_schema::append_json_string(json, unquoted(group.backend));
    const std::vector<std::int64_t> ranks = ranks_of(bench, id);
    json +=
        fmt::format(R"(, "ranks": [{}], "group_size": {}}})", fmt::join(ranks, ", "), ranks.size());
  }
  return json + "]";
}

std::string comm_groups_json(const Bench& bench) {
  std::string json = "{";
  for (GroupId id = 1; id < bench.groups.size(); ++id) {
    json += fmt::format("{}\n  \"{}\": [{}]", id == 1 ? "" : ",", id,
                        fmt::join(ranks_of(bench, id), ", "));
  }
  return json + (bench.groups.size() > 1 ? "\n}\n" : "}\n");
}

}  // namespace understudy::generator
