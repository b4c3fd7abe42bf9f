#include "agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "et_schema/facts/schema_text.h"
#include "et_schema/model/compiled_kernel.h"
#include "et_schema/model/memory_plan.h"

namespace understudy {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::kNoNode;
using et_schema::NodeIndex;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;
using et_schema::Trace;

/// A node's id within its process, which a profile of the same step has too; 0: none.
using RecordId = std::uint64_t;

constexpr double kDecimals = 1e-6;

bool is_operator(const Instruction& instruction) {
  return instruction.kind != InstructionKind::kAlias &&
         instruction.kind != InstructionKind::kMarker;
}

StepPart part_of(const Trace& trace, NodeIndex node) {
  for (; node != kNoNode; node = trace.nodes[node].parent) {
    const et_schema::Node& label = trace.nodes[node];
    if (label.scope == et_schema::Scope::kBackwardFunction ||
        label.name.starts_with("autograd::engine::evaluate_function")) {
      return StepPart::kBackward;
    }
    if (label.name.starts_with("Optimizer.step#")) {
      return StepPart::kOptimizer;
    }
  }
  return StepPart::kForward;
}

/// The storages that an instruction writes: its results, but for views, and what its schema marks.
std::set<StorageId> written_by(const Program& program, const Instruction& instruction) {
  std::set<StorageId> given;
  std::set<StorageId> written;
  const auto storage_of = [&program](SlotId slot) { return program.slots[slot].storage; };
  std::vector<std::string_view> roles;
  if (instruction.kind == InstructionKind::kKernel && instruction.args.size() >= 2) {
    const auto* text =
        std::get_if<std::string>(&instruction.args[instruction.args.size() - 2].value);
    if (text != nullptr) {
      roles = et_schema::kernel_roles(*text, instruction.args.size() - 2)
                  .value_or(std::vector<std::string_view>());
    }
  }
  const bool is_communication =
      instruction.kind == InstructionKind::kCollective || instruction.kind == InstructionKind::kP2p;
  for (std::size_t i = 0; i < instruction.args.size(); ++i) {
    const bool is_written =
        is_communication ? i == 1
                         : (instruction.schema && et_schema::argument_is_written(
                                                      program.schemas[*instruction.schema], i)) ||
                               (i < roles.size() && roles[i].find('w') != std::string_view::npos);
    et_schema::for_each_slot({instruction.args[i]}, [&](SlotId slot) {
      (is_written ? written : given).insert(storage_of(slot));
    });
  }
  et_schema::for_each_slot(instruction.results, [&](SlotId slot) {
    if (!given.contains(storage_of(slot))) {
      written.insert(storage_of(slot));
    }
  });
  return written;
}

/// Where a tensor's memory came from.
struct Source {
  RecordId writer = 0;        ///< the last one before; 0: none
  RecordId first_reader = 0;  ///< where there is no writer
};

/// The tensors of one argument, lists flattened, Python's numbers left out.
std::vector<SlotId> tensors_of(const Program& program, const Argument& argument) {
  std::vector<SlotId> tensors;
  et_schema::for_each_slot({argument}, [&](SlotId slot) {
    if (!program.slots[slot].wrapped_number) {
      tensors.push_back(slot);
    }
  });
  return tensors;
}

/// A program's operators by record id, with the sources of their tensors.
class Side {
 public:
  struct Operator {
    const Instruction* instruction = nullptr;
    std::vector<std::vector<Source>> sources;  ///< by argument, as tensors_of() lists them
  };

  explicit Side(const MadeFrom& from) : trace_(from.trace), program_(from.program) {
    for (NodeIndex node = 0; node < trace_.nodes.size(); ++node) {
      if (trace_.nodes[node].rf_id > 0) {
        nodes_.emplace(trace_.nodes[node].rf_id, node);
      }
    }
    for (const Instruction& instruction : program_.instructions) {
      const NodeIndex node = trace_.find(instruction.node_id);
      if (is_operator(instruction) && node != kNoNode) {
        order_.emplace_back(trace_.nodes[node].rf_id, &instruction);
      }
    }
  }

