#include "group_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "et_schema/base/enum_names.h"
#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/slot_extent.h"

namespace understudy::generator {
namespace {

using et_schema::CommKind;
using et_schema::CommSizes;
using et_schema::Instruction;
using et_schema::Program;
using et_schema::SlotId;

constexpr et_schema::EnumNames<GroupKind::kPipeline> kKindNames("data", "sharded", "expert",
                                                                "tensor", "pipeline");

/// Words in group descriptions of PyTorch's meshes, torchtitan, Megatron and others. More specific
/// words come first: "dp_shard" is sharded.
struct Word {
  std::string_view word;
  GroupKind kind;
};
constexpr std::array<Word, 22> kWords = {
    {{"pp", GroupKind::kPipeline},       {"pipe", GroupKind::kPipeline},
     {"pipeline", GroupKind::kPipeline}, {"tp", GroupKind::kTensor},
     {"tensor", GroupKind::kTensor},     {"cp", GroupKind::kTensor},
     {"context", GroupKind::kTensor},    {"sp", GroupKind::kTensor},
     {"sequence", GroupKind::kTensor},   {"ep", GroupKind::kExpert},
     {"expert", GroupKind::kExpert},     {"experts", GroupKind::kExpert},
     {"moe", GroupKind::kExpert},        {"fsdp", GroupKind::kSharded},
     {"shard", GroupKind::kSharded},     {"sharded", GroupKind::kSharded},
     {"zero", GroupKind::kSharded},      {"dp", GroupKind::kData},
     {"ddp", GroupKind::kData},          {"data", GroupKind::kData},
     {"replicate", GroupKind::kData},    {"hsdp", GroupKind::kData}}};

std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char letter : std::string(text) + " ") {
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

/// Properties of a group's calls.
struct CallFacts {
  bool has_calls = false;
  bool has_messages = false;
  bool has_exchanges = false;
  bool gathers = false;   ///< whole tensors from equal parts
  bool scatters = false;  ///< whole tensors into equal parts
  bool are_parts_flat = true;
  std::string shards;                    ///< the evidence that parameters are sharded
  std::int64_t summed_bytes = 0;         ///< of all-reduces
  std::int64_t summed_layers_bytes = 0;  ///< of all-reduces whose sums are inputs of layers
};

bool computes_layers(std::string_view op) {
  static const std::set<std::string_view> kLayers = {"matmul",  "convolution", "attention",
                                                     "softmax", "recurrent",   "normalization"};
  return kLayers.contains(et_schema::op_class(op));
}

/// Finds all-reduces whose sums are inputs of layers: sums of activations. Sums of gradients are
/// inputs of optimizers only.
class SummedInLayers {
 public:
  explicit SummedInLayers(const Program& program) : program_(program) {}

  /// Adds the bytes of all-reduces to their groups' facts.
  void add(std::vector<CallFacts>& facts) {
    for (const Instruction& instruction : program_.instructions) {
      follow(instruction);
    }
    for (const Sum& sum : sums_) {
      facts[sum.group].summed_bytes += sum.bytes;
      facts[sum.group].summed_layers_bytes += sum.is_in_layers ? sum.bytes : 0;
    }
  }

 private:
  struct Sum {
    et_schema::GroupId group = 0;
    std::int64_t bytes = 0;
    bool is_in_layers = false;
  };

  void follow(const Instruction& instruction) {
    if (instruction.comm) {
      if (instruction.comm->kind == CommKind::kAllReduce) {
        begin(instruction);
      }
      return;
    }
    std::set<std::size_t> met;
    et_schema::for_each_slot(instruction.args, [&](SlotId slot) {
      const auto found = held_.find(program_.slots[slot].storage);
      if (found != held_.end()) {
        met.insert(found->second.begin(), found->second.end());
      }
    });
    if (met.empty()) {
      return;
    }
    for (const std::size_t sum : met) {
      sums_[sum].is_in_layers = sums_[sum].is_in_layers || computes_layers(instruction.name);
    }
    // Writes to externals (parameters, optimizer states) are for the next step: they pass no sum
    // on.
    et_schema::for_each_slot(instruction.results, [&](SlotId slot) {
      const et_schema::StorageId storage = program_.slots[slot].storage;
      if (!program_.storages[storage].external) {
        held_[storage].insert(met.begin(), met.end());
      }
    });
  }

  void begin(const Instruction& call) {
    Sum sum{call.comm->group, 0, false};
    for (const et_schema::Argument& outputs : std::span(call.args).last(1)) {
      et_schema::for_each_slot({outputs}, [&](SlotId slot) {
        const et_schema::Slot& layout = program_.slots[slot];
        sum.bytes += element_count(layout) * et_schema::item_size(layout.dtype);
        held_[layout.storage].insert(sums_.size());
      });
    }
    sums_.push_back(sum);
  }

  const Program& program_;
  std::vector<Sum> sums_;
  std::map<et_schema::StorageId, std::set<std::size_t>> held_;  ///< storage → sums in it
};

void add_call(const Program& program, const Instruction& call, CallFacts& facts) {
  const CommKind kind = call.comm->kind;
  const CommSizes sizes = et_schema::traits(kind).sizes;
  facts.has_calls = true;
  facts.has_messages = facts.has_messages || et_schema::is_message(kind);
  facts.has_exchanges = facts.has_exchanges || is_exchange(call);
  const bool is_gather = sizes == CommSizes::kOutputOfAll || sizes == CommSizes::kOutputPerRank;
  const bool is_scatter = sizes == CommSizes::kInputOfAll || sizes == CommSizes::kInputPerRank;
  facts.gathers = facts.gathers || is_gather;
  facts.scatters = facts.scatters || is_scatter;
  if ((is_gather || is_scatter) && call.args.size() == 2) {
    et_schema::for_each_slot({call.args[is_gather ? 0 : 1]}, [&](SlotId slot) {
      facts.are_parts_flat = facts.are_parts_flat && program.slots[slot].sizes.size() == 1;
    });
  }
  if (call.comm->why == et_schema::kShardedDataParallel ||
      call.comm->reduce_op_why == et_schema::kShardedDataParallel) {
    facts.shards = "FSDP's labels around its calls";
  }
}

/// Finds FSDP2's own operators beside gathers and scatters.
void find_shard_operators(const Program& program, std::vector<CallFacts>& facts) {
  const auto named = std::ranges::find_if(
      program.instructions, [](const Instruction& one) { return one.name.starts_with("fsdp::"); });
  for (CallFacts& one : facts) {
    if (named != program.instructions.end() && one.gathers && one.are_parts_flat) {
      one.shards = fmt::format("{} beside its calls", named->name);
    }
  }
}

std::vector<CallFacts> facts_of(const et_schema::Bench& bench) {
  std::vector<CallFacts> facts(bench.groups.size());
  for (const Program& program : bench.programs) {
    each_communication(program.instructions, [&](const Instruction& call) {
      if (et_schema::traits(call.comm->kind).sizes != CommSizes::kNoCommunication) {
        add_call(program, call, facts[call.comm->group]);
      }
    });
    SummedInLayers(program).add(facts);
    find_shard_operators(program, facts);
  }
  return facts;
}

std::optional<DecidedKind> kind_said(const et_schema::ProcessGroup& group, const GroupKinds& said) {
  for (const std::string& name : {group.name, group.description}) {
    if (const auto found = said.find(name); !name.empty() && found != said.end()) {
      return DecidedKind{found->second,
                         fmt::format("--group {}={}", name, to_string(found->second))};
    }
  }
  return std::nullopt;
}

std::optional<DecidedKind> kind_described(const et_schema::ProcessGroup& group) {
  const std::set<std::string> words = words_of(group.description);
  const auto* const found = std::ranges::find_if(
      kWords, [&](const Word& row) { return words.contains(std::string(row.word)); });
  if (found == kWords.end()) {
    return std::nullopt;
  }
  return DecidedKind{found->kind, fmt::format("described as '{}'", group.description)};
}

DecidedKind kind_called(const et_schema::ProcessGroup& group, const CallFacts& facts,
                        bool keeps_size) {
  if (facts.has_messages) {
    return {GroupKind::kPipeline, "it sends and receives from rank to rank"};
  }
  if (facts.has_exchanges) {
    return {GroupKind::kExpert, "it exchanges by all_to_all"};
  }
  if (!facts.shards.empty()) {
    return {GroupKind::kSharded, facts.shards};
  }
  if (facts.gathers && facts.scatters) {
    return facts.are_parts_flat
               ? DecidedKind{GroupKind::kSharded, "it gathers and scatters flat parts"}
               : DecidedKind{GroupKind::kTensor, "it gathers and scatters activations"};
  }
  if ((facts.gathers || facts.scatters) && !keeps_size) {
    throw et_schema::bad_input(
        kNoOtherWorld,
        {.field = fmt::format("group '{}'", group.name),
         .expected = "calls, or a description, that tell what its ranks divide",
         .got = fmt::format("{} alone", facts.gathers ? "gathers" : "scatters"),
         .hint = fmt::format("--group {0}=sharded: parameters of which each rank has a part (FSDP, "
                             "ZeRO); --group {0}=data: data that each rank adds",
                             group.name)});
  }
  if (facts.summed_layers_bytes * 2 > facts.summed_bytes) {
    return {GroupKind::kTensor, "layers compute on most of what it sums"};
  }
  return {GroupKind::kData, facts.summed_bytes > 0 ? "no layer computes on most of what it sums"
                                                   : "it only spreads what one rank has"};
}

void refuse_unknown(const et_schema::Bench& bench, const GroupKinds& said) {
  for (const auto& [name, kind] : said) {
    const bool is_there = std::ranges::any_of(bench.groups, [&name = name](const auto& group) {
      return group.name == name || group.description == name;
    });
    if (!is_there) {
      std::string names;
      for (const et_schema::ProcessGroup& group : bench.groups) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", group.name);
      }
      throw et_schema::usage_error("no such process group",
                                   {.field = "--group", .expected = names, .got = name});
    }
  }
}

}  // namespace

