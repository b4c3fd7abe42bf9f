// replay --verb=operator_results: determines the tensors that calls of operators return. The
// standard input names files, each ended by a NUL, and another NUL ends a question: CALLS, ANSWERS
// and operator maps. The answer is a byte, the status. CALLS is a program's text
// (et_schema/formats/bench/program_text.h). ANSWERS is an existing file; it gets a line for each
// instruction (et_schema/formats/call_results/call_results.h). A kernel that does not check its
// arguments may end the process that calls it. Calls therefore run in a sandboxed child, and the
// next child continues after the failed call.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "cli/common/run_main.h"
#include "cli/common/verb.h"
#include "cli/sandbox/sandbox.h"
#include "et_schema/base/error.h"
#include "et_schema/base/read_file.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/formats/bench/program_text.h"
#include "et_schema/formats/call_results/call_results.h"
#include "replayer/memory/memory.h"
#include "replayer/results/results.h"
#include "replayer/substitutes/mapped.h"

namespace understudy::cli {
namespace {

/// The tensors of the calls, which the author of a profile chooses.
constexpr std::uint64_t kMostTensorBytes = std::uint64_t{2} << 30U;

/// Writer of answers. A line is written at once, so that none is lost if the process ends.
class Answers {
 public:
  explicit Answers(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {
    check(file_ >= 0);
    write(et_schema::call_results_header());
  }
  ~Answers() { ::close(file_); }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  void write(const et_schema::CallResults& results) { write(call_results_line(results)); }

 private:
  void write(const std::string& line) {
    std::size_t written = 0;
    while (written < line.size()) {
      const ssize_t more = ::write(file_, line.data() + written, line.size() - written);
      check(more >= 0 || errno == EINTR);
      written += more > 0 ? static_cast<std::size_t>(more) : 0;
    }
  }
  void check(bool ok) const {
    if (!ok) {
      throw et_schema::run_failed("answers cannot be written",
                                  {.file = path_, .got = std::generic_category().message(errno)});
    }
  }

  std::string path_;
  int file_;
};

/// Memory shared by parent and children.
struct Counts {
  std::atomic<std::size_t> answered = 0;
  std::atomic<bool> is_calling = false;  ///< true while a kernel runs
};

class Progress {
 public:
  Progress()
      : memory_(::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)) {
    if (memory_ == MAP_FAILED) {
      throw std::bad_alloc();
    }
    counts_ = new (memory_) Counts;
  }
  ~Progress() { ::munmap(memory_, sizeof(Counts)); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Counts* operator->() { return counts_; }

 private:
  void* memory_;
  Counts* counts_;
};

/// Answers the remaining calls in this process. Only this process reads untrusted input.
int answer_calls(const std::string& calls, const std::vector<std::string>& maps, Answers& answers,
                 Progress& progress) {
  const std::string text = et_schema::read_file(calls, et_schema::process_limits());
  std::vector<std::string> map_texts;  // contents of the parent's files, which the sandbox denies
  for (const std::string& map : maps) {
    map_texts.push_back(et_schema::read_file(map, et_schema::process_limits()));
  }
  Sandbox sandbox;
  sandbox.confine_files(Sandboxing::kAuto, {});
  sandbox.deny_calls();
  replayer::count_cpu_allocations();
  replayer::limit_cpu_allocations(kMostTensorBytes);
  replayer::limit_own_memory(2 * kMostTensorBytes);
  const replayer::GuardedAllocations guarded;
  // if two maps name an operator, the last one counts
  for (std::size_t i = maps.size(); i-- > 0;) {
    et_schema::use_rows_of_benchmark(map_texts[i], maps[i]);
  }
  if (!maps.empty()) {
    replayer::check_operator_map();
  }
  const et_schema::Program program = et_schema::program_from_text(text, calls);
  while (progress->answered < program.instructions.size()) {
    progress->is_calling = true;
    const auto results = replayer::results_of(program, program.instructions[progress->answered]);
    progress->is_calling = false;
    answers.write(results);
    ++progress->answered;
  }
  return kStatusOk;
}

/// Runs answer_calls() in a child. Returns how the child ended.
int answer_in_child(const std::string& calls, const std::vector<std::string>& maps,
                    Answers& answers, Progress& progress) {
  const pid_t child = ::fork();
  if (child < 0) {
    throw et_schema::run_failed("a process cannot be started",
                                {.got = std::generic_category().message(errno)});
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(STDIN_FILENO);  // the calls must not answer for their parent
    ::close(STDOUT_FILENO);
    ::_exit(run_main("operator_results", 0, nullptr,
                     [&] { return answer_calls(calls, maps, answers, progress); }));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int answer(const std::string& calls, const std::string& path,
           const std::vector<std::string>& maps) {
  Answers answers(path);
  Progress progress;
  for (;;) {
    const int status = answer_in_child(calls, maps, answers, progress);
    if (!WIFSIGNALED(status)) {
      return WEXITSTATUS(status);
    }
    const std::string how = fmt::format("signal {}", WTERMSIG(status));
    if (!progress->is_calling.exchange(false)) {
      throw et_schema::run_failed("calls of operators cannot be read", {.file = calls, .got = how});
    }
    answers.write(et_schema::CallResults{.why_not = "its kernel crashed (" + how + ")"});
    ++progress->answered;
  }
}

int answer_questions() {
  std::vector<std::string> files;
  for (std::string file; std::getline(std::cin, file, '\0');) {
    if (!file.empty()) {
      files.push_back(std::move(file));
      continue;
    }
    if (files.size() < 2) {
      throw et_schema::usage_error(
          "operator_results is asked with two files, and operator maps",
          {.hint = "programs that read profiles start it; it is not for users"});
    }
    const auto status =
        static_cast<char>(answer(files[0], files[1], {files.begin() + 2, files.end()}));
    files.clear();
    if (::write(STDOUT_FILENO, &status, 1) != 1) {
      break;
    }
  }
  return kStatusOk;
}

const Verb kVerb("operator_results", "Says what calls of operators result in",
                 [](int /*argc*/, char** /*argv*/) { return answer_questions(); });

}  // namespace
}  // namespace understudy::cli
