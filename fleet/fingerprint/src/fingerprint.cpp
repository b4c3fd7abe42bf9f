#include "fleet/fingerprint/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "et_schema/base/json_record.h"
#include "et_schema/model/memory_plan.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/open_comms.h"
#include "et_schema/model/original_step.h"
#include "et_schema/model/program.h"

namespace understudy::fleet {
namespace {

using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;

constexpr double kNsPerMs = 1e6;

bool is_work(const Instruction& instruction) {
  return instruction.kind != InstructionKind::kMarker &&
         instruction.kind != InstructionKind::kAlias && instruction.kind != InstructionKind::kWait;
}

double elements_of(const Slot& slot) {
  double elements = 1;
  for (const std::int64_t size : slot.sizes) {
    elements *= static_cast<double>(std::max<std::int64_t>(size, 0));
  }
  return elements;
}

/// Sums over all calls of one operator.
struct Sum {
  std::uint64_t calls = 0;
  double time = 0;
  double log2_elements = 0;
  std::map<std::string, std::uint64_t> shapes;
};

class Reader {
 public:
  explicit Reader(bool by_device) : by_device_(by_device) {}

  void read(const Program& program) {
    for (const Instruction& instruction : program.instructions) {
      if (is_work(instruction)) {
        add(program, instruction);
      }
    }
  }

  void finish(Fingerprint& print) const {
    double all_time = 0;
    double all_calls = 0;
    for (const auto& [name, sum] : sums_) {
      all_time += sum.time;
      all_calls += static_cast<double>(sum.calls);
    }
    print.is_timed = all_time > 0;
    for (const auto& [name, sum] : sums_) {
      const double calls = static_cast<double>(sum.calls);
      OperatorPrint& row = print.operators[name];
      row.calls = sum.calls;
      row.share = print.is_timed ? sum.time / all_time : calls / all_calls;
      row.log2_elements = sum.log2_elements / calls;
      row.shapes = std::ranges::max_element(sum.shapes, {}, [](const auto& entry) {
                     return entry.second;
                   })->first;
      print.class_share[classes_.at(name)] += row.share;
    }
    print.collectives = collectives_;
  }

 private:
  void add(const Program& program, const Instruction& instruction) {
    const std::string name = is_communication(instruction) && instruction.comm
                                 ? std::string(et_schema::to_string(instruction.comm->kind))
                                 : instruction.name;
    Sum& sum = sums_[name];
    ++sum.calls;
    if (instruction.timing) {
      sum.time += static_cast<double>(by_device_ ? instruction.timing->device_ns
                                                 : instruction.timing->host_ns);
    }
    double elements = 0;
    std::int64_t bytes = 0;
    std::vector<std::string> shapes;
    et_schema::for_each_slot(instruction.args, [&](SlotId id) {
      const Slot& slot = program.slots[id];
      elements += elements_of(slot);
      bytes += program.storages[slot.storage].bytes;
      shapes.push_back(fmt::format("{}", fmt::join(slot.sizes, "×")));
    });
    et_schema::for_each_slot(instruction.results,
                             [&](SlotId id) { elements += elements_of(program.slots[id]); });
    sum.log2_elements += std::log2(1 + elements);
    constexpr std::size_t kShownShapes = 3;
    const std::size_t shown = std::min(shapes.size(), kShownShapes);
    ++sum.shapes[fmt::format(
        "{}{}",
        fmt::join(shapes.begin(), shapes.begin() + static_cast<std::ptrdiff_t>(shown), " · "),
        shown < shapes.size() ? " …" : "")];
    classes_[name] =
        is_communication(instruction) ? "communication" : std::string(et_schema::op_class(name));
    if (is_communication(instruction)) {
      CollectivePrint& collective = collectives_[name];
      ++collective.calls;
      collective.bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
    }
  }

  bool by_device_;
  std::map<std::string, Sum> sums_;
  std::map<std::string, std::string> classes_;
  std::map<std::string, CollectivePrint> collectives_;
};

bool has_device_times(const et_schema::Bench& bench) {
  return std::ranges::any_of(bench.programs, [](const Program& program) {
    return program.profile && program.profile->operators_device_ns > 0;
  });
}

}  // namespace

Fingerprint fingerprint_of(const et_schema::Bench& bench) {
  Fingerprint print;
  print.world_size = bench.world_size();
  Reader reader(has_device_times(bench));
  for (const Program& program : bench.programs) {
    reader.read(program);
    const et_schema::MemoryPlan memory = et_schema::plan_step_memory(program);
    print.live_peak_bytes =
        std::max(print.live_peak_bytes, memory.peak_bytes - memory.external_bytes);
    print.external_bytes = std::max(print.external_bytes, memory.external_bytes);
    for (const auto& [name, count] : program.losses.nonzero()) {
      print.losses += count;
    }
    print.step_ms = std::max(print.step_ms,
                             static_cast<double>(et_schema::recorded_step_ns(program)) / kNsPerMs);
  }
  reader.finish(print);
  return print;
}

using et_schema::SameAs;

static constexpr int kVersion = 1;
static constexpr const char* kFormat = "understudy-fingerprint";

void members(auto& json, SameAs<OperatorPrint> auto& row) {
  json("calls", row.calls);
  json("share", row.share, et_schema::kNotNegative);
  json("log2_elements", row.log2_elements, et_schema::kNotNegative);
  json("shapes", row.shapes);
}

void members(auto& json, SameAs<CollectivePrint> auto& row) {
  json("calls", row.calls);
  json("bytes", row.bytes);
}

/// All members except format and version.
static void print_members(auto& json, auto& print) {
  json("world_size", print.world_size, et_schema::AtLeast{1});
  json("is_timed", print.is_timed);
  json("class_share", print.class_share, et_schema::kNotNegative);
  json("operators", print.operators);
  json("collectives", print.collectives);
  json("live_peak_bytes", print.live_peak_bytes);
  json("external_bytes", print.external_bytes);
  json("step_ms", print.step_ms, et_schema::kNotNegative);
  json("losses", print.losses);
}

nlohmann::ordered_json json_value(const Fingerprint& print) {
  et_schema::JsonWriter json;
  json("format", kFormat);
  json("version", kVersion);
  print_members(json, print);
  return json.take();
}

void read_value(const et_schema::JsonField& field, Fingerprint& print) {
  et_schema::check_format(field, {"fingerprint", kFormat, kVersion});
  et_schema::JsonReader reader(field);
  print_members(reader, print);
}

}  // namespace understudy::fleet