  /// The operators' ids, in order; 0 of one that its trace gave none.
  [[nodiscard]] const std::vector<std::pair<RecordId, const Instruction*>>& order() const {
    return order_;
  }

  /// Finds the sources of all tensors; `joined` are the operators that both sides have.
  void find_sources(const std::set<RecordId>& joined) {
    std::unordered_map<StorageId, RecordId> writers;
    std::unordered_map<StorageId, RecordId> first_readers;
    for (const auto& [id, instruction] : order_) {
      Operator found{instruction, {}};
      for (const Argument& argument : instruction->args) {
        std::vector<Source> sources;
        for (const SlotId slot : tensors_of(program_, argument)) {
          const StorageId storage = program_.slots[slot].storage;
          if (joined.contains(id)) {
            first_readers.emplace(storage, id);
          }
          const auto writer = writers.find(storage);
          const auto reader = first_readers.find(storage);
          sources.push_back({writer == writers.end() ? 0 : writer->second,
                             reader == first_readers.end() ? 0 : reader->second});
        }
        found.sources.push_back(std::move(sources));
      }
      for (const StorageId storage : written_by(program_, *instruction)) {
        writers[storage] = id;
      }
      operators_.emplace(id, std::move(found));
    }
  }

  [[nodiscard]] const Operator* find(RecordId id) const {
    const auto found = operators_.find(id);
    return found == operators_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Slot& slot(SlotId slot) const { return program_.slots[slot]; }
  [[nodiscard]] et_schema::Device device(SlotId slot) const {
    return program_.storages[program_.slots[slot].storage].device;
  }
  [[nodiscard]] NodeIndex node(RecordId id) const {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? kNoNode : found->second;
  }
  [[nodiscard]] const Trace& trace() const { return trace_; }
  [[nodiscard]] std::string name(RecordId id) const {
    return node(id) == kNoNode ? "none" : std::string(trace_.nodes[node(id)].name);
  }
  /// Whether one of the nodes runs within the other, or they are the same.
  [[nodiscard]] bool are_of_one(RecordId one, RecordId other) const {
    const NodeIndex a = std::min(node(one), node(other));
    const NodeIndex b = std::max(node(one), node(other));
    return one == other || (b != kNoNode && b <= trace_.nodes[a].last_descendant);
  }

 private:
  const Trace& trace_;
  const Program& program_;
  std::unordered_map<RecordId, NodeIndex> nodes_;
  std::vector<std::pair<RecordId, const Instruction*>> order_;
  std::unordered_map<RecordId, Operator> operators_;
};

class Comparison {
 public:
  Comparison(const MadeFrom& truth, const MadeFrom& made) : truth_(truth), made_(made) {
    std::set<RecordId> made_ids;
    for (const auto& [id, instruction] : made_.order()) {
      made_ids.insert(id);
    }
    std::set<RecordId> joined;
    for (const auto& [id, instruction] : truth_.order()) {
      if (made_ids.contains(id)) {
        joined.insert(id);
      }
    }
    joined.erase(0);
    truth_.find_sources(joined);
    made_.find_sources(joined);
    result_.not_made = static_cast<std::uint64_t>(std::ranges::count_if(
        made_.order(), [&joined](const auto& entry) { return !joined.contains(entry.first); }));
  }

  Agreement run() {
    for (const auto& [id, instruction] : truth_.order()) {
      compare(id, *truth_.find(id), id == 0 ? nullptr : made_.find(id));
    }
    result_.true_memory = memory_of(truth_.program());
    result_.made_memory = memory_of(made_.program());
    return std::move(result_);
  }

 private:
  static MemoryFigures memory_of(const Program& program) {
    const et_schema::MemoryPlan plan = et_schema::plan_memory(program, 0);
    return {static_cast<std::uint64_t>(
                std::ranges::count_if(program.storages, &et_schema::Storage::external)),
            plan.external_bytes, plan.peak_bytes};
  }

  void disagree(const std::string& name, const std::string& what) {
    ++result_.disagreements[fmt::format("{}: {}", name, what)];
  }

  void note(Share& share, bool agrees, const std::string& name, const std::string& what) {
    share.add(agrees);
    if (!agrees) {
      disagree(name, what);
    }
  }

