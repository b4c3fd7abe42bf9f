#include "replayer/run/run_error.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <new>
#include <variant>
#include <vector>

#include "replayer/device/device.h"
#include "replayer/dispatch/layout.h"
#include "replayer/memory/memory.h"
#include "replayer/substitutes/find_substitute.h"

namespace understudy::replayer {
namespace {

constexpr std::size_t kMostElements = 4;  // most elements of a list in a message

std::string describe_argument(const Program& program, const Argument& argument) {
  struct Visitor {
    const Program& program;
    std::string operator()(const Argument::None&) const { return "None"; }
    std::string operator()(const Argument::Undefined&) const { return "undefined"; }
    std::string operator()(const Argument::SlotRef& slot) const {
      return describe(program.slots[slot.id]);
    }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const { return '"' + value + '"'; }
    std::string operator()(const Argument::DeviceRef& value) const {
      return to_string(value.device);
    }
    std::string operator()(const Argument::Opaque& value) const { return '<' + value.tag + '>'; }
    std::string operator()(const Argument::List& list) const {
      std::vector<std::string> texts;
      for (const Argument& item : list) {
        if (texts.size() == kMostElements) {
          texts.push_back(fmt::format("… {} in all", list.size()));
          break;
        }
        texts.push_back(describe_argument(program, item));
      }
      return fmt::format("[{}]", fmt::join(texts, ", "));
    }
  };
  return std::visit(Visitor{program}, argument.value);
}

std::string describe_call(const Program& program, const Instruction& instruction) {
  std::vector<std::string> arguments;
  for (const Argument& argument : instruction.args) {
    arguments.push_back(describe_argument(program, argument));
  }
  return fmt::format("{}({})", instruction.name, fmt::join(arguments, ", "));
}

}  // namespace

std::string cause_of(const std::exception& exception) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&exception);
  const std::string text =
      torch_error != nullptr ? torch_error->what_without_backtrace() : exception.what();
  return text.substr(0, text.find('\n'));
}

bool is_out_of_memory(const std::exception& exception) {
  return dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
         dynamic_cast<const c10::OutOfMemoryError*>(&exception) != nullptr ||
         std::string(exception.what()).find("can't allocate memory") != std::string::npos;
}

et_schema::Error lost_device_error(const Program& program, const Step& step,
                                   const std::exception& exception, const std::string& device) {
  et_schema::ErrorContext context;
  std::string name = "a view of a tensor";
  if (step.source != nullptr) {
    name = step.source->name;
    context.node = step.source->node_id;
    context.field = describe_call(program, *step.source);
  }
  context.expected = device + " still answers after it";
  context.got = cause_of(exception);
  context.hint =
      "No operator can run on the device after such an error. Look for an index outside of a table "
      "(another --seed draws others), for memory that something else took, and in the system's log "
      "for errors of the device (Xid of NVIDIA's driver).";
  return et_schema::run_failed(device + " was lost in " + name, context);
}

void finish_iteration(c10::Device device) {
  try {
    synchronize(device);
  } catch (const c10::Error& error) {
    throw et_schema::run_failed(
        device_text(device) + " failed in an iteration",
        {.expected = "the operators that passed the first, checked iteration to pass again",
         .got = cause_of(error),
         .hint = "CUDA_LAUNCH_BLOCKING=1 makes the operator known at which it happens."});
  }
}

et_schema::Error step_error(const Program& program, const Step& step,
                            const std::exception& exception) {
  et_schema::ErrorContext context;
  context.got = cause_of(exception);
  std::string name = "a view of a tensor";
  if (step.source != nullptr) {
    context.node = step.source->node_id;
    context.field = describe_call(program, *step.source);
    context.expected = schema_text(program, *step.source);
    name = step.source->name;
  }
  if (is_out_of_memory(exception)) {
    // CUDA's allocator reports its own memory; for the host, this message does.
    const bool on_device = context.got.starts_with("CUDA out of memory");
    context.expected = on_device
                           ? "memory of the device for its results"
                           : fmt::format("memory for its results; {} bytes are live in tensors",
                                         cpu_allocations().live_bytes);
    context.hint =
        "Replay on a machine with more memory, or fewer ranks on this one (mpirun with several "
        "hosts, or --rank K for one rank alone).";
    return et_schema::run_failed("out of memory in " + name, context);
  }
  context.hint =
      "--continue-on-error replays the rest and counts the operator as dropped; --op-library loads "
      "custom operators.";
  return et_schema::run_failed(name + " failed", context);
}

}  // namespace understudy::replayer
