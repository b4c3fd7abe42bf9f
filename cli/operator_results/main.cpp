// operator_results CALLS ANSWERS: what tensors calls of operators result in. CALLS is a program's
// text (et_schema/bench/program_text.h), ANSWERS a file that exists; it gets a line for each
// instruction (et_schema/call_results/call_results.h). Operator maps may follow. Kernels that do
// not check their arguments may end the process that calls them: it is a child, and the next one
// goes on behind that call.

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
#include <new>
#include <string>
#include <system_error>

#include "common/run_main.h"
#include "et_schema/bench/program_text.h"
#include "et_schema/call_results/call_results.h"
#include "et_schema/model/operator_map.h"
#include "et_schema/support/error.h"
#include "et_schema/support/read_file.h"
#include "replayer/results/results.h"

namespace understudy::cli {
namespace {

/// Where answers go. A line is written at once, so that none is lost with the process.
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

/// How many calls are answered: a number that parent and children share.
class Progress {
 public:
  Progress()
      : memory_(::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)) {
    if (memory_ == MAP_FAILED) {
      throw std::bad_alloc();
    }
    count_ = new (memory_) Count(0);
  }
  ~Progress() { ::munmap(memory_, sizeof(Count)); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  std::atomic<std::size_t>& answered() { return *count_; }

 private:
  using Count = std::atomic<std::size_t>;
  void* memory_;
  Count* count_;
};

/// Answers the calls that are left. Returns how a child ended that did not come to the end of them.
int answer_in_child(const et_schema::Program& program, Answers& answers, Progress& progress) {
  const pid_t child = ::fork();
  if (child < 0) {
    throw et_schema::run_failed("a process cannot be started",
                                {.got = std::generic_category().message(errno)});
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int status = run_main("operator_results", 0, nullptr, [&] {
      while (progress.answered() < program.instructions.size()) {
        answers.write(replayer::results_of(program, program.instructions[progress.answered()]));
        ++progress.answered();
      }
      return kStatusOk;
    });
    ::_exit(status);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int answer(const std::string& calls, const std::string& path) {
  const et_schema::Program program =
      et_schema::program_from_text(et_schema::read_file(calls, et_schema::process_limits()), calls);
  Answers answers(path);
  Progress progress;
  while (progress.answered() < program.instructions.size()) {
    const int status = answer_in_child(program, answers, progress);
    if (WIFSIGNALED(status)) {
      answers.write(et_schema::CallResults{
          .why_not = fmt::format("its kernel crashed (signal {})", WTERMSIG(status))});
      ++progress.answered();
    } else if (WEXITSTATUS(status) != kStatusOk) {
      return WEXITSTATUS(status);
    }
  }
  return kStatusOk;
}

}  // namespace
}  // namespace understudy::cli

int main(int argc, char** argv) {
  return understudy::cli::run_main("operator_results", argc, argv, [&] {
    if (argc < 3) {
      throw understudy::et_schema::usage_error(
          "operator_results takes two files, and operator maps",
          {.expected = "operator_results CALLS ANSWERS [OP_MAP …]",
           .hint = "programs that read profiles start it; it is not for users"});
    }
    for (int map = 3; map < argc; ++map) {
      understudy::et_schema::use_operator_map(argv[map]);
    }
    return understudy::cli::answer(argv[1], argv[2]);
  });
}
