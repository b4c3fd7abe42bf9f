#include "program_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/formats/bench/program_text.h"
#include "et_schema/model/open_comms.h"
#include "program_names.h"

namespace understudy::et_schema {
namespace {

/// Latest time: longer than any step, and small enough to avoid overflows.
constexpr std::int64_t kLatestNs = std::int64_t{1} << 60U;

class Checker {
 public:
  Checker(const Program& program, std::size_t groups, const ProgramOrigin& origin)
      : program_(program), groups_(groups), origin_(origin) {}

  void check() {
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      if (program_.storages[i].bytes < 0) {
        fail("storage " + std::to_string(i) + ", bytes", "a size that is not negative",
             std::to_string(program_.storages[i].bytes));
      }
      check_hold("storage " + std::to_string(i) + ", held_until", program_.storages[i]);
      check_zeros("storage " + std::to_string(i) + ", zeros", program_.storages[i]);
    }
    for (std::size_t i = 0; i < program_.slots.size(); ++i) {
      check_slot("slot " + std::to_string(i), program_.slots[i]);
    }
    check_instructions(program_.instructions, 0);
    check_heap_blocks();
    check_device_work();
    if (program_.profile) {
      check_profile(*program_.profile);
    }
  }

 private:
  [[noreturn]] void fail(std::string field, std::string expected, std::string got,
                         std::optional<std::uint64_t> node = std::nullopt) const {
    throw bad_input("the program of a rank does not hold together",
                    {.file = origin_.file,
                     .rank = origin_.rank,
                     .node = node,
                     .field = std::move(field),
                     .expected = std::move(expected),
                     .got = std::move(got),
                     .hint = origin_.hint});
  }

  void check_profile(const RecordedProfile& profile) const {
    if (profile.step_ns < 0 || profile.operators_ns < 0 || profile.operators_device_ns < 0) {
      fail("profile", "times that are not negative",
           std::to_string(
               std::min({profile.step_ns, profile.operators_ns, profile.operators_device_ns})));
    }
    for (const OutsideTime& row : profile.outside) {
      if (row.host_ns < 0 || row.device_ns < 0) {
        fail("profile.outside", "times that are not negative",
             std::to_string(std::min(row.host_ns, row.device_ns)));
      }
    }
    std::int64_t last_ns = 0;
    for (const DeviceWait& wait : profile.device_waits) {
      if (wait.start_ns < last_ns || wait.start_ns > kLatestNs) {
        fail("profile.device_waits", "starts in order, from 0 to 2^60 ns",
             std::to_string(wait.start_ns));
      }
      if (wait.host_ns < 0 || wait.host_ns > kLatestNs || wait.own_ns > wait.host_ns) {
        fail("profile.device_waits", "durations from 0 to 2^60 ns", std::to_string(wait.host_ns));
      }
      if (wait.work && *wait.work >= program_.device_work.size()) {
        fail("profile.device_waits, work", below(program_.device_work.size(), "pieces of work"),
             std::to_string(*wait.work));
      }
      last_ns = wait.start_ns;
    }
    last_ns = 0;
    for (const StreamWait& wait : profile.stream_waits) {
      if (wait.start_ns < last_ns || wait.start_ns > kLatestNs) {
        fail("profile.stream_waits", "starts in order, from 0 to 2^60 ns",
             std::to_string(wait.start_ns));
      }
      if (wait.until_ns < 0 || wait.until_ns > wait.start_ns) {
        fail("profile.stream_waits", "events that were recorded before they were waited for",
             std::to_string(wait.until_ns));
      }
      last_ns = wait.start_ns;
    }
  }

  /// Heap blocks are stored with the timing, so each needs a timed instruction.
  void check_heap_blocks() const {
    for (const auto& [index, blocks] : program_.heap_blocks) {
      const bool is_timed =
          index < program_.instructions.size() && program_.instructions[index].timing;
      if (!is_timed) {
        fail("heap_blocks", "blocks of instructions with a timing",
             fmt::format("{} of instruction {}", blocks.size(), index));
      }
    }
  }

