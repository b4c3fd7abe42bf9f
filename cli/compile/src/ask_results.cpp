#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
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
  [[nodiscard]] int number() const { return file_; }
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

/// The program that answers. Loading LibTorch takes half a second, so the program runs until this
/// object is destroyed.
class Answerer {
 public:
  explicit Answerer(std::string program) : program_(std::move(program)) {
    std::array<int, 2> statuses{-1, -1};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    bool is_started = ::pipe2(questions_.data(), O_CLOEXEC) == 0;
    is_started = ::pipe2(statuses.data(), O_CLOEXEC) == 0 && is_started;
    ::posix_spawn_file_actions_adddup2(&actions, questions_[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, statuses[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, errors_.number(), STDERR_FILENO);
    std::string verb = "--verb=operator_results";
    std::array<char*, 3> words = {program_.data(), verb.data(), nullptr};
    is_started = is_started && ::posix_spawn(&pid_, program_.c_str(), &actions, nullptr,
                                             words.data(), environ) == 0;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(statuses[1]);
    statuses_ = statuses[0];
    if (!is_started) {
      throw run_failed("a program cannot be started", {.file = program_});
    }
  }
  ~Answerer() {
    ::close(questions_[1]);
    ::close(questions_[0]);
    ::close(statuses_);
    ::waitpid(pid_, nullptr, 0);
  }
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  /// Returns what each call results in.
  [[nodiscard]] std::vector<CallResults> answers_to(const et_schema::Program& calls,
                                                    const std::vector<std::string>& maps) const {
    const UnnamedFile asked;
    const UnnamedFile answered;
    asked.write(et_schema::program_to_text(calls));
    std::vector<std::string> files = {asked.path(), answered.path()};
    files.insert(files.end(), maps.begin(), maps.end());
    const int status = ask(files);
    if (status != 0) {
      const bool is_of_input = status == static_cast<int>(et_schema::ErrorKind::kBadInput);
      const std::string errors = et_schema::read_file(errors_.path(), et_schema::process_limits());
      const std::string said = errors.substr(0, errors.find_last_not_of('\n') + 1);
      throw et_schema::Error(
          is_of_input ? et_schema::ErrorKind::kBadInput : et_schema::ErrorKind::kFailed,
          "the results of operators cannot be found",
          {.file = program_,
           .got = fmt::format("status {}: {}", status, said),
           .hint = is_of_input ? "" : "`replay --version` tells whether LibTorch is found"});
    }
    std::vector<CallResults> answers = et_schema::call_results_from_text(
        et_schema::read_file(answered.path(), et_schema::process_limits()), program_);
    if (answers.size() != calls.instructions.size()) {
      throw run_failed("the results of operators cannot be found",
                       {.file = program_,
                        .expected = fmt::format("{} answers", calls.instructions.size()),
                        .got = fmt::format("{}", answers.size())});
    }
    return answers;
  }

 private:
  /// Sends the paths of files. Returns the status of the answer; kFailed if the program has ended.
  [[nodiscard]] int ask(const std::vector<std::string>& files) const {
    unsigned char status = static_cast<unsigned char>(et_schema::ErrorKind::kFailed);
    std::string text;
    for (const std::string& file : files) {
      text.append(file).push_back('\0');
    }
    text.push_back('\0');
    // This process holds the read end, too: no SIGPIPE is raised if the program has ended.
    static_cast<void>(::write(questions_[1], text.data(), text.size()) < 0);
    while (::read(statuses_, &status, 1) < 0 && errno == EINTR) {
    }
    return status;
  }

  std::string program_;
  UnnamedFile errors_;
  std::array<int, 2> questions_{-1, -1};
  int statuses_ = -1;
  pid_t pid_ = 0;
};

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
    std::optional<Answerer> answerer = {};
    generator::CallBook calls = {};
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
      if (!known->answerer) {
        known->answerer.emplace(program);
      }
      std::ranges::move(known->answerer->answers_to(asked, maps),
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
    tried->answers = Answerer(program).answers_to(tried->calls, maps);
  }
  return [tried](const et_schema::Program& rank, const et_schema::Instruction& instruction) {
    const std::optional<std::size_t> call = tried->find(rank, instruction);
    return call && tried->answers[*call].fails ? "it fails: " + tried->answers[*call].why_not : "";
  };
}

}  // namespace understudy::cli
