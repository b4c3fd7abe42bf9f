#include "cli/asking/asking.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/sandbox/sandbox.h"
#include "et_schema/base/error.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/shipped.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/formats/bench/program_text.h"
#include "et_schema/formats/call_results/call_results.h"
#include "et_schema/model/operator_trust.h"
#include "generator/profile/trace_of_profile.h"

namespace understudy::cli {
namespace {

using et_schema::CallResults;
using et_schema::run_failed;

/// A file without a name. It is deleted when this process ends.
class UnnamedFile {
 public:
  UnnamedFile() : file_(::memfd_create("operator_results", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    check(file_ >= 0);
  }
  ~UnnamedFile() { ::close(file_); }
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  [[nodiscard]] int number() const { return file_; }
  /// Replaces the content; the next write of a program that shares the file goes on behind it.
  void write(std::string_view text) const {
    check(::ftruncate(file_, 0) == 0 && ::lseek(file_, 0, SEEK_SET) == 0);
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      check(written >= 0 || errno == EINTR);
      text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
  }
  /// From now on nobody can change it, whoever holds it.
  void seal() const {
    check(::fcntl(file_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ==
          0);
  }
  [[nodiscard]] std::string content() const {
    return et_schema::read_file(fmt::format("/proc/self/fd/{}", file_),
                                et_schema::process_limits());
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

/// The program that answers. Loading PyTorch takes a second or two, so it runs until this object is
/// destroyed. It can write no file, and gives up more before it reads what it is asked.
class Answerer {
 public:
  /// `purpose` and `instead`: what the user is told if no Python has PyTorch.
  Answerer(const char* purpose, const char* instead) {
    std::vector<std::string> tried;
    for (const std::string& python : et_schema::pythons()) {
      start(python);
      if (status() == 0) {
        python_ = python;
        return;
      }
      const std::string said = errors_.content();
      const std::size_t end = said.find_last_not_of('\n') + 1;
      const std::size_t begin = said.rfind('\n', end == 0 ? 0 : end - 1) + 1;
      tried.push_back(fmt::format("{} ({})", python, said.substr(begin, end - begin)));
      stop();
    }
    throw et_schema::usage_error(
        purpose,
        {.expected = "a Python with torch",
         .got = tried.empty() ? "no Python" : fmt::format("{}", fmt::join(tried, "; ")),
         .hint = fmt::format("name one in UNDERSTUDY_PYTHON (pip install torch), or {}", instead)});
  }
  ~Answerer() { stop(); }
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;

  /// Returns the lines that answer a program's text and what it needs, see operator_results.py.
  [[nodiscard]] std::string ask(const std::string& text) const {
    calls_.write(text);
    answers_.write(et_schema::call_results_header());
    // This process holds the read end, too: no SIGPIPE is raised if the program has ended.
    static_cast<void>(::write(questions_[1], "?", 1) < 0);
    if (const int ended = status(); ended != 0) {
      throw run_failed("the results of operators cannot be found",
                       {.file = python_,
                        .got = fmt::format("status {}: {}", ended, errors_.content()),
                        .hint = "UNDERSTUDY_PYTHON names another Python with PyTorch"});
    }
    return answers_.content();
  }

  /// Returns what each call results in. `needed` are lines about schemas.
  [[nodiscard]] std::vector<CallResults> answers_to(const et_schema::Program& calls,
                                                    const std::string& needed) const {
    std::vector<CallResults> answers =
        et_schema::call_results_from_text(ask(et_schema::program_to_text(calls) + needed), python_);
    const auto [answer, call] = std::ranges::mismatch(
        answers, calls.instructions,
        [](const auto& told, const auto& asked) { return et_schema::fits(told, asked); });
    if (answer != answers.end() || call != calls.instructions.end()) {
      throw run_failed("the results of operators cannot be found",
                       {.file = python_,
                        .field = call != calls.instructions.end() ? call->name : "",
                        .expected = fmt::format("{} answers, of tensors that the calls can have",
                                                calls.instructions.size()),
                        .got = answer == answers.end() || call == calls.instructions.end()
                                   ? fmt::format("{}", answers.size())
                                   : "one that does not fit"});
    }
    return answers;
  }
  [[nodiscard]] const std::string& python() const { return python_; }

 private:
  void start(const std::string& python) {
    std::array<int, 2> statuses{-1, -1};
    std::vector<std::string> words = et_schema::python_words(python, "operator_results");
    std::vector<char*> arguments;
    std::ranges::transform(words, std::back_inserter(arguments),
                           [](std::string& word) { return word.data(); });
    arguments.push_back(nullptr);
    const UnnamedFile filters;
    filters.write(filters_of_calls());
    filters.seal();
    std::vector<int> files = {calls_.number(), answers_.number(), filters.number()};
    bool is_started =
        ::pipe2(questions_.data(), O_CLOEXEC) == 0 && ::pipe2(statuses.data(), O_CLOEXEC) == 0;
    statuses_ = statuses[0];
    files.insert(files.begin(), {questions_[0], statuses[1], errors_.number()});
    // Copies above all targets: none may replace a file that is still to be handed on.
    constexpr int kAboveTargets = 64;
    for (int& file : files) {
      file = ::fcntl(file, F_DUPFD_CLOEXEC, kAboveTargets);
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (std::size_t i = 0; i < files.size(); ++i) {
      ::posix_spawn_file_actions_adddup2(&actions, files[i], static_cast<int>(i));
    }
    const auto spawn = [&] {  // on a thread of its own: this process keeps its rights
      Sandbox sandbox;
      sandbox.confine_files(Sandboxing::kAuto, {.starts_programs = true, .is_of_thread = true});
      return ::posix_spawn(&pid_, python.c_str(), &actions, nullptr, arguments.data(), environ);
    };
    is_started = is_started && std::async(std::launch::async, spawn).get() == 0;
    ::posix_spawn_file_actions_destroy(&actions);
    std::ranges::for_each(files, ::close);
    ::close(statuses[1]);
    if (!is_started) {
      throw run_failed("a program cannot be started", {.file = python});
    }
  }

  void stop() {
    for (int& file : {std::ref(questions_[1]), std::ref(questions_[0]), std::ref(statuses_)}) {
      ::close(file);
      file = -1;
    }
    ::waitpid(pid_, nullptr, 0);
  }

  /// Returns the next status; kFailed if the program has ended.
  [[nodiscard]] int status() const {
    unsigned char status = static_cast<unsigned char>(et_schema::ErrorKind::kFailed);
    while (::read(statuses_, &status, 1) < 0 && errno == EINTR) {
    }
    return status;
  }

  UnnamedFile calls_;
  UnnamedFile answers_;
  UnnamedFile errors_;
  std::array<int, 2> questions_{-1, -1};
  int statuses_ = -1;
  pid_t pid_ = 0;
  std::string python_;
};

/// Returns the rows of files and benchmarks, whose authors are not known.
std::vector<const et_schema::MapRow*> foreign_rows() {
  std::vector<const et_schema::MapRow*> rows;
  for (const et_schema::MapRow& row : et_schema::operator_map().rows()) {
    if (!row.file.empty()) {
      rows.push_back(&row);
    }
  }
  return rows;
}

/// Tells what calls need besides their schemas: functions of the operator map, and why operators
/// that do more than compute are not called.
class Needs {
 public:
  /// Throws Error (bad input) if a function of any map cannot be called or must not be.
  explicit Needs(const Answerer& answerer) : answerer_(answerer) {
    const std::vector<const et_schema::MapRow*> rows = foreign_rows();
    learn(rows);
    for (const et_schema::MapRow* row : rows) {
      if (const std::string& why = refusals_.at(row->source()); !why.empty()) {
        throw et_schema::bad_input(
            "the operator map cannot be used",
            {.file = row->file,
             .field = fmt::format("rows[{}].does", row->number),
             .expected = "a function of operators that only compute",
             .got = why,
             .hint = "docs/formats.md, \"Operator map\", says what a row holds"});
      }
    }
  }

  /// Returns lines for operator_results.py about the schemas that need something.
  [[nodiscard]] std::string lines(const et_schema::Program& calls) {
    std::vector<et_schema::MapMatch> matches;
    std::vector<const et_schema::MapRow*> rows;
    for (const std::string& schema : calls.schemas) {
      const bool is_mapped =
          !et_schema::is_in_libtorch(et_schema::without_overload(et_schema::operator_name(schema)));
      matches.push_back(is_mapped ? et_schema::operator_map().find(schema) : et_schema::MapMatch());
      if (matches.back().call) {
        rows.push_back(matches.back().call->row);
      }
    }
    learn(rows);
    std::string lines;
    for (std::size_t i = 0; i < matches.size(); ++i) {
      if (const std::optional<nlohmann::json> line = need(calls.schemas[i], matches[i])) {
        nlohmann::json numbered = *line;
        numbered["of"] = i;
        lines += numbered.dump() + '\n';
      }
    }
    return lines;
  }

 private:
  /// Asks what the functions of rows call, and judges it.
  void learn(const std::vector<const et_schema::MapRow*>& rows) {
    et_schema::Program asked;
    std::string lines;
    std::vector<std::string*> places;
    for (const et_schema::MapRow* row : rows) {
      const auto [known, is_new] = refusals_.try_emplace(row->source());
      if (is_new) {
        places.push_back(&known->second);
        asked.instructions.emplace_back().schema =
            static_cast<et_schema::SchemaId>(asked.schemas.size());
        const nlohmann::json line = {{"of", asked.schemas.size()}, {"function", known->first}};
        asked.schemas.push_back(fmt::format("row{}()", asked.schemas.size()));
        lines += line.dump() + '\n';
      }
    }
    if (places.empty()) {
      return;
    }
    const std::vector<et_schema::CallResults> answers = answerer_.answers_to(asked, lines);
    for (std::size_t i = 0; i < places.size(); ++i) {
      *places[i] = answers[i].why_not;
      for (const std::string& schema : answers[i].calls) {
        const et_schema::OperatorTrust trust = et_schema::trust_of(schema);
        if (trust.reach == et_schema::OperatorReach::kBeyond) {
          *places[i] = fmt::format("{}: {}", et_schema::operator_name(schema), trust.why);
        }
      }
    }
  }

  [[nodiscard]] std::optional<nlohmann::json> need(const std::string& schema,
                                                   const et_schema::MapMatch& match) const {
    const auto refused = [](const std::string& why) { return nlohmann::json{{"why_not", why}}; };
    const et_schema::OperatorTrust trust = et_schema::trust_of(schema);
    if (trust.reach == et_schema::OperatorReach::kBeyond) {
      return refused(trust.why);
    }
    if (!match.call) {
      return match.why_not.empty() ? std::nullopt : std::optional(refused(match.why_not));
    }
    const std::string function = match.call->row->source();
    if (const std::string& why = refusals_.at(function); !why.empty()) {
      return refused(why);
    }
    nlohmann::json takes = nlohmann::json::array();
    for (std::size_t i = 0; i < match.call->arguments.size(); ++i) {
      const std::optional<std::size_t>& argument = match.call->arguments[i];
      takes.push_back({argument ? nlohmann::json(*argument) : nlohmann::json(),
                       match.call->row->takes[i].type});
    }
    return nlohmann::json{{"function", function}, {"takes", takes}};
  }

  const Answerer& answerer_;
  std::map<std::string, std::string> refusals_;  ///< by function; empty: it may be called
};

bool is_tried(const et_schema::Instruction& instruction) {
  return instruction.kind == et_schema::InstructionKind::kOp && instruction.schema &&
         et_schema::is_in_libtorch(et_schema::without_overload(instruction.name));
}

/// The different calls of LibTorch's operators in a benchmark.
struct TriedCalls {
  generator::CallBook calls = {};
  std::vector<CallResults> answers = {};  ///< by number of the call

  void add(const et_schema::Program& program,
           const std::vector<et_schema::Instruction>& instructions) {
    for (const et_schema::Instruction& instruction : instructions) {
      if (is_tried(instruction)) {
        calls.add(program, instruction);
      }
      add(program, instruction.body);
    }
  }
};

}  // namespace

generator::AskResults ask_results() {
  struct Known {
    Answerer answerer{"a profile alone needs PyTorch, which tells what its operators result in",
                      "give an execution trace"};
    Needs needs{answerer};
    generator::CallBook calls = {};
    std::vector<CallResults> answers = {};  ///< by number of the call
  };
  const auto known = std::make_shared<Known>();
  return [known](std::span<const generator::AskedCall> calls) {
    const std::vector<std::size_t> numbers = known->calls.add(calls);
    const et_schema::Program& asked = known->calls.new_calls();
    if (!asked.instructions.empty()) {
      std::ranges::move(known->answerer.answers_to(asked, known->needs.lines(asked)),
                        std::back_inserter(known->answers));
    }
    std::vector<CallResults> answers;
    answers.reserve(calls.size());
    for (const std::size_t number : numbers) {
      answers.push_back(known->answers[number]);
    }
    return answers;
  };
}

generator::AskSizes ask_sizes() {
  struct Known {
    Answerer answerer{"another size needs PyTorch, which tells what its operators result in",
                      "capture the program with that size"};
    Needs needs{answerer};
    std::map<std::string, std::vector<et_schema::OtherSize>> answers = {};
  };
  const auto known = std::make_shared<std::optional<Known>>();
  return [=](const et_schema::Program& program, const generator::BatchSize& size) {
    Known& asked = *known ? **known : known->emplace();
    const nlohmann::json wanted = {
        {"from", size.from}, {"to", size.to}, {"anywhere", size.anywhere}, {"parts", size.parts}};
    std::string text =
        et_schema::program_to_text(program) + asked.needs.lines(program) + wanted.dump() + '\n';
    const auto [answer, is_new] = asked.answers.try_emplace(std::move(text));
    if (is_new) {
      answer->second = et_schema::other_sizes_from_text(asked.answerer.ask(answer->first),
                                                        asked.answerer.python());
    }
    return answer->second;
  };
}

std::function<std::string(const et_schema::Program&, const et_schema::Instruction&)> try_calls(
    const et_schema::Bench& bench) {
  auto tried = std::make_shared<TriedCalls>();
  for (const et_schema::Program& rank : bench.programs) {
    tried->add(rank, rank.instructions);
  }
  std::optional<Answerer> answerer;
  try {
    answerer.emplace("an operator map needs PyTorch, which tells what its functions call",
                     "leave --op-library away");
  } catch (const et_schema::Error& error) {
    if (error.kind() != et_schema::ErrorKind::kUsage ||
        !std::ranges::all_of(foreign_rows(), &et_schema::MapRow::is_of_benchmark)) {
      throw;
    }
    return [](const et_schema::Program&, const et_schema::Instruction&) { return std::string(); };
  }
  Needs needs(*answerer);
  const et_schema::Program& calls = tried->calls.new_calls();
  tried->answers = answerer->answers_to(calls, needs.lines(calls));
  return [tried](const et_schema::Program& rank, const et_schema::Instruction& instruction) {
    const std::size_t call =
        is_tried(instruction) ? tried->calls.add(rank, instruction) : tried->answers.size();
    return call < tried->answers.size() && tried->answers[call].fails
               ? "it fails: " + tried->answers[call].why_not
               : "";
  };
}

}  // namespace understudy::cli
