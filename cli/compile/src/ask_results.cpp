#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/common/own_program.h"
#include "cli/compile/compile.h"
#include "et_schema/base/error.h"
#include "et_schema/base/read_file.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/formats/bench/program_text.h"
#include "et_schema/formats/call_results/call_results.h"
#include "et_schema/model/bodies.h"
#include "fleet/process/run_program.h"
#include "generator/profile/trace_of_profile.h"

namespace understudy::cli {
namespace {

using et_schema::CallResults;
using et_schema::run_failed;

/// A file without a name. It is deleted when this process ends.
class UnnamedFile {
 public:
  UnnamedFile() : file_(::memfd_create("operator_results", MFD_CLOEXEC)) { check(file_ >= 0); }
  ~UnnamedFile() { ::close(file_); }
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  /// Path for programs started by this process; valid while it lives.
  [[nodiscard]] std::string path() const {
    return fmt::format("/proc/{}/fd/{}", ::getpid(), file_);
  }
  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      check(written >= 0 || errno == EINTR);
      text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
  }

 private:
  static void check(bool ok) {
    if (!ok) {
      throw run_failed("calls of operators cannot be handed on",
                       {.got = std::generic_category().message(errno)});
    }
  }
  int file_;
};

std::vector<CallResults> answers_to(const et_schema::Program& calls, const std::string& program,
                                    const std::vector<std::string>& maps) {
  const UnnamedFile asked;
  const UnnamedFile answered;
  asked.write(et_schema::program_to_text(calls));
  std::vector<std::string> words = {program, "--verb=operator_results", asked.path(),
                                    answered.path()};
  words.insert(words.end(), maps.begin(), maps.end());
  const fleet::ProgramEnd end = fleet::run_program({.words = std::move(words)});
  if (end.status != 0) {
    const bool is_of_input = end.status == static_cast<int>(et_schema::ErrorKind::kBadInput);
    const std::string said = end.errors.substr(0, end.errors.find_last_not_of('\n') + 1);
    throw et_schema::Error(
        is_of_input ? et_schema::ErrorKind::kBadInput : et_schema::ErrorKind::kFailed,
        "the results of operators cannot be found",
        {.file = program,
         .got = fmt::format("status {}: {}", end.status, said),
         .hint = is_of_input ? "" : "`replay --version` tells whether LibTorch is found"});
  }
  std::vector<CallResults> answers = et_schema::call_results_from_text(
      et_schema::read_file(answered.path(), et_schema::process_limits()), program);
  if (answers.size() != calls.instructions.size()) {
    throw run_failed("the results of operators cannot be found",
                     {.file = program,
                      .expected = fmt::format("{} answers", calls.instructions.size()),
                      .got = fmt::format("{}", answers.size())});
  }
  return answers;
}

/// The different calls of programs: equal arguments, of equal layouts.
struct TriedCalls {
  et_schema::Program calls;
  std::vector<CallResults> answers;

  void add(const et_schema::Program& program,
           const std::vector<et_schema::Instruction>& instructions) {
    for (const et_schema::Instruction& instruction : instructions) {
      if (instruction.kind == et_schema::InstructionKind::kOp && instruction.schema &&
          et_schema::is_in_libtorch(et_schema::without_overload(instruction.name)) &&
          !find(program, instruction)) {
        by_schema_[program.schemas[*instruction.schema]].push_back(calls.instructions.size());
        et_schema::Instruction& call = calls.instructions.emplace_back();
        call.name = instruction.name;
        call.schema = static_cast<et_schema::SchemaId>(calls.schemas.size());
        call.args = plain(program, instruction.args);
        calls.schemas.push_back(program.schemas[*instruction.schema]);
      }
      add(program, instruction.body);
    }
  }

  [[nodiscard]] std::optional<std::size_t> find(const et_schema::Program& program,
                                                const et_schema::Instruction& instruction) {
    const auto known = instruction.schema ? by_schema_.find(program.schemas[*instruction.schema])
                                          : by_schema_.end();
    if (known == by_schema_.end()) {
      return std::nullopt;
    }
    const std::vector<et_schema::Argument> arguments = plain(program, instruction.args);
    const auto same = std::ranges::find_if(known->second, [&](std::size_t call) {
      return calls.instructions[call].args == arguments;
    });
    return same == known->second.end() ? std::nullopt : std::optional(*same);
  }