bool is_exchange(const Instruction& call) {
  const CommSizes sizes = et_schema::traits(call.comm->kind).sizes;
  return sizes == CommSizes::kEqualParts || sizes == CommSizes::kSplits;
}

std::string_view to_string(GroupKind kind) {
  return kKindNames[kind];
}

void add_group_kind(std::string_view text, GroupKinds& kinds) {
  const std::size_t at = std::min(text.rfind('='), text.size());
  const auto kind = kKindNames.find(text.substr(std::min(at + 1, text.size())));
  if (at == 0 || at == text.size() || !kind) {
    throw et_schema::usage_error(
        "a kind of group that cannot be read",
        {.field = "--group",
         .expected = "NAME=data, NAME=sharded, NAME=expert, NAME=tensor or NAME=pipeline",
         .got = std::string(text)});
  }
  kinds[std::string(text.substr(0, at))] = *kind;
}

DecidedKinds decide_kinds(const et_schema::Bench& bench, const GroupKinds& said, bool keeps_size) {
  refuse_unknown(bench, said);
  const std::vector<CallFacts> facts = facts_of(bench);
  DecidedKinds kinds(bench.groups.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!facts[i].has_calls) {
      continue;
    }
    const et_schema::ProcessGroup& group = bench.groups[i];
    kinds[i] = kind_said(group, said);
    if (!kinds[i]) {
      kinds[i] = kind_described(group);
      // Ranks that share sharded parameters are also data-parallel, and may be described as such.
      if (kinds[i] && kinds[i]->kind == GroupKind::kData && !facts[i].shards.empty()) {
        kinds[i] = {GroupKind::kSharded, facts[i].shards};
      }
    }
    if (!kinds[i]) {
      kinds[i] = kind_called(group, facts[i], keeps_size);
    }
  }
  return kinds;
}

}  // namespace understudy::generator
