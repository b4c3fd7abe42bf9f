#include "bench_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "et_schema/base/zip.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/open_comms.h"

namespace understudy::et_schema {
namespace {

class RandomBench {
 public:
  explicit RandomBench(std::uint64_t seed) : engine_(seed) {}

  Bench make(int ranks) {
    Bench bench;
    bench.tool_version = text();
    bench.groups = {{"world", "the whole job", "gloo", {}, ranks}};
    for (std::uint64_t i = below(3); i > 0; --i) {
      bench.groups.push_back({text(), text(), "nccl", {3, 1, 0}, 3});
    }
    groups_ = bench.groups.size();
    for (int rank = 0; rank < ranks; ++rank) {
      bench.sources.push_back({text(), engine_(), engine_(), "1.1.1-chakra.0.0.4"});
      // About half of the ranks behave as the first.
      const bool repeat = rank > 0 && coin();
      bench.programs.push_back(repeat ? personal(bench.programs.front()) : program());
    }
    return bench;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool coin() { return below(2) == 0; }
  std::int64_t any_int() { return static_cast<std::int64_t>(engine_() >> below(64)); }

  std::string text() {
    static const std::vector<std::string> kTexts = {"",
                                                    "aten::add.Tensor",
                                                    "a \"quoted\" \\ name",
                                                    "Größe",
                                                    "emoji 🎭",
                                                    "%12",
                                                    "'",
                                                    "nan",
                                                    "undefined",
                                                    "@cuda:0",
                                                    "#Generator"};
    return kTexts[below(kTexts.size())];
  }

  /// A text that is no name.
  std::string free_text() { return coin() ? text() : "line\nbreak\ttab\r\x01\u009b"; }

  double real() {
    static const std::vector<double> kReals = {
        0.0,  -0.0, 1.0,  0.1, 1e300,    5e-324,   -1.5, 1.0 / 3.0, 123456789012345678.0,
        1e-5, 1e16, 1e22, 3.0, INFINITY, -INFINITY};
    return kReals[below(kReals.size())];
  }

  Device device() {
    const auto index = static_cast<std::int8_t>(below(4));
    switch (below(4)) {
      case 0:
        return {DeviceType::kCpu, -1};
      case 1:
        return {DeviceType::kMeta, -1};
      case 2:
        return {};
      default:
        return {DeviceType::kCuda, index};
    }
  }

  Program program() {
    Program program;
    for (std::uint64_t i = below(5); i > 0; --i) {
      program.schemas.push_back(text());
    }
    for (std::uint64_t i = 1 + below(5); i > 0; --i) {
      program.storages.push_back({device(), static_cast<std::int64_t>(below(1U << 20U)), coin()});
      Storage& storage = program.storages.back();
      storage.zeros = coin() ? 1.0 / 3.0 : 0;
      storage.untouched = storage.external && coin();
      storage.pinned = storage.external && coin();
    }
    for (std::uint64_t i = 1 + below(20); i > 0; --i) {
      program.slots.push_back(slot(program));
    }
    program.instructions = instructions(program, 1 + below(20), 0);
    program.selection.step = text();
    program.selection.filters = {text(), free_text()};
    program.selection.operators = below(1000);
    program.selection.labels = below(10);
    program.selection.rounds = below(5);
    program.selection.opened = {{text(), below(100), text(), coin() ? 0 : duration()}};
    program.losses.add(Loss::kAliases, below(3));
    program.losses.add(Loss::kMissingNodes, below(3));
    record_times(program);
    return program;
  }

  // The program of another rank that behaves alike: all that ranks may differ in does differ.
  Program personal(Program program) {
    for (Storage& storage : program.storages) {
      mirror(storage.device);
    }
    make_personal(program.instructions);
    program.losses.add(Loss::kMissingNodes, below(3));
    program.selection.operators += below(2);
    record_times(program);
    return program;
  }

  std::int64_t duration() { return static_cast<std::int64_t>(engine_() >> (4 + below(60))); }

  void record_times(Program& program) {
    program.profile.reset();
    if (coin()) {
      program.profile = profile();
    }
    program.heap_blocks.clear();
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      Instruction& instruction = program.instructions[i];
      instruction.timing.reset();
      if (program.profile && coin()) {
        instruction.timing = {duration(), duration(), duration()};
        if (coin()) {
          instruction.timing->device_ns = duration();
          instruction.timing->launches = 1 + below(9);
          instruction.timing->stream = any_int();
          instruction.timing->page_faults = any_int();
          program.heap_blocks[i] = {{any_int(), engine_()}, {any_int(), engine_()}};
        }
      }
    }
  }

