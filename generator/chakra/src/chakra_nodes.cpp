#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra_comms.h"
#include "chakra_order.h"
#include "chakra_values.h"
#include "et_schema/base/arena.h"
#include "et_schema/base/version.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/open_comms.h"
#include "generator/chakra/chakra_job.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;
using et_schema::ChakraArm;
using et_schema::ChakraAttribute;
using et_schema::ChakraFile;
using et_schema::ChakraNode;
using et_schema::ChakraNodeType;

/// Schema version in simulators' own files.
constexpr std::string_view kSchemaVersion = "0.0.4";
/// A reader of such a file as a trace uses id 1 for the root.
constexpr std::uint64_t kFirstId = 2;
constexpr std::int64_t kNsPerUs = 1000;

/// Returns true if the arguments end with a C++ kernel's roles, "r w rw -". A Triton kernel's
/// arguments end with its launch.
bool is_cpp_kernel(const Instruction& instruction) {
  const std::size_t count = et_schema::launch_of(instruction) ? 0 : instruction.args.size();
  const auto* roles =
      count < 2 ? nullptr : std::get_if<std::string>(&instruction.args[count - 2].value);
  return roles != nullptr && roles->find_first_not_of("rw- ") == std::string::npos;
}

/// Returns true for time that filters exclude: the list of device work does not have it.
bool is_left_out(const et_schema::HeldTime& part) {
  return part.holder == to_string(et_schema::Outside::kFiltered);
}

/// Rounds successive times to whole microseconds. Their sums deviate by less than a microsecond.
class Rounding {
 public:
  std::uint64_t take(std::int64_t ns) {
    sum_ns_ += std::max<std::int64_t>(ns, 0);
    const std::int64_t us = (sum_ns_ + kNsPerUs / 2) / kNsPerUs;
    return static_cast<std::uint64_t>(us - std::exchange(sum_us_, us));
  }

 private:
  std::int64_t sum_ns_ = 0;
  std::int64_t sum_us_ = 0;
};

/// Returns the account's device time in no instruction ÷ that of the program's list of device work;
/// 0 if the list has none.
double outside_scale(const Program& program) {
  double listed_ns = 0;
  for (const et_schema::DeviceWork& work : program.device_work) {
    listed_ns += work.instruction ? 0 : static_cast<double>(work.device_ns);
  }
  double all_ns = 0;
  for (const et_schema::HeldTime& part : et_schema::held_times(program)) {
    const bool is_left = part.instruction != nullptr || is_left_out(part);
    all_ns += is_left ? 0 : static_cast<double>(part.device_ns);
  }
  return listed_ns > 0 ? all_ns / listed_ns : 0;
}

class RankWriter {
 public:
  RankWriter(const Bench& bench, std::size_t rank, ChakraFile& file)
      : bench_(bench),
        program_(bench.programs.of(rank)),
        rank_(bench.recorded_rank(rank)),
        file_(file),
        arena_(*file.arena),
        comms_(bench, rank_) {}

