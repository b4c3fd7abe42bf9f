#include "bound_call.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>

#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "et_schema/facts/schema_text.h"
#include "replayer/device/placement.h"
#include "replayer/run/trial.h"

namespace understudy::calibrator {
namespace {

const std::vector<replayer::BoundGroup>& alone() {
  static const std::vector<replayer::BoundGroup> groups = {{"world", 0, 1}};
  return groups;
}

}  // namespace

BoundCall::BoundCall(et_schema::Program program, backends::Backend& backend, std::uint64_t seed,
                     c10::Device device)
    : program_(device.is_cpu() ? std::move(program) : replayer::move_to_device(std::move(program))),
      decisions_(program_, {device, replayer::Only::kAll}),
      machine_(program_, backend),
      externals_(program_, device, seed) {
  replayer::Trial trial(decisions_, machine_, externals_, backend, alone(), true, {}, device);
  bound_ = trial.run().program;
}

std::string BoundCall::refusal() {
  const replayer::Decision& decision = decisions_.of(program_.instructions.front());
  if (decision.how == replayer::How::kDirect && bound_.steps.size() == 1) {
    return {};
  }
  return decision.note.empty() ? "it does not run as it is" : decision.note;
}

void BoundCall::prepare() {
  restore();
  externals_.remember(bound_);
}

void BoundCall::restore() {
  externals_.restore();
  externals_.place(machine_.slots(), machine_.given());
  machine_.prime(bound_);
}

void BoundCall::evict_inputs() {
  for (const et_schema::SlotId slot : bound_.externals) {
    evict_tensor(machine_.slots()[slot]);
  }
}

namespace {

using et_schema::Argument;

/// Returns a default value as a trace would record it; nothing for types that no default has.
std::optional<Argument> recorded(const c10::IValue& value) {
  if (value.isNone()) {
    return Argument{Argument::None{}};
  }
  if (value.isBool()) {
    return Argument{value.toBool()};
  }
  if (value.isInt()) {
    return Argument{value.toInt()};
  }
  if (value.isDouble()) {
    return Argument{value.toDouble()};
  }
  if (value.isString()) {
    return Argument{value.toStringRef()};
  }
  if (value.isList()) {
    Argument::List items;
    for (const c10::IValue& item : value.toListRef()) {
      std::optional<Argument> element = recorded(item);
      if (!element) {
        return std::nullopt;
      }
      items.emplace_back() = std::move(*element);
    }
    return Argument{std::move(items)};
  }
  return std::nullopt;
}

std::string text_of(const c10::FunctionSchema& schema) {
  std::ostringstream text;
  text << schema;
  return text.str();
}

}  // namespace

std::string complete(Call& call) {
  if (call.schema.find('(') != std::string::npos) {
    return {};
  }
  const c10::OperatorName name(std::string(et_schema::without_overload(call.schema)),
                               std::string(et_schema::overload_of(call.schema)));
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  if (!handle) {
    return "this LibTorch has no such operator";
  }
  const std::vector<c10::Argument>& arguments = handle->schema().arguments();
  for (std::size_t i = call.args.size(); i < arguments.size(); ++i) {
    const std::optional<c10::IValue> value = arguments[i].default_value();
    std::optional<Argument> argument = value ? recorded(*value) : std::nullopt;
    if (!argument) {
      return fmt::format("argument {} has no default", arguments[i].name());
    }
    call.args.emplace_back() = std::move(*argument);
  }
  call.schema = text_of(handle->schema());
  return {};
}

namespace {

constexpr std::size_t kCallsBetweenRestores = 8;
constexpr double kNano = 1e9;
constexpr double kSlowNs = 0.25 * kNano;

}  // namespace

Repetitions::Repetitions(BoundCall& call, const TimingLimits& limits, double first_ns)
    : call_(call), limits_(limits) {
  if (first_ns > kSlowNs) {
    limits_.least = 1;
  }
}

bool Repetitions::next() {
  const bool has_time = begun_ < limits_.most && spent_ns_ < limits_.seconds * kNano;
  if (begun_ >= limits_.least && !has_time) {
    return false;
  }
  if (begun_ % kCallsBetweenRestores == 0) {
    call_.restore();
  }
  ++begun_;
  return true;
}

}  // namespace understudy::calibrator
