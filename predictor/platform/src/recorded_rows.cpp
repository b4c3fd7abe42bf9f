
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "et_schema/base/error.h"
#include "predictor/platform/platform_costs.h"

namespace understudy::predictor {
namespace {

/// Returns OMP_NUM_THREADS; 0 if unknown.
int threads_of(const et_schema::RecordedProfile& profile) {
  const auto found = profile.variables.find("OMP_NUM_THREADS");
  const double threads =
      found == profile.variables.end() ? 0 : number_of(found->second).value_or(0);
  constexpr double kMost = 1 << 20;
  return threads >= 0 && threads <= kMost ? static_cast<int>(threads) : 0;
}

void add_calls(const Program& program, const std::string& source,
               std::vector<MeasuredCall>& calls) {
  const bool on_device = has_issue_times(program);
  const int threads = threads_of(*program.profile);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != InstructionKind::kOp || !instruction.timing) {
      continue;
    }
    const std::int64_t ns = on_device ? instruction.timing->device_ns : instruction.timing->host_ns;
    if (ns <= 0) {
      continue;  // on a device, host-only operators do not count
    }
    MeasuredCall& call = calls.emplace_back();
    call.call = call_of(program, instruction);
    call.device = on_device ? kGpuPlace : "cpu";
    call.threads = on_device ? 0 : threads;
    call.set_time(on_device ? TimedAs::kDevice : TimedAs::kHost,
                  {.n = program.profile->steps, .median_ns = static_cast<double>(ns)});
    call.source = source;
  }
}

bool is_place(const std::string& device) {
  return device == kGpuPlace || device.starts_with(std::string(kGpuPlace) + ":");
}

}  // namespace

std::vector<MeasuredCall> recorded_calls(const et_schema::Bench& bench, const std::string& source) {
  std::vector<MeasuredCall> calls;
  for (const Program& program : bench.programs) {
    if (program.profile) {
      add_calls(program, source, calls);
    }
  }
  if (calls.empty()) {
    throw et_schema::bad_input(
        "a benchmark without recorded times",
        {.file = source,
         .expected = "times of a linked profile",
         .got = "none",
         .hint =
             "Make it anew with `understudy generate --profile`, from a "
             "Kineto profile of the same step; a folder that scripts/capture wrote holds one."});
  }
  return calls;
}

void name_places(std::vector<MeasuredCall>& calls, const std::vector<Card>& described) {
  std::vector<std::string> unnamed;
  for (const Card& card : described) {
    if (std::ranges::find(calls, card.name, &MeasuredCall::device) == calls.end()) {
      unnamed.push_back(card.name);
    }
  }
  const auto first =
      std::ranges::find_if(calls, [](const MeasuredCall& call) { return is_place(call.device); });
  if (first == calls.end() || unnamed.empty()) {
    return;
  }
  if (unnamed.size() > 1) {
    throw et_schema::usage_error("several cards are described, and rows do not name theirs",
                                 {.file = first->source,
                                  .field = "--card",
                                  .expected = fmt::format("the card of {} alone", first->device),
                                  .got = fmt::format("{}", fmt::join(unnamed, "; ")),
                                  .hint = "give its card's file; those of others can be added "
                                          "later: understudy calibrate THIS.platform.json "
                                          "--card CARDS"});
  }
  for (MeasuredCall& call : calls) {
    if (is_place(call.device)) {
      call.device = unnamed.front();
    }
  }
}

}  // namespace understudy::predictor
