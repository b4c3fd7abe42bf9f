#include "profile_origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "et_schema/support/error.h"
#include "et_schema/support/quote.h"

namespace understudy::et_schema {
namespace {

/// How the name of a process begins in files of other programs.
struct WriterSign {
  const char* sign;
  std::string_view writer;
  std::string_view hint;
};
constexpr std::string_view kOldProfiler = "torch.autograd.profiler, which has no categories";
constexpr std::string_view kProfileAgain =
    "profile with torch.profiler.profile, whose export_chrome_trace() writes categories";
constexpr std::string_view kXla = "the profiler of JAX or TensorFlow";
constexpr std::string_view kPyTorchAlone =
    "profiles of PyTorch's programs alone can be read, as torch.profiler.profile writes them";
constexpr std::string_view kNpu = "torch_npu";
constexpr std::string_view kNpuHint =
    "inspect --device-time counts its device events; replay needs a profile of the program on a "
    "device that torch.profiler knows, or an execution trace";
constexpr auto kWriters =
    std::to_array<WriterSign>({{"CPU functions", kOldProfiler, kProfileAgain},
                               {"CUDA functions", kOldProfiler, kProfileAgain},
                               {"/device:", kXla, kPyTorchAlone},
                               {"/host:", kXla, kPyTorchAlone},
                               {"/job:", kXla, kPyTorchAlone},
                               {"CANN", kNpu, kNpuHint},
                               {"Ascend Hardware", kNpu, kNpuHint}});

const WriterSign* writer_of(const char* sign) {
  const auto* const found = std::ranges::find(kWriters, sign, &WriterSign::sign);
  return found == kWriters.end() ? nullptr : found;
}

}  // namespace

void ProfileOrigin::note_process(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kWriters, [name](const WriterSign& writer) { return name.starts_with(writer.sign); });
  sign_ = found == kWriters.end() ? sign_ : found->sign;
}

void ProfileOrigin::note(KinetoCategory category, std::string_view pid) {
  const bool is_operator = category == KinetoCategory::kCpuOp;
  if (category == KinetoCategory::kOther) {
    note_process(pid);
    return;
  }
  ++known_;
  if (is_operator || category == KinetoCategory::kRuntime) {
    CountByPid& counts = is_operator ? operators_ : runtime_calls_;
    const auto found = counts.find(pid);
    ++(found == counts.end() ? counts.try_emplace(std::string(pid)).first : found)->second;
  }
}

std::string_view ProfileOrigin::writer() const {
  const WriterSign* const writer = writer_of(sign_);
  return writer == nullptr ? std::string_view() : writer->writer;
}

void ProfileOrigin::refuse_foreign(const Profile& profile, KinetoDetail detail) const {
  const WriterSign* const writer = writer_of(sign_);
  const bool is_npu = writer != nullptr && writer->writer == kNpu;
  const bool lacks_categories =
      known_ == 0 && (writer != nullptr || profile.losses[Loss::kUnknownDeviceEvents] == 0);
  if (is_npu ? detail != KinetoDetail::kArguments : !lacks_categories) {
    return;
  }
  throw bad_input(
      writer == nullptr
          ? "not a profile of torch.profiler"
          : fmt::format("not a profile of torch.profiler: written by {}", writer->writer),
      {.field = "cat",
       .expected = "events of operators and devices in Kineto's categories (cpu_op, kernel, …)",
       .got = fmt::format("{} events, of which {} are in such a category", profile.events.size(),
                          known_),
       .hint = std::string(writer == nullptr ? kPyTorchAlone : writer->hint)});
}

void ProfileOrigin::refuse_several_processes() const {
  const bool are_operators = operators_.size() > 1;
  const CountByPid& processes = are_operators ? operators_ : runtime_calls_;
  if (processes.size() < 2) {
    return;
  }
  constexpr std::size_t kMostShown = 4;
  std::string got = fmt::format("{} processes: ", processes.size());
  std::size_t shown = 0;
  for (const auto& [pid, count] : processes) {
    got += shown == kMostShown ? ", …"
           : shown > kMostShown
               ? ""
               : fmt::format("{}{} of {}", shown == 0 ? "" : ", ", count, quote(pid));
    ++shown;
  }
  throw bad_input("a profile of several processes",
                  {.field = "pid",
                   .expected = are_operators ? "the operators of one process"
                                             : "the calls of the runtime of one process",
                   .got = std::move(got),
                   .hint = "give the profile that each process wrote, as a file of its own for "
                           "each rank (replay --trace step.json writes step.0.json, … beside it)"});
}

}  // namespace understudy::et_schema