  void check_device_work() const {
    for (const DeviceWork& work : program_.device_work) {
      const std::int64_t least = std::min({work.launch_ns, work.lag_ns, work.device_ns});
      const std::int64_t most =
          std::max({work.launch_ns, work.lag_ns, work.device_ns, work.start_ns});
      if (least < 0 || work.start_ns < -kLatestNs || most > kLatestNs) {
        fail("device work", "times from 0 to 2^60 ns", std::to_string(least < 0 ? least : most));
      }
      if (work.instruction && *work.instruction >= program_.instructions.size()) {
        fail("device work, of", below(program_.instructions.size(), "instructions"),
             std::to_string(*work.instruction));
      }
    }
  }

  void check_hold(const std::string& name, const Storage& storage) const {
    const std::size_t count = program_.instructions.size();
    if (storage.held_until && (storage.external || *storage.held_until > count)) {
      fail(name,
           storage.external ? "nothing for an external storage"
                            : "at most " + std::to_string(count) + ", the number of instructions",
           std::to_string(*storage.held_until));
    }
  }

  void check_zeros(const std::string& name, const Storage& storage) const {
    if (!(storage.zeros >= 0 && storage.zeros <= 1)) {
      fail(name, "a share from 0 to 1", std::to_string(storage.zeros));
    }
  }

  void check_slot(const std::string& name, const Slot& slot) const {
    if (slot.storage >= program_.storages.size()) {
      fail(name + ", storage", below(program_.storages.size(), "storages"),
           std::to_string(slot.storage));
    }
    const bool layout_free = slot.sparse && slot.strides.empty();
    if (slot.strides.size() != slot.sizes.size() && !layout_free) {
      fail(name + ", strides", std::to_string(slot.sizes.size()) + " strides, one a dimension",
           std::to_string(slot.strides.size()));
    }
    if (slot.offset < 0) {
      fail(name + ", offset", "an offset that is not negative", std::to_string(slot.offset));
    }
    check_extent(name, slot);
    if (slot.value) {
      check_rule(name + ", value", *slot.value);
    }
    if (slot.content) {
      check_content(name + ", content", slot, *slot.content);
    }
  }

  void check_content(const std::string& name, const Slot& slot,
                     const SparseContent& content) const {
    if (!slot.sparse || !slot.external) {
      fail(name, "none but of a sparse external slot", "one");
    }
    constexpr std::int64_t kMostElements = std::int64_t{1} << 56U;
    if (content.elements < 1 || content.elements >= kMostElements) {
      fail(name + ".elements", "1 to 2^56", std::to_string(content.elements));
    }
    const bool is_matrix = content.layout != SparseLayout::kCoo;
    if (is_matrix && (content.indices.size() != 2 || slot.sizes.size() != 2)) {
      fail(name + ".indices", "2 of 2 dimensions",
           fmt::format("{} of {}", content.indices.size(), slot.sizes.size()));
    }
    if (content.indices.empty() || content.indices.size() > slot.sizes.size()) {
      fail(name + ".indices", fmt::format("1 to {} dimensions", slot.sizes.size()),
           std::to_string(content.indices.size()));
    }
    for (std::size_t dim = 0; dim < content.indices.size(); ++dim) {
      const ValueRule& rule = content.indices[dim];
      check_rule(name + ".indices", rule);
      const std::optional<IntegerRange> range = range_of(rule);
      if (!range || range->low < 0 || range->low >= range->high || range->high > slot.sizes[dim]) {
        const std::string in = range ? fmt::format(" in [{},{})", range->low, range->high) : "";
        fail(name + ".indices", fmt::format("integers below {}", slot.sizes[dim]),
             std::string(to_string(rule.kind)) + in);
      }
    }
  }