  void compare(RecordId id, const Side::Operator& expected, const Side::Operator* got) {
    const Instruction& instruction = *expected.instruction;
    result_.operators.add(got != nullptr);
    if (got == nullptr) {
      const bool is_node = id != 0 && made_.node(id) != kNoNode;
      disagree(instruction.name,
               is_node ? "not replayed, but what is below or above it" : "not in the made trace");
    } else {
      compare_schemas(instruction, *got->instruction);
      compare_lists(instruction.name, "argument", instruction.args, got->instruction->args,
                    result_.inputs);
      compare_lists(instruction.name, "result", tensors_among(instruction.results),
                    tensors_among(got->instruction->results), result_.outputs);
    }
    compare_edges(truth_.node(id), expected, got);
  }

  /// Traces name symbolic integers, public schemas do not.
  static std::string without_symbols(std::string schema) {
    for (std::size_t at = schema.find("SymInt"); at != std::string::npos;
         at = schema.find("SymInt", at)) {
      schema.replace(at, std::string_view("SymInt").size(), "int");
    }
    return schema;
  }

  /// Traces write numbers with six decimals.
  static bool is_same_number(const Argument& expected, const Argument& got) {
    const auto* truth = std::get_if<double>(&expected.value);
    const auto* made = std::get_if<double>(&got.value);
    return truth != nullptr && made != nullptr ? std::abs(*truth - *made) < kDecimals
                                               : expected == got;
  }

  void compare_schemas(const Instruction& expected, const Instruction& got) {
    const auto schema_of = [](const Side& side, const Instruction& instruction) {
      return instruction.schema ? without_symbols(side.program().schemas[*instruction.schema])
                                : std::string();
    };
    note(result_.schemas,
         expected.kind == got.kind && schema_of(truth_, expected) == schema_of(made_, got),
         expected.name, fmt::format("schema (got {})", got.name));
  }

  /// What an operator returns beside tensors tells nothing of the profile: a run finds it.
  static std::vector<Argument> tensors_among(std::vector<Argument> results) {
    std::erase_if(results, [](const Argument& result) {
      return !std::holds_alternative<Argument::SlotRef>(result.value) &&
             !std::holds_alternative<Argument::List>(result.value);
    });
    return results;
  }

  void compare_lists(const std::string& name, const std::string& what,
                     const std::vector<Argument>& expected, const std::vector<Argument>& got,
                     TensorShares& shares) {
    for (std::size_t i = 0; i < std::max(expected.size(), got.size()); ++i) {
      compare_values(name, fmt::format("{} {}", what, i),
                     i < expected.size() ? &expected[i] : nullptr,
                     i < got.size() ? &got[i] : nullptr, shares);
    }
  }

  void compare_values(const std::string& name, const std::string& what, const Argument* expected,
                      const Argument* got, TensorShares& shares) {
    const auto slot_of = [](const Argument* argument) {
      return argument == nullptr ? nullptr : std::get_if<Argument::SlotRef>(&argument->value);
    };
    const auto list_of = [](const Argument* argument) {
      return argument == nullptr ? nullptr : std::get_if<Argument::List>(&argument->value);
    };
    const auto* expected_slot = slot_of(expected);
    const auto* got_slot = slot_of(got);
    if (list_of(expected) != nullptr && list_of(got) != nullptr) {
      const Argument::List& list = *list_of(expected);
      const Argument::List& other = *list_of(got);
      for (std::size_t i = 0; i < std::max(list.size(), other.size()); ++i) {
        compare_values(name, what, i < list.size() ? &list[i] : nullptr,
                       i < other.size() ? &other[i] : nullptr, shares);
      }
    } else if (expected_slot != nullptr && got_slot != nullptr) {
      compare_tensors(name, what, expected_slot->id, got_slot->id, shares);
    } else if (expected_slot != nullptr || got_slot != nullptr) {
      for (Share* share :
           {&shares.dtype, &shares.sizes, &shares.strides, &shares.device, &shares.all_four}) {
        share->add(false);
      }
      disagree(name, fmt::format("{} is {} tensor", what, got_slot != nullptr ? "a" : "no"));
    } else {
      note(result_.numbers,
           expected != nullptr && got != nullptr && is_same_number(*expected, *got), name, what);
    }
  }