  RecordedProfile profile() {
    RecordedProfile profile;
    profile.file = text();
    profile.bytes = engine_();
    profile.content_hash = engine_();
    profile.join = coin() ? JoinKind::kOrder : JoinKind::kRecordFunctionId;
    profile.steps = below(9);
    profile.step_ns = duration();
    if (coin()) {
      profile.unprofiled_step_ns = duration();
      profile.unprofiled_interval = {duration(), duration()};
      profile.profiled_step_ns = duration();
      profile.device = {"card", 14, 1024};
    }
    profile.observer_ns_per_event = 0.1 * static_cast<double>(below(10000));
    profile.observer_source = text();
    profile.events = below(100);
    profile.nodes = below(100);
    profile.nodes_with_rf_id = below(100);
    profile.nodes_joined = below(100);
    profile.device_events = below(100);
    profile.device_events_linked = below(100);
    profile.operators_ns = duration();
    profile.operators_device_ns = duration();
    for (std::uint64_t i = below(3); i > 0; --i) {
      profile.lost.push_back({text(), text(), below(100), duration()});
    }
    for (std::uint64_t i = below(3); i > 0; --i) {
      profile.outside.push_back(
          {static_cast<et_schema::Outside>(below(kOutsideCount)), text(), duration(), duration()});
    }
    for (std::uint64_t i = below(3); i > 0; --i) {
      profile.operator_counters[text()] = {{"flop", static_cast<double>(below(1000))}};
    }
    profile.counters["cpu_ms"] = 0.5 * static_cast<double>(below(1000));
    for (std::uint64_t i = below(3); i > 0; --i) {
      profile.device_waits.push_back({static_cast<std::int64_t>(below(1000)), duration(),
                                      static_cast<DeviceWait::For>(below(3))});
    }
    std::ranges::sort(profile.device_waits, {}, &DeviceWait::start_ns);
    for (std::uint64_t i = below(3); i > 0; --i) {
      StreamWait wait{
          static_cast<std::int64_t>(below(1000)), {}, static_cast<std::int64_t>(below(9))};
      wait.until_ns =
          static_cast<std::int64_t>(below(static_cast<std::uint64_t>(wait.start_ns) + 1));
      if (coin()) {
        wait.stream = static_cast<std::int64_t>(below(9));
      }
      profile.stream_waits.push_back(wait);
    }
    std::ranges::sort(profile.stream_waits, {}, &StreamWait::start_ns);
    return profile;
  }

  void make_personal(std::vector<Instruction>& instructions) {
    for (Instruction& instruction : instructions) {
      instruction.node_id += coin() ? 7 : engine_();
      mirror_arguments(instruction.args);
      mirror_arguments(instruction.results);
      if (instruction.comm) {
        CommInfo other = comm();
        other.group = static_cast<GroupId>(groups_ - 1 - instruction.comm->group);
        other.kind = instruction.comm->kind;
        other.reduce_op = instruction.comm->reduce_op;
        other.reduce_op_why = instruction.comm->reduce_op_why;
        other.is_async = instruction.comm->is_async;
        other.why = instruction.comm->why;
        other.names_group = instruction.comm->names_group;
        other.is_p2p = instruction.comm->is_p2p;
        other.in_batch = instruction.comm->in_batch;
        other.joins_batch = instruction.comm->joins_batch;
        instruction.comm = other;
      }
      make_personal(instruction.body);
    }
  }

  static void mirror(Device& device) {
    if (device.type == DeviceType::kCuda) {
      device.index = static_cast<std::int8_t>(3 - device.index);
    }
  }

  static void mirror_arguments(std::vector<Argument>& arguments) {
    for (Argument& argument : arguments) {
      if (auto* reference = std::get_if<Argument::DeviceRef>(&argument.value)) {
        mirror(reference->device);
      } else if (auto* list = std::get_if<Argument::List>(&argument.value)) {
        mirror_arguments(*list);
      }
    }
  }

  Slot slot(Program& program) {
    Slot slot;
    slot.storage = static_cast<StorageId>(below(program.storages.size()));
    const std::vector<DType> types = {DType::kFloat32, DType::kInt64, DType::kBool,
                                      DType::kBFloat16, DType::kUndefined};
    slot.dtype = types[below(types.size())];
    std::int64_t extent = 1;
    for (std::uint64_t i = below(4); i > 0; --i) {
      slot.sizes.insert(slot.sizes.begin(), static_cast<std::int64_t>(below(5)));
      slot.strides.insert(slot.strides.begin(),
                          coin() ? extent : static_cast<std::int64_t>(below(7)));
      extent *= std::max<std::int64_t>(slot.sizes.front(), 1);
    }
    slot.offset = static_cast<std::int64_t>(below(100));
    slot.strides_recorded = coin();
    slot.external = coin();
    slot.wrapped_number = coin();
    slot.sparse = coin();
    if (coin()) {
      slot.value = rule();
    }
    if (slot.sparse && slot.external && !slot.sizes.empty() && slot.sizes.front() > 0) {
      const ValueRule below_size{ValueRule::Integers{.high = slot.sizes.front()}};
      slot.content = {
          SparseLayout::kCoo, 1 + static_cast<std::int64_t>(below(9)), coin(), {below_size}};
    }
    // Extents above: offset 100 and 3 × 4 × 6 elements of 8 bytes at most.
    std::int64_t& bytes = program.storages[slot.storage].bytes;
    bytes = std::max<std::int64_t>(bytes, (100 + 3 * 4 * 25 + 1) * 8);
    return slot;
  }

