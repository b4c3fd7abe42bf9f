#include "profile_origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"

namespace understudy::et_schema {
namespace {

/// Another program that writes files of events, and the prefixes of its process names.
struct Writer {
  std::array<std::string_view, 3> processes;
  std::string_view name;
  std::string_view hint;
};
constexpr std::size_t kNpu = 3;
constexpr auto kWriters = std::to_array<Writer>(
    {{{}, "another program", "give the chrome trace that torch.profiler.profile wrote"},
     {{"CPU functions", "CUDA functions"},
      "torch.autograd.profiler, which has no categories",
      "profile with torch.profiler.profile, whose export_chrome_trace() writes them"},
     {{"/device:", "/host:", "/job:"},
      "the profiler of JAX or TensorFlow",
      "programs of PyTorch alone can be replayed; profile one with torch.profiler.profile"},
     {{"CANN", "Ascend Hardware"},
      "torch_npu, whose operators' arguments are no lists",
      "understudy inspect --device-time counts its device events; to replay it, give an execution "
      "trace, or a profile from another device"}});

}  // namespace

void ProfileOrigin::note_process(std::string_view name) {
  const auto* const found = std::ranges::find_if(kWriters, [name](const Writer& writer) {
    return std::ranges::any_of(writer.processes, [name](std::string_view process) {
      return !process.empty() && name.starts_with(process);
    });
  });
  writer_ = found == kWriters.end() ? writer_ : static_cast<std::size_t>(found - kWriters.begin());
}

void ProfileOrigin::note(KinetoCategory category, std::string_view pid) {
  if (category == KinetoCategory::kOther) {
    note_process(pid);
    return;
  }
  ++known_;
  const bool is_operator = category == KinetoCategory::kCpuOp;
  if (is_operator || category == KinetoCategory::kRuntime) {
    CountByPid& counts = is_operator ? operators_ : runtime_calls_;
    const auto found = counts.find(pid);
    ++(found == counts.end() ? counts.try_emplace(std::string(pid)).first : found)->second;
  }
}

void ProfileOrigin::check(const Profile& profile, KinetoDetail detail) const {
  const bool has_categories =
      known_ > 0 || (writer_ == 0 && profile.losses[Loss::kUnknownDeviceEvents] > 0);
  if (writer_ == kNpu ? detail == KinetoDetail::kArguments : !has_categories) {
    throw bad_input(
        fmt::format("not a profile of torch.profiler: written by {}", kWriters.at(writer_).name),
        {.field = "cat",
         .expected = "operators and device events in Kineto's categories (cpu_op, kernel, …)",
         .got = fmt::format("{} events, of which {} are in such a category", profile.events.size(),
                            known_),
         .hint = std::string(kWriters.at(writer_).hint)});
  }
  const CountByPid& processes = operators_.size() > 1 ? operators_ : runtime_calls_;
  if (processes.size() > 1) {
    const auto first = processes.begin();
    const auto second = std::next(first);
    throw bad_input(
        "a profile of several processes",
        {.field = "pid",
         .expected = "operators and calls of the runtime of one process",
         .got = fmt::format("{} processes: {} of {}, {} of {}{}", processes.size(), first->second,
                            quote(first->first), second->second, quote(second->first),
                            processes.size() > 2 ? ", …" : ""),
         .hint = "give the profile that each process wrote, as a file of its own for each rank "
                 "(replay --trace step.json writes step.0.json, … beside it)"});
  }
}

}  // namespace understudy::et_schema