 private:
  std::vector<et_schema::Argument> plain(const et_schema::Program& program,
                                         std::vector<et_schema::Argument> arguments) {
    et_schema::renumber_slots(
        arguments, [&](et_schema::SlotId slot) { return layout_of(program, program.slots[slot]); });
    return arguments;
  }

  et_schema::SlotId layout_of(const et_schema::Program& program, const et_schema::Slot& slot) {
    const et_schema::Device device = program.storages[slot.storage].device;
    const auto [layout, is_new] = layouts_.try_emplace(
        {slot.dtype, slot.sizes, slot.strides, slot.sparse, et_schema::to_string(device)},
        static_cast<et_schema::SlotId>(calls.slots.size()));
    if (is_new) {
      et_schema::Slot& plain = calls.slots.emplace_back();
      std::tie(plain.dtype, plain.sizes, plain.strides, plain.sparse, std::ignore) = layout->first;
      plain.storage = static_cast<et_schema::StorageId>(calls.storages.size());
      calls.storages.push_back({.device = device});
    }
    return layout->second;
  }

  using Layout = std::tuple<et_schema::DType, std::vector<std::int64_t>, std::vector<std::int64_t>,
                            bool, std::string>;
  std::map<Layout, et_schema::SlotId> layouts_;
  std::map<std::string, std::vector<std::size_t>> by_schema_;
};

}  // namespace

generator::AskResults ask_results() {
  const std::string program = sibling("replay");
  if (!std::filesystem::exists(program)) {
    throw et_schema::usage_error(
        "a profile alone needs LibTorch, which tells what its operators result in",
        {.file = own_program(),
         .expected = "the program replay beside it",
         .got = "a build without LibTorch",
         .hint = "build with UNDERSTUDY_BUILD_REPLAYER, or give an execution trace"});
  }
  struct Known {
    generator::CallBook calls;
    std::vector<CallResults> answers = {};  ///< by number of the call
  };
  const auto known = std::make_shared<Known>();
  return [program, known](std::span<const generator::AskedCall> calls) {
    const std::vector<std::size_t> numbers = known->calls.add(calls);
    std::vector<std::string> maps;
    for (const et_schema::MapFile& map : et_schema::operator_map().files()) {
      maps.push_back(map.path);
    }
    const et_schema::Program& asked = known->calls.new_calls();
    const std::size_t before = known->answers.size();
    known->answers.resize(before + asked.instructions.size(), {.why_not = "no answer"});
    if (!asked.instructions.empty()) {
      std::ranges::move(answers_to(asked, program, maps),
                        known->answers.begin() + static_cast<std::ptrdiff_t>(before));
    }
    std::vector<CallResults> answers;
    answers.reserve(calls.size());
    for (const std::size_t number : numbers) {
      answers.push_back(known->answers[number]);
    }
    return answers;
  };
}

std::function<std::string(const et_schema::Program&, const et_schema::Instruction&)> try_calls(
    const et_schema::Bench& bench) {
  const std::string program = sibling("replay");
  auto tried = std::make_shared<TriedCalls>();
  if (std::filesystem::exists(program)) {
    for (const et_schema::Program& rank : bench.programs) {
      tried->add(rank, rank.instructions);
    }
    std::list<UnnamedFile> files;
    std::vector<std::string> maps;
    for (const std::string& map : bench.op_maps) {
      files.emplace_back().write(map);
      maps.push_back(files.back().path());
    }
    tried->answers = answers_to(tried->calls, program, maps);
  }
  return [tried](const et_schema::Program& rank, const et_schema::Instruction& instruction) {
    const std::optional<std::size_t> call = tried->find(rank, instruction);
    return call && tried->answers[*call].fails ? "it fails: " + tried->answers[*call].why_not : "";
  };
}

}  // namespace understudy::cli