  void write() {
    write_metadata();
    const bool has_groups = bench_.groups.size() > 1 || bench_.recorded_world_size() > 1;
    if (has_groups) {
      write_groups();
    }
    ChakraOrder order(program_, has_groups ? kFirstId : 0);
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      if (instruction.timing) {
        write_outside(instruction.timing->start_ns, order);
      }
      ChakraIds ids;
      ids.host = next_id_++;
      if (has_device_node(instruction)) {
        ids.device = next_id_++;
      }
      const InstructionEdges edges = order.next(i, ids);
      write_host(instruction, ids.host, edges);
      if (ids.device != 0) {
        write_device(instruction, ids.device, edges);
      }
    }
    write_outside(std::numeric_limits<std::int64_t>::max(), order);
  }

 private:
  // ---- attributes

  void add(std::vector<ChakraAttribute>& to, std::string_view name, ChakraArm arm,
           std::int64_t value) {
    to.push_back({.name = name, .arm = arm, .integer = static_cast<std::uint64_t>(value)});
  }
  void add(std::vector<ChakraAttribute>& to, std::string_view name, std::string_view text) {
    to.push_back({.name = name, .arm = ChakraArm::kString, .text = arena_.copy(text)});
  }
  void add_bool(std::string_view name, bool value) {
    add(attributes_, name, ChakraArm::kBool, value ? 1 : 0);
  }
  void add_int64(std::string_view name, std::int64_t value) {
    add(attributes_, name, ChakraArm::kInt64, value);
  }
  void add_int32(std::string_view name, std::int32_t value) {
    add(attributes_, name, ChakraArm::kInt32, value);
  }
  void add_uint64(std::string_view name, std::int64_t value) {
    add(attributes_, name, ChakraArm::kUint64, value);
  }

  std::span<const ChakraAttribute> take_attributes() {
    const std::span<ChakraAttribute> kept = arena_.copy<ChakraAttribute>(attributes_);
    attributes_.clear();
    return kept;
  }

  void write_metadata() {
    file_.version = kSchemaVersion;
    add(file_.metadata, "writer", "understudy");
    add(file_.metadata, "writer_version", et_schema::kToolVersion);
    add(file_.metadata, "rank", ChakraArm::kInt64, rank_);
    add(file_.metadata, "world_size", ChakraArm::kInt64, bench_.recorded_world_size());
    if (program_.profile) {
      add(file_.metadata, "step_ns", ChakraArm::kInt64, program_.profile->step_ns);
      add(file_.metadata, "step_length_ns", ChakraArm::kInt64, program_.profile->length_ns);
    }
  }

  void write_groups() {
    std::vector<et_schema::Argument> groups(1);
    groups[0].value = process_groups_json(bench_);
    ChakraNode node;
    node.id = next_id_++;
    node.name = "## process_group:init ##";
    node.type = ChakraNodeType::kMetadata;
    add_bool("is_cpu_op", true);
    add_int64("rf_id", static_cast<std::int64_t>(node.id));
    add_int64("tid", 1);
    set_values(groups, "input_strides", node.inputs);
    node.attributes = take_attributes();
    file_.nodes.push_back(node);
  }

  // ---- nodes

  static bool has_device_time(const Instruction& instruction) {
    return instruction.timing && instruction.timing->launches > 0;
  }
  static bool has_device_node(const Instruction& instruction) {
    return is_communication(instruction) || has_device_time(instruction);
  }
  /// Returns true if the call returns only after its communication ended on the host. The call's
  /// time is then the communication's time.
  static bool is_blocking(const Instruction& instruction) {
    return is_communication(instruction) && !has_device_time(instruction) &&
           !instruction.comm->is_async.value_or(true);
  }

  /// Returns how long a blocking call blocked the host, with the wait recorded after it.
  [[nodiscard]] std::int64_t blocking_ns(const Instruction& instruction) const {
    const auto number = static_cast<std::uint32_t>(&instruction - program_.instructions.data());
    const auto wait = et_schema::wait_behind(program_, number);
    const bool is_timed = wait && program_.instructions[*wait].timing;
    return instruction.timing->host_ns +
           (is_timed ? program_.instructions[*wait].timing->host_ns : 0);
  }

  void write_host(const Instruction& instruction, std::uint64_t id, const InstructionEdges& edges) {
    ChakraNode node;
    node.id = id;
    node.type = ChakraNodeType::kCompute;
    node.name = name_of(instruction);
    node.data_deps = arena_.copy<std::uint64_t>(edges.host.all);
    add_bool("is_cpu_op", true);
    add_int64("rf_id", static_cast<std::int64_t>(id));
    add_int64("tid", static_cast<std::int64_t>(instruction.thread));
    add_identity(instruction);
    if (instruction.comm) {
      set_values(recorded_arguments(instruction, bench_), "input_strides", node.inputs);
      set_values(recorded_results(instruction), "output_strides", node.outputs);
    } else if (instruction.kind == InstructionKind::kNative) {
      const auto* inputs = std::get_if<et_schema::Argument::List>(&instruction.args[0].value);
      set_values(inputs == nullptr ? et_schema::Argument::List{} : *inputs, "input_strides",
                 node.inputs);
    } else {
      set_values(instruction.args, "input_strides", node.inputs);
      set_values(instruction.results, "output_strides", node.outputs);
      if (const std::string numbers = known_numbers(instruction, program_); !numbers.empty()) {
        add(attributes_, "tensor_range", numbers);
      }
    }
    if (std::exchange(are_strides_told_, false)) {
      add_bool("strides_told", true);
    }
    add_uint64("tensor_size", touched_bytes(instruction));
    if (instruction.timing) {
      add_times(instruction, edges.joins, node);
    }
    add_order(edges.host);
    node.attributes = take_attributes();
    file_.nodes.push_back(node);
  }

  void add_times(const Instruction& instruction, bool joins, ChakraNode& node) {
    const et_schema::Timing& timing = *instruction.timing;
    node.start_us =
        static_cast<std::uint64_t>(std::max<std::int64_t>(timing.start_ns, 0) / kNsPerUs);
    if (!joins && !is_blocking(instruction)) {
      node.duration_us = host_rounding_[instruction.thread].take(timing.host_ns);
    }
    add_int64("start_ns", timing.start_ns);
    add_int64("host_ns", timing.host_ns);
    if (timing.page_faults) {
      add_int64("page_faults", *timing.page_faults);
    }
  }

  /// Adds the attributes by which readers recognise the kind of node: only operators have a schema.
  void add_identity(const Instruction& instruction) {
    if (instruction.kind == InstructionKind::kOp && instruction.schema) {
      add(attributes_, "op_schema", program_.schemas[*instruction.schema]);
    }
    if (instruction.kind == InstructionKind::kKernel) {
      add(attributes_, "kernel_backend", is_cpp_kernel(instruction) ? "cpp" : "triton");
    }
    if (instruction.kind == InstructionKind::kNative) {
      add_int64("scope", static_cast<std::int64_t>(et_schema::Scope::kBackwardFunction));
    }
    if (instruction.node_id != 0) {
      add_uint64("origin_node", static_cast<std::int64_t>(instruction.node_id));
    }
  }

  std::string_view name_of(const Instruction& instruction) {
    if (instruction.comm) {
      return "record_param_comms";
    }
    return arena_.copy(instruction.kind == InstructionKind::kOp
                           ? et_schema::without_overload(instruction.name)
                           : instruction.name);
  }

  void set_values(const std::vector<et_schema::Argument>& arguments, std::string_view strides,
                  et_schema::ChakraValues& to) {
    const ValueTexts texts = texts_of(arguments, program_);
    to = {arena_.copy(texts.values), arena_.copy(texts.shapes), arena_.copy(texts.types)};
    if (texts.has_strides) {
      add(attributes_, strides, texts.strides);
      are_strides_told_ |= texts.are_told;
    }
  }

  [[nodiscard]] std::int64_t touched_bytes(const Instruction& instruction) {
    touched_.clear();
    const auto touch = [this](et_schema::SlotId slot) { touched_.push_back(slot); };
    et_schema::for_each_slot(instruction.args, touch);
    et_schema::for_each_slot(instruction.results, touch);
    std::ranges::sort(touched_);
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    std::int64_t bytes = 0;
    for (const et_schema::SlotId slot : touched_) {
      bytes += bytes_of(program_.slots[slot]);
    }
    return bytes;
  }

  void write_device(const Instruction& instruction, std::uint64_t id,
                    const InstructionEdges& edges) {
    ChakraNode node;
    node.id = id;
    node.type = ChakraNodeType::kCompute;
    node.name = arena_.copy(instruction.name);
    node.data_deps = arena_.copy<std::uint64_t>(edges.device.all);
    add_bool("is_cpu_op", false);
    if (is_communication(instruction)) {
      add_communication(comms_.next(instruction, program_), *instruction.comm, node);
    } else {
      add_uint64("tensor_size", touched_bytes(instruction));
    }
    if (has_device_time(instruction)) {
      const et_schema::Timing& timing = *instruction.timing;
      const std::int64_t stream = timing.stream.value_or(0);
      node.duration_us = device_rounding_[stream].take(timing.device_ns);
      if (timing.stream) {
        add_int64("stream", stream);
      }
      add_int64("device_ns", timing.device_ns);
      add_int64("launches", static_cast<std::int64_t>(timing.launches));
    } else if (is_blocking(instruction) && instruction.timing) {
      node.duration_us = host_rounding_[instruction.thread].take(blocking_ns(instruction));
    }
    add_order(edges.device);
    node.attributes = take_attributes();
    file_.nodes.push_back(node);
  }

  /// Writes the device work before `until_ns` that no instruction launched: a node for each stream
  /// and reason. Its time is scaled to that of the account, which is of all profiled steps.
  void write_outside(std::int64_t until_ns, ChakraOrder& order) {
    std::map<std::pair<std::int64_t, et_schema::Outside>, et_schema::Timing> sums;
    for (; next_work_ < program_.device_work.size() &&
           program_.device_work[next_work_].launch_ns < until_ns;
         ++next_work_) {
      const et_schema::DeviceWork& work = program_.device_work[next_work_];
      if (!work.instruction) {
        et_schema::Timing& sum = sums[{work.stream, work.why}];
        sum.device_ns += work.device_ns;
        ++sum.launches;
      }
    }
    for (const auto& [key, sum] : sums) {
      const std::int64_t ns = std::llround(outside_scale_ * static_cast<double>(sum.device_ns));
      ChakraNode node;
      node.id = next_id_++;
      node.type = ChakraNodeType::kCompute;
      node.name = to_string(key.second);
      const ChakraEdges edges = order.outside(key.first, node.id);
      node.data_deps = arena_.copy<std::uint64_t>(edges.all);
      node.duration_us = device_rounding_[key.first].take(ns);
      add_bool("is_cpu_op", false);
      add_bool("in_no_operator", true);
      add_int64("stream", key.first);
      add_int64("device_ns", ns);
      add_int64("launches", static_cast<std::int64_t>(sum.launches));
      add_order(edges);
      node.attributes = take_attributes();
      file_.nodes.push_back(node);
    }
  }

  void add_communication(const ChakraComm& comm, const et_schema::CommInfo& info,
                         ChakraNode& node) {
    node.type = comm.type;
    if (comm.type == ChakraNodeType::kCollective) {
      add_int64("comm_type", static_cast<std::int64_t>(comm.collective));
    } else {
      add_int32("comm_src", comm.source);
      add_int32("comm_dst", comm.destination);
      add_int32("comm_tag", comm.tag);
    }
    add_int64("comm_size", comm.bytes);
    add(attributes_, "pg_name", std::to_string(info.group));
  }

  void add_order(const ChakraEdges& edges) {
    if (!edges.order.empty()) {
      attributes_.push_back({.name = "order_deps",
                             .arm = ChakraArm::kUint64List,
                             .list = arena_.copy<std::uint64_t>(edges.order)});
    }
  }

  const Bench& bench_;
  const Program program_;  ///< with the rank's own groups
  int rank_;
  ChakraFile& file_;
  et_schema::Arena arena_;
  ChakraCommTable comms_;
  std::uint64_t next_id_ = kFirstId;
  std::vector<ChakraAttribute> attributes_;  ///< of the current node
  std::vector<et_schema::SlotId> touched_;
  bool are_strides_told_ = false;                     ///< of the current node
  std::map<std::uint64_t, Rounding> host_rounding_;   ///< by thread
  std::map<std::int64_t, Rounding> device_rounding_;  ///< by stream
  std::size_t next_work_ = 0;                         ///< in Program::device_work
  double outside_scale_ = outside_scale(program_);
};