  void compare_tensors(const std::string& name, const std::string& what, SlotId expected,
                       SlotId got, TensorShares& shares) {
    const Slot& truth = truth_.slot(expected);
    const Slot& made = made_.slot(got);
    if (truth.wrapped_number || made.wrapped_number) {
      note(result_.numbers,
           truth.wrapped_number == made.wrapped_number && truth.dtype == made.dtype, name,
           what + ", a number");
      return;
    }
    const bool same_dtype = truth.dtype == made.dtype;
    const bool same_sizes = truth.sizes == made.sizes;
    const bool same_strides = truth.strides == made.strides;
    const bool same_device = truth_.device(expected) == made_.device(got);
    note(shares.dtype, same_dtype, name, "dtype of " + what);
    note(shares.sizes, same_sizes, name, "sizes of " + what);
    note(shares.strides, same_strides, name, "strides of " + what);
    note(shares.device, same_device, name, "device of " + what);
    shares.all_four.add(same_dtype && same_sizes && same_strides && same_device);
  }

  void compare_edges(NodeIndex node, const Side::Operator& expected, const Side::Operator* got) {
    Share& edges = result_.edges.at(static_cast<std::size_t>(part_of(truth_.trace(), node)));
    for (std::size_t argument = 0; argument < expected.sources.size(); ++argument) {
      for (std::size_t i = 0; i < expected.sources[argument].size(); ++i) {
        const Source& source = expected.sources[argument][i];
        const bool is_there =
            got != nullptr && argument < got->sources.size() && i < got->sources[argument].size();
        const Source other = is_there ? got->sources[argument][i] : Source{};
        const bool agrees =
            is_there && (source.writer == 0
                             ? other.writer == 0
                             : other.writer != 0 && truth_.are_of_one(source.writer, other.writer));
        edges.add(agrees);
        if (!agrees && is_there) {
          disagree(expected.instruction->name,
                   fmt::format("writer of argument {} (expected {}, got {})", argument,
                               truth_.name(source.writer), truth_.name(other.writer)));
        }
        if (source.writer == 0) {
          result_.externals.add(agrees);
          const bool is_same = agrees && source.first_reader == other.first_reader;
          result_.same_externals.add(is_same);
          if (agrees && !is_same) {
            disagree(expected.instruction->name,
                     fmt::format("argument {} is another external tensor", argument));
          }
        }
      }
    }
  }

  Side truth_;
  Side made_;
  Agreement result_;
};

}  // namespace

Agreement agreement_of(const MadeFrom& truth, const MadeFrom& made) {
  return Comparison(truth, made).run();
}

void Agreement::add(const Agreement& other) {
  operators.add(other.operators);
  not_made += other.not_made;
  schemas.add(other.schemas);
  for (auto [mine, theirs] : {std::pair(&inputs, &other.inputs), {&outputs, &other.outputs}}) {
    mine->dtype.add(theirs->dtype);
    mine->sizes.add(theirs->sizes);
    mine->strides.add(theirs->strides);
    mine->device.add(theirs->device);
    mine->all_four.add(theirs->all_four);
  }
  numbers.add(other.numbers);
  for (std::size_t part = 0; part < kStepPartCount; ++part) {
    edges[part].add(other.edges[part]);
  }
  externals.add(other.externals);
  same_externals.add(other.same_externals);
  for (auto [mine, theirs] :
       {std::pair(&true_memory, &other.true_memory), {&made_memory, &other.made_memory}}) {
    mine->externals += theirs->externals;
    mine->external_bytes += theirs->external_bytes;
    mine->peak_bytes += theirs->peak_bytes;
  }
  for (const auto& [what, count] : other.disagreements) {
    disagreements[what] += count;
  }
}

bool Agreement::whole() const {
  return operators.whole() && not_made == 0 && disagreements.empty() &&
         true_memory.externals == made_memory.externals &&
         true_memory.external_bytes == made_memory.external_bytes &&
         true_memory.peak_bytes == made_memory.peak_bytes;
}

}  // namespace understudy