  void check_extent(const std::string& name, const Slot& slot) const {
    bool empty = false;
    bool overflow = false;
    std::int64_t elements = 1;
    std::int64_t last = slot.offset;
    for (std::size_t i = 0; i < slot.sizes.size(); ++i) {
      const std::int64_t size = slot.sizes[i];
      if (size < 0) {
        fail(name + ", sizes", "sizes that are not negative", std::to_string(size));
      }
      empty = empty || size == 0;
      overflow = __builtin_mul_overflow(elements, size, &elements) || overflow;
      if (slot.strides.empty()) {
        continue;
      }
      if (slot.strides[i] < 0) {
        fail(name + ", strides", "strides that are not negative", std::to_string(slot.strides[i]));
      }
      std::int64_t step = 0;
      if (size > 1) {
        overflow = __builtin_mul_overflow(size - 1, slot.strides[i], &step) || overflow;
        overflow = __builtin_add_overflow(last, step, &last) || overflow;
      }
    }
    std::int64_t bytes = 0;
    overflow = __builtin_add_overflow(last, 1, &last) || overflow;
    overflow = __builtin_mul_overflow(last, item_size(slot.dtype), &bytes) || overflow;
    if (empty) {
      return;  // a tensor without elements needs no storage
    }
    if (overflow) {
      fail(name + ", sizes", "an extent below 2^63 bytes", "more");
    }
    const std::int64_t storage_bytes = program_.storages[slot.storage].bytes;
    if (!slot.sparse && bytes > storage_bytes) {
      fail(name, "an extent within its storage of " + std::to_string(storage_bytes) + " bytes",
           std::to_string(bytes) + " bytes");
    }
  }

  void check_rule(const std::string& name, const ValueRule& rule) const {
    std::visit([&](const auto& kind) { check_kind(name, kind); }, rule.kind);
  }

  void check_kind(const std::string& /*name*/, const ValueRule::Zeros& /*rule*/) const {}
  void check_kind(const std::string& /*name*/, const ValueRule::Constant& /*rule*/) const {}
  void check_kind(const std::string& /*name*/, const ValueRule::Uniform& /*rule*/) const {}
  void check_kind(const std::string& /*name*/, const ValueRule::Normal& /*rule*/) const {}
  void check_kind(const std::string& name, const ValueRule::Integers& rule) const {
    if (rule.high < rule.low) {
      fail(name + ".high", "at least `low`, " + std::to_string(rule.low),
           std::to_string(rule.high));
    }
  }
  void check_kind(const std::string& /*name*/, const ValueRule::Offsets& /*rule*/) const {}
  void check_kind(const std::string& name, const ValueRule::Lengths& rule) const {
    for (const ValueRule::Segment& segment : rule.segments) {
      if (segment.count < 0 || segment.sum < 0) {
        fail(name + ".segments", "counts and sums that are not negative",
             "[" + std::to_string(segment.count) + "," + std::to_string(segment.sum) + "]");
      }
    }
  }
  void check_kind(const std::string& /*name*/, const ValueRule::Arange& /*rule*/) const {}
  void check_kind(const std::string& name, const ValueRule::Bernoulli& rule) const {
    check_probability(name, rule.probability);
  }
  void check_kind(const std::string& /*name*/, const ValueRule::Mask& /*rule*/) const {}
  void check_kind(const std::string& name, const ValueRule::Targets& rule) const {
    check_probability(name, rule.ignored_share);
  }
  void check_kind(const std::string& name, const ValueRule::ReusedIntegers& rule) const {
    if (const auto problem = find_problem(rule.reuse)) {
      fail(name + "." + problem->field, problem->expected, problem->got);
    }
  }
  void check_kind(const std::string& name, const ValueRule::Dominant& rule) const {
    if (rule.rows < 1) {
      fail(name + ".high", "at least one row", std::to_string(rule.rows));
    }
  }

  void check_probability(const std::string& name, double probability) const {
    if (!(probability >= 0 && probability <= 1)) {
      fail(name + ".a", "a probability from 0 to 1", std::to_string(probability));
    }
  }

  void check_instructions(const std::vector<Instruction>& instructions, std::uint64_t depth) const {
    if (depth > kMaxBodyDepth) {
      fail("body", "bodies nested at most " + std::to_string(kMaxBodyDepth) + " deep",
           "a deeper one");
    }
    for (const Instruction& instruction : instructions) {
      check_instruction(instruction);
      if (instruction.comm && depth > 0) {
        fail("comm", "no communication in a body", "one", instruction.node_id);
      }
      if (instruction.timing) {
        check_timing(*instruction.timing, depth, instruction.node_id);
      }
      check_instructions(instruction.body, depth + 1);
    }
  }