/// Returns why nodes do not have a part of the program's time. Work that no instruction launched
/// has nodes of its own if the program lists it.
std::function<std::string(const et_schema::HeldTime&)> why_left(const Program& program) {
  return [has_work = outside_scale(program) > 0](const et_schema::HeldTime& part) {
    const bool has_node = has_work && part.device_ns > 0 && !is_left_out(part);
    return has_node ? std::string() : et_schema::in_no_instruction(part);
  };
}

/// Returns one rank's trace, without its file name.
ChakraFile chakra_of_rank(const Bench& bench, std::size_t rank) {
  constexpr std::size_t kBytesOfInstruction = 1024;
  ChakraFile file;
  file.rank = bench.recorded_rank(rank);
  file.arena = std::make_unique<std::pmr::monotonic_buffer_resource>(
      (bench.programs[rank].instructions.size() + 1) * kBytesOfInstruction);
  RankWriter(bench, rank, file).write();
  return file;
}

}  // namespace

ChakraJob chakra_of(const et_schema::Bench& bench, const std::string& prefix) {
  ChakraJob job;
  job.comm_groups = comm_groups_json(bench);
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    job.files.push_back(chakra_of_rank(bench, rank));
    job.files.back().file = fmt::format("{}.{}.et", prefix, job.files.back().rank);
    et_schema::add_step(bench.programs[rank], why_left(bench.programs[rank]), job.account);
    for (const auto& [loss, count] : chakra_losses(bench.programs[rank])) {
      job.left_out[loss] += count;
    }
  }
  if (bench.groups.size() > 1) {
    job.left_out[ChakraLoss::kGroupNames] += bench.groups.size() - 1;
  }
  return job;
}

}  // namespace understudy::generator
