#include "step_profile.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#include <tuple>

#include "collective_time.h"
#include "et_schema/base/error.h"
#include "replayer/dispatch/layout.h"

namespace understudy::replayer {
namespace {

namespace profiler = torch::autograd::profiler;
namespace impl = torch::profiler::impl;
using Json = nlohmann::json;

constexpr const char* kStepName = "ProfilerStep#1";
/// Higher than any thread id of the system.
constexpr int kCommunicationThread = 1'000'000'000;

std::int64_t elements_of(const std::vector<backends::Buffer>& buffers) {
  std::int64_t elements = 0;
  for (const backends::Buffer& buffer : buffers) {
    elements += buffer.count;
  }
  return elements;
}

std::string name_of(const Step& step) {
  return step.source == nullptr ? "communication" : step.source->name;
}

impl::ProfilerConfig config() {
  return impl::ProfilerConfig(impl::ProfilerState::KINETO, /*report_input_shapes=*/true,
                              /*profile_memory=*/true);
}

/// Spans of one group that do not overlap, shown like work on a stream.
struct Row {
  std::string name;
  ProfiledHook::Clock::time_point end;
};

/// Adds the spans as events of threads. `step_us` is the begin of the step in the profile.
void add_spans(const ProfiledHook& hook, double step_us, const Json& process, Json& events) {
  using Clock = ProfiledHook::Clock;
  const auto microseconds = [](Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  };
  // A double cannot resolve shorter times since boot. Without this distance, adjacent spans would
  // overlap and viewers would drop one.
  constexpr Clock::duration kBetween = std::chrono::nanoseconds(2);
  std::vector<ProfiledHook::Span> spans = hook.spans();
  std::ranges::sort(spans, {}, &ProfiledHook::Span::begin);
  std::vector<Row> rows;
  std::map<backends::GroupId, Clock::time_point> group_ends;  // of the group's collectives
  for (const ProfiledHook::Span& span : spans) {
    const BoundComm& comm = hook.comm_of(span);
    Clock::time_point begin = span.begin;
    if (!et_schema::is_message(comm.call.kind)) {
      Clock::time_point& group_end = group_ends.try_emplace(comm.call.group, begin).first->second;
      begin = std::max(begin, std::min(group_end, span.end));  // after earlier collectives of the
                                                               // group
      group_end = std::max(group_end, span.end);
    }
    const std::string name = fmt::format("communication in '{}'", comm.group_name);
    auto row = std::ranges::find_if(
        rows, [&](const Row& other) { return other.name == name && other.end <= begin; });
    if (row == rows.end()) {
      row = rows.insert(rows.end(), {name, {}});
      events.push_back({{"ph", "M"},
                        {"name", "thread_name"},
                        {"pid", process},
                        {"tid", kCommunicationThread + (row - rows.begin())},
                        {"args", {{"name", name}}}});
    }
    row->end = span.end;
    events.push_back({{"ph", "X"},
                      {"cat", "user_annotation"},
                      {"name", span.name},
                      {"pid", process},
                      {"tid", kCommunicationThread + (row - rows.begin())},
                      {"ts", step_us + microseconds(begin - hook.begin())},
                      {"dur", microseconds(std::max(span.end - begin - kBetween, {}))},
                      {"args", {{"behind others, us", microseconds(begin - span.begin)}}}});
  }
}

}  // namespace

void ProfiledHook::begin_step() {
  step_.emplace(at::RecordScope::USER_SCOPE);
  spans_.clear();
  begin_ = Clock::now();
  if (step_->isActive()) {
    step_->before(kStepName);
  }
}

void ProfiledHook::built(const Step& step) {
  if (issue_ != nullptr) {
    issue_->built(step);
  }
  if (step.kind == StepKind::kStart) {
    starts_[step.index] = {name_of(step), Clock::now()};
    record(step);
  } else if (step.kind == StepKind::kJoin) {
    record_.emplace(at::RecordScope::USER_SCOPE);
    if (record_->isActive()) {
      record_->before(fmt::format("wait for communication {}", step.index));
    }
  }
}

void ProfiledHook::record(const Step& step) {
  const BoundComm& comm = bound_.comms[step.index];
  const auto group = std::tuple(comm.group_name, std::string());
  const auto sequence = std::tuple<std::int64_t, bool>(step.index, false);
  // Ranks are omitted if the group is a part of the world.
  const int begin = comm.group_size == world_size_ ? 0 : -1;
  const int stride = begin == 0 ? 1 : -1;
  const auto dtype =
      comm.call.inputs.empty() && comm.call.outputs.empty()
          ? at::kByte
          : to_scalar_type(
                (comm.call.inputs.empty() ? comm.call.outputs : comm.call.inputs).front().dtype);
  debug_info_.emplace(c10::DebugInfoKind::PARAM_COMMS_INFO,
                      std::make_shared<torch::ParamCommsDebugInfo>(
                          group, rank_, name_of(step), elements_of(comm.call.inputs),
                          elements_of(comm.call.outputs), dtype, comm.call.in_splits,
                          comm.call.out_splits, begin, stride, comm.group_size));
  record_.emplace(at::RecordScope::FUNCTION);
  if (record_->isActive()) {
    const std::vector<c10::IValue> inputs = {
        sequence, group,  rank_,          name_of(step), comm.call.in_splits, comm.call.out_splits,
        begin,    stride, comm.group_size};
    record_->before(at::kParamCommsCallName,
                    c10::ArrayRef<const c10::IValue>(inputs.data(), inputs.size()));
  }
}

void ProfiledHook::called(const Step& step, const torch::jit::Stack& stack) {
  record_.reset();
  debug_info_.reset();
  if (issue_ != nullptr) {
    issue_->called(step, stack);
  }
  if (const backends::Ended end = end_of_comm(bound_, step, Clock::now())) {
    const Start& start = starts_[step.index];
    spans_.push_back({step.index,
                      fmt::format("{} in '{}', communication {}", start.name,
                                  bound_.comms[step.index].group_name, step.index),
                      start.time, *end});
  }
}

StepProfiler::StepProfiler(c10::Device device) {
  // Without this, Kineto reports a missing GPU on standard error.
  setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  std::set<impl::ActivityType> activities = {impl::ActivityType::CPU};
  if (device.is_cuda()) {
    activities.insert(impl::ActivityType::CUDA);
  }
  profiler::prepareProfiler(config(), activities);
  profiler::enableProfiler(config(), activities,
                           {at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE});
  is_on_ = true;
}

StepProfiler::~StepProfiler() {
  if (is_on_) {
    static_cast<void>(profiler::disableProfiler());
  }
}

std::string StepProfiler::end(const ProfiledHook& hook, int rank, int world_size,
                              const std::string& path) {
  is_on_ = false;
  profiler::disableProfiler()->save(path);
  Json profile = Json::parse(std::ifstream(path), nullptr, /*allow_exceptions=*/false);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (!profile.is_object() || !profile.contains("traceEvents")) {
    throw et_schema::run_failed(
        "LibTorch's profiler wrote no profile",
        {.rank = rank, .field = "--trace", .hint = "leave --trace out, or use another LibTorch"});
  }
  Json& events = profile["traceEvents"];
  // The begin of the step relates the two clocks.
  const auto step = std::ranges::find_if(events, [](const Json& event) {
    return event.value("cat", "") == "user_annotation" && event.value("name", "") == kStepName;
  });
  profile["distributedInfo"] = {{"rank", rank}, {"world_size", world_size}};
  if (step == events.end() || hook.spans().empty()) {
    return profile.dump();
  }
  add_spans(hook, step->at("ts").get<double>(), Json(step->at("pid")), events);
  return profile.dump();
}

}  // namespace understudy::replayer