  ValueRule rule() {
    const std::int64_t low = any_int() / 2;
    const std::int64_t high = std::max(low, any_int());
    const auto few = [this] { return static_cast<std::int64_t>(below(99)); };
    const Reuse reuse = {{{-9, 1, {{3, 1}, {1, 4}}}, {7, 9, {{1, 2}}}}, coin() ? 1 : 5, coin()};
    const std::vector<ValueRule::Kind> kinds = {ValueRule::Zeros{},
                                                ValueRule::Constant{real()},
                                                ValueRule::Uniform{real(), real()},
                                                ValueRule::Normal{real(), real()},
                                                ValueRule::Integers{low, high, few()},
                                                ValueRule::Offsets{high, coin(), low},
                                                ValueRule::Lengths{segments()},
                                                ValueRule::Arange{low, high},
                                                ValueRule::Bernoulli{0.25},
                                                ValueRule::Mask{high},
                                                ValueRule::Targets{high, low, 0.25},
                                                ValueRule::ReusedIntegers{low, high, reuse, few()},
                                                ValueRule::Dominant{1 + few(), real()}};
    static_assert(std::variant_size_v<ValueRule::Kind> == 13, "each is to be written and read");
    return {kinds[below(kinds.size())], text()};
  }

  std::vector<ValueRule::Segment> segments() {
    std::vector<ValueRule::Segment> segments;
    for (std::uint64_t i = below(3); i > 0; --i) {
      segments.push_back({static_cast<std::int64_t>(below(9)), any_int()});
      segments.back().sum &= std::numeric_limits<std::int64_t>::max();
    }
    return segments;
  }

  std::vector<Argument> arguments(const Program& program, int depth) {
    std::vector<Argument> arguments;
    for (std::uint64_t i = below(5); i > 0; --i) {
      arguments.push_back(argument(program, depth));
    }
    return arguments;
  }

  Argument slot_reference(const Program& program) {
    return {Argument::SlotRef{static_cast<SlotId>(below(program.slots.size()))}};
  }

  Argument argument(const Program& program, int depth) {
    switch (below(depth < 3 ? 10 : 9)) {
      case 0:
        return {Argument::None{}};
      case 1:
        return {Argument::Undefined{}};
      case 2:
        return slot_reference(program);
      case 3:
        return {coin()};
      case 4:
        return {any_int() * (coin() ? 1 : -1)};
      case 5:
        return {real()};
      case 6:
        return {free_text()};
      case 7:
        return {Argument::DeviceRef{device()}};
      case 8:
        return {Argument::Opaque{text()}};
      default:
        return {arguments(program, depth + 1)};
    }
  }

  std::vector<Instruction> instructions(const Program& program, std::uint64_t number, int depth) {
    std::vector<Instruction> instructions;
    for (; number > 0; --number) {
      instructions.push_back(instruction(program, depth));
    }
    return instructions;
  }

  Instruction instruction(const Program& program, int depth) {
    Instruction instruction;
    instruction.kind = static_cast<InstructionKind>(
        below(static_cast<std::uint64_t>(InstructionKind::kMarker) + 1));
    if (depth > 0 && communicates(instruction)) {
      instruction.kind = InstructionKind::kOp;
    }
    instruction.node_id = engine_() >> below(64);
    instruction.thread = 1 + below(3);
    instruction.name = text();
    if (!program.schemas.empty() && coin()) {
      instruction.schema = static_cast<SchemaId>(below(program.schemas.size()));
      if (instruction.kind == InstructionKind::kOp) {
        instruction.name = operator_name(program.schemas[*instruction.schema]);
      }
    }
    instruction.args = arguments(program, 0);
    instruction.results = arguments(program, 0);
    instruction.pinned = coin();
    switch (instruction.kind) {
      case InstructionKind::kAlias:
        instruction.args = {slot_reference(program)};
        instruction.results = {slot_reference(program)};
        break;
      case InstructionKind::kCollective:
      case InstructionKind::kP2p:
      case InstructionKind::kWait:
        instruction.comm = comm();
        break;
      default:
        break;
    }
    if (depth < 3 && below(4) == 0) {
      instruction.body = instructions(program, 1 + below(3), depth + 1);
    }
    return instruction;
  }

