#include "calibrator/measure/host_costs.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "bound_call.h"
#include "calibrator/design/call.h"
#include "calibrator/design/recipe.h"
#include "et_schema/support/assert.h"
#include "et_schema/support/statistics.h"
#include "replayer/run/run.h"

namespace understudy::calibrator {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr std::size_t kRounds = 30;

class CallClock : public replayer::NoHook {
 public:
  void built(const replayer::Step&) { begin_ = Clock::now(); }
  void called(const replayer::Step&, const torch::jit::Stack&) {
    total_ns_ += Nanoseconds(Clock::now() - begin_).count();
  }
  [[nodiscard]] double total_ns() const { return total_ns_; }

 private:
  Clock::time_point begin_;
  double total_ns_ = 0;
};

/// A program of many cheap operators: the whole without clocks, less the calls as clocks see them.
double measure_loop_ns() {
  constexpr std::size_t kCalls = 1000;
  constexpr Recipe kCheap = {.op = "aten::t", .dims = "", .args = "{8,8}"};
  Call call = *make_call(kCheap, {}, {});
  const std::string problem = complete(call);
  UNDERSTUDY_ASSERT(problem.empty());
  et_schema::Program program = make_program(call);
  program.instructions.resize(kCalls, program.instructions.front());

  const at::AutoGradMode grad_mode(true);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const std::unique_ptr<backends::Backend> backend = backends::make_single_backend({});
  BoundCall bound(std::move(program), *backend, 0);
  std::vector<double> differences;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const Clock::time_point begin = Clock::now();
    bound.run();
    const double whole_ns = Nanoseconds(Clock::now() - begin).count();
    CallClock calls;
    bound.run(calls);
    differences.push_back((whole_ns - calls.total_ns()) / kCalls);
  }
  return std::max(0.0, *et_schema::median(std::move(differences)));
}

long minor_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

double measure_page_fault_ns() {
  constexpr std::size_t kBytes = std::size_t{16} << 20U;
  constexpr std::size_t kStep = 4096;
  std::vector<double> each_ns;
  for (std::size_t round = 0; round < kRounds; ++round) {
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return 0;
    }
    const long before = minor_faults();
    const Clock::time_point begin = Clock::now();
    for (std::size_t at = 0; at < kBytes; at += kStep) {
      static_cast<volatile char*>(memory)[at] = 1;
    }
    const double spent_ns = Nanoseconds(Clock::now() - begin).count();
    const long faults = minor_faults() - before;
    munmap(memory, kBytes);
    if (faults > 0) {
      each_ns.push_back(spent_ns / static_cast<double>(faults));
    }
  }
  return et_schema::median(std::move(each_ns)).value_or(0);
}

}  // namespace

HostCosts measure_host_costs() {
  return {measure_loop_ns(), measure_page_fault_ns()};
}

}  // namespace understudy::calibrator