  void check_instruction(const Instruction& instruction) const {
    const std::uint64_t node = instruction.node_id;
    check_slots(instruction.args, "args", node, 1);
    check_slots(instruction.results, "results", node, 1);
    if (instruction.schema && *instruction.schema >= program_.schemas.size()) {
      fail("schema", below(program_.schemas.size(), "schemas"), std::to_string(*instruction.schema),
           node);
    }
    // What an operator may do is judged by its schema, and called by its name.
    if (instruction.schema && instruction.kind == InstructionKind::kOp) {
      const std::string_view named = operator_name(program_.schemas[*instruction.schema]);
      if (named != instruction.name) {
        fail("schema", "a schema of " + quote(instruction.name), "one of " + quote(named), node);
      }
    }
    if (instruction.kind == InstructionKind::kAlias &&
        (!is_one_slot(instruction.args) || !is_one_slot(instruction.results))) {
      fail("alias", "one slot as argument and one as result", "other arguments or results", node);
    }
    if (instruction.comm.has_value() != communicates(instruction)) {
      fail("comm", instruction.comm ? "no communication" : "what is communicated",
           "kind \"" + std::string(to_string(instruction.kind)) + "\" " +
               (instruction.comm ? "with it" : "without it"),
           node);
    }
    if (instruction.comm) {
      check_comm(*instruction.comm, node);
    }
  }

  void check_timing(const Timing& timing, std::uint64_t depth, std::uint64_t node) const {
    if (!program_.profile || depth > 0) {
      fail("timing", "none without a profile, and none in a body", "one", node);
    }
    const std::int64_t least =
        std::min({timing.start_ns, timing.host_ns, timing.gap_ns, timing.device_ns});
    if (least < 0) {
      fail("timing", "times that are not negative", std::to_string(least), node);
    }
    const std::int64_t most = std::max({timing.start_ns, timing.host_ns, timing.gap_ns});
    if (most > kLatestNs) {
      fail("timing", "times of at most 2^60 ns", std::to_string(most), node);
    }
  }

  static bool is_one_slot(const std::vector<Argument>& arguments) {
    return arguments.size() == 1 && std::holds_alternative<Argument::SlotRef>(arguments[0].value);
  }

  void check_slots(const std::vector<Argument>& arguments, const char* field, std::uint64_t node,
                   int depth) const {
    if (depth > kMaxListDepth) {
      fail(field, "lists nested at most " + std::to_string(kMaxListDepth) + " deep", "a deeper one",
           node);
    }
    for (const Argument& argument : arguments) {
      if (const auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
        if (slot->id >= program_.slots.size()) {
          fail(field, below(program_.slots.size(), "slots"), "%" + std::to_string(slot->id), node);
        }
      } else if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
        check_slots(*list, field, node, depth + 1);
      }
    }
  }

  void check_comm(const CommInfo& comm, std::uint64_t node) const {
    if (comm.group >= groups_) {
      fail("comm.group", below(groups_, "process groups"), std::to_string(comm.group), node);
    }
    for (const auto* splits : {&comm.in_splits, &comm.out_splits}) {
      for (const std::int64_t split : *splits) {
        if (split < 0) {
          fail(splits == &comm.in_splits ? "comm.in_splits" : "comm.out_splits",
               "splits that are not negative", std::to_string(split), node);
        }
      }
    }
  }

  static std::string below(std::size_t count, const char* what) {
    return "a number below " + std::to_string(count) + ", the number of " + what;
  }

  const Program& program_;
  std::size_t groups_;
  const ProgramOrigin& origin_;
};

}  // namespace

void check_program(const Program& program, std::size_t groups, const ProgramOrigin& origin) {
  Checker(program, groups, origin).check();
}

}  // namespace understudy::et_schema