  CommInfo comm() {
    CommInfo comm;
    comm.kind = static_cast<CommKind>(below(static_cast<std::uint64_t>(CommKind::kInit) + 1));
    comm.group = static_cast<GroupId>(below(groups_));
    comm.root_or_peer = static_cast<std::int64_t>(below(4));
    comm.reduce_op = coin() ? "sum" : text();
    comm.reduce_op_why = coin() ? "" : text();
    comm.why = coin() ? "" : text();
    for (std::uint64_t i = below(3); i > 0; --i) {
      comm.in_splits.push_back(static_cast<std::int64_t>(below(1000)));
      comm.out_splits.push_back(static_cast<std::int64_t>(below(1000)));
    }
    if (coin()) {
      comm.seq = any_int();
    }
    if (coin()) {
      comm.is_async = coin();
    }
    comm.names_group = coin();
    if (coin()) {
      comm.is_p2p = coin();
    }
    if (coin()) {
      comm.in_batch = coin();
    }
    comm.joins_batch = coin();
    return comm;
  }

  std::mt19937_64 engine_;
  std::size_t groups_ = 1;
};

Instruction sample_operator(std::uint64_t node, SlotId slot, Device device) {
  Instruction add;
  add.node_id = node;
  add.name = "aten::add.Tensor";
  add.schema = 0;
  add.args = {{Argument::SlotRef{slot}},
              {Argument::SlotRef{slot}},
              {std::int64_t{1}},
              {Argument::DeviceRef{device}}};
  add.results = {{Argument::SlotRef{slot + 1}}};
  return add;
}

}  // namespace

Bench random_bench(std::uint64_t seed, int ranks) {
  return RandomBench(seed).make(ranks);
}

Bench equal_ranks_bench(int ranks, int instructions) {
  Bench bench;
  bench.tool_version = "0.1.0";
  bench.groups = {{"world", "", "nccl", {}, ranks}};
  for (int rank = 0; rank < ranks; ++rank) {
    const Device device{DeviceType::kCuda, static_cast<std::int8_t>(rank)};
    bench.sources.push_back({"rank-" + std::to_string(rank) + ".json", 1000, 17, "1.1.1"});
    Program program;
    program.schemas = {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"};
    // Ids drift apart in the middle of the step, as a rank's extra logging call makes them.
    std::uint64_t node = 10 + static_cast<std::uint64_t>(rank);
    for (SlotId i = 0; i < static_cast<SlotId>(instructions); ++i) {
      program.storages.push_back({device, 4096, i == 0});
      Slot slot;
      slot.storage = i;
      slot.dtype = DType::kFloat32;
      slot.sizes = {static_cast<std::int64_t>(1 + i % 32), 32};
      slot.strides = {32, 1};
      slot.strides_recorded = true;
      slot.external = i == 0;
      program.slots.push_back(slot);
    }
    for (SlotId i = 0; i + 1 < static_cast<SlotId>(instructions); ++i) {
      node += i == static_cast<SlotId>(instructions) / 2 ? static_cast<std::uint64_t>(rank) : 3;
      program.instructions.push_back(sample_operator(node, i, device));
      program.instructions.back().body = {sample_operator(node + 1, i, device)};
    }
    Instruction exchange;
    exchange.kind = InstructionKind::kCollective;
    exchange.node_id = node + 7;
    exchange.name = "all_to_allv";
    exchange.comm.emplace();
    exchange.comm->kind = CommKind::kAllToAllV;
    exchange.comm->in_splits.assign(static_cast<std::size_t>(ranks), rank + 1);
    exchange.comm->out_splits.assign(static_cast<std::size_t>(ranks), 2 * rank);
    program.instructions.push_back(exchange);
    program.selection.operators = static_cast<std::uint64_t>(instructions);
    program.losses.add(Loss::kAliases, static_cast<std::uint64_t>(rank));
    bench.programs.push_back(std::move(program));
  }
  return bench;
}

Bench tiny_bench() {
  return equal_ranks_bench(1, 2);
}

std::string packed(const Bench& bench) {
  return bench_bytes(bench);
}

std::string packed_with(const Bench& bench, const std::string& name,
                        const std::function<std::string(std::string)>& change) {
  std::vector<ZipMember> members;
  for (auto& [member, data] : unzip(packed(bench), "bench.et", {})) {
    members.push_back({member, member == name ? change(data) : data});
  }
  return zip_bytes(members);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t where = text.find(from);
  EXPECT_NE(where, std::string::npos) << from << " is not in " << text;
  return where == std::string::npos ? text : text.replace(where, from.size(), to);
}

}  // namespace understudy::et_schema
