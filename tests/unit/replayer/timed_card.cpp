#include "timed_card.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "capture/played/played.h"
#include "et_schema/formats/cubin/cubin.h"

namespace {

using played::Kind;
using played::Launch;
using timed_card::Issued;
using timed_card::KernelLaunch;

constexpr double kNsOfMs = 1e6;
constexpr long long kLatencyNs = 2000;
constexpr std::size_t kCardBytesOfNs = 2000;
constexpr std::size_t kBusBytesOfNs = 25;
constexpr long long kSpinClocksOfNs = 2;

struct State {
  std::recursive_mutex mutex;
  std::map<const void*, long long> ends_ns;  ///< when each stream will have done all it was given
  std::map<std::string, std::uint64_t> calls;
  std::uint64_t kernels = 0;
  std::uint64_t moves = 0;   ///< copies and fills
  long long stopped_ns = 0;  ///< the time that stands; 0: it goes on
  long long event_cost_ns = 0;
  long long energy_step = 0;  ///< of the clock, at which it was counted
  unsigned long long energy_mj = 0;
  std::vector<Issued>* issues = nullptr;
  std::vector<KernelLaunch> launches;
  bool begins_graph = false;
  bool fails_next = false;
  bool has_failed = false;
  bool fails_for_good = true;
};

State& state() {
  static auto& the_state = *new State;
  return the_state;
}

/// What a part of it is, or becomes, alone.
template <typename Use>
auto locked(Use&& use) {
  const std::scoped_lock lock(state().mutex);
  return use(state());
}

long long clock_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

long long now() {
  return locked([](State& it) { return it.stopped_ns == 0 ? clock_ns() : it.stopped_ns; });
}

int status() {
  return locked([](State& it) { return it.has_failed ? cudaErrorIllegalAddress : cudaSuccess; });
}

void keep(const Issued& issued) {
  if (state().issues != nullptr) {
    state().issues->push_back(issued);
  }
}

void take_time(const void* stream, long long ns, long long latency_ns = kLatencyNs) {
  locked([&](State& it) {
    keep({Issued::Kind::kWork, stream});
    long long& end = it.ends_ns[stream];
    end = std::max(end, now() + latency_ns) + ns;
  });
}

int wait_until(long long ns) {
  while (now() < ns) {
    locked([&](State& it) { it.stopped_ns = it.stopped_ns == 0 ? 0 : ns; });
  }
  const int result = status();
  locked([](State& it) { it.has_failed = it.has_failed && it.fails_for_good; });
  return result;
}

long long end_of_all() {
  return locked([](State& it) {
    const auto last =
        std::ranges::max_element(it.ends_ns, {}, [](const auto& stream) { return stream.second; });
    return last == it.ends_ns.end() ? 0 : last->second;
  });
}

/// When what a call waits for, or asks about, is over.
long long end_of(const played::Work& call) {
  return call.event_ns != nullptr                                 ? *call.event_ns
         : std::string_view(call.name) == "cudaDeviceSynchronize" ? end_of_all()
                                                                  : state().ends_ns[call.stream];
}

int answer(const played::Work& call) {
  const std::string_view name = call.name;
  const auto end_ns = locked([&](State& it) {
    ++it.calls[call.name];
    it.begins_graph = name == "cudaGraphLaunch";
    if (name == "cudaEventRecord") {
      if (it.event_cost_ns > 0) {
        take_time(call.stream, it.event_cost_ns);
      }
      *call.event_ns = std::max(now(), it.ends_ns[call.stream]);
      keep({Issued::Kind::kRecord, call.stream, call.event_ns});
    } else if (name == "cudaStreamWaitEvent") {
      long long& end = it.ends_ns[call.stream];
      end = std::max(end, *call.event_ns);
      keep({Issued::Kind::kWait, call.stream, call.event_ns});
    }
    return end_of(call);
  });
  if (name.ends_with("Synchronize")) {
    return wait_until(end_ns);
  }
  return name.ends_with("Query") && end_ns > now() ? cudaErrorNotReady : status();
}

void write_line(const KernelLaunch& launch) {
  static std::ofstream file(std::getenv("PLAYED_LAUNCHES"), std::ios::app);
  file << fmt::format(R"({{"function": "{}", "grid": {}, "block": {}, "shared_bytes": {}, )",
                      launch.function, launch.grid, launch.block, launch.shared_bytes)
       << fmt::format(R"("attributes": {}, "arguments": {}}})", launch.attributes, launch.arguments)
       << std::endl;
}

void keep_launch(const Launch& from) {
  KernelLaunch launch;
  launch.kernel = from.code;
  launch.function = from.work.name;
  std::ranges::copy(from.work.grid, launch.grid.begin());
  std::ranges::copy(from.work.block, launch.block.begin());
  launch.shared_bytes = from.work.shared;
  launch.stream = from.work.stream;
  for (std::size_t i = 0; i < from.code->parameters.size(); ++i) {
    std::memcpy(&launch.arguments.emplace_back(0), from.arguments[i],
                from.code->parameters[i].bytes);
  }
  for (unsigned i = 0; i < from.config->numAttrs; ++i) {
    auto& [id, x, y, z] = launch.attributes.emplace_back();
    id = from.config->attrs[i].id;
    std::memcpy(&x, &from.config->attrs[i].value, 3 * sizeof x);
  }
  if (std::getenv("PLAYED_LAUNCHES") != nullptr) {
    write_line(launch);
  }
  state().launches.push_back(std::move(launch));
}

/// Does what the kernels of a StreamSpan do.
void run_span(const Launch& launch) {
  const std::string_view name = launch.work.name;
  long long& noted = **static_cast<long long**>(launch.arguments[0]);
  long long& end = state().ends_ns[launch.work.stream];
  if (name == "understudy_note") {
    noted = end;
  } else {
    end = std::max(end, noted + *static_cast<long long*>(launch.arguments[1]));
  }
}

long long time_of(const Launch& launch) {
  const std::string_view name = launch.work.name;
  if (launch.work.kind != Kind::kKernel) {
    const bool is_within = launch.work.kind == Kind::kFill || name == "DtoD";
    return static_cast<long long>(launch.work.bytes / (is_within ? kCardBytesOfNs : kBusBytesOfNs));
  }
  return launch.arguments != nullptr && name.find("spin_kernel") != std::string_view::npos
             ? *static_cast<long long*>(launch.arguments[0]) / kSpinClocksOfNs
             : static_cast<long long>(timed_card::kKernelMs * kNsOfMs);
}

int run(const Launch& launch, const std::function<int()>& effect) {
  const played::Work& work = launch.work;
  if (work.kind == Kind::kCall) {
    const int result = answer(work);
    return result == cudaSuccess ? effect() : result;
  }
  if (status() != cudaSuccess) {
    return status();
  }
  const bool is_kernel = work.kind == Kind::kKernel;
  locked([&](State& it) {
    ++(is_kernel || launch.is_replayed ? it.kernels : it.moves);
    it.has_failed = is_kernel && std::exchange(it.fails_next, false);
    const bool is_within_graph = launch.is_replayed && !std::exchange(it.begins_graph, false);
    take_time(work.stream, time_of(launch), is_within_graph ? 0 : kLatencyNs);
    if (is_kernel && launch.arguments != nullptr) {
      if (std::string_view(work.name).starts_with("understudy_")) {
        run_span(launch);
      } else if (launch.config != nullptr) {
        keep_launch(launch);
      }
    }
  });
  const int result = effect();
  const bool waits = work.kind == Kind::kCopy && std::string_view(work.name) != "DtoD" &&
                     !work.is_pinned && !launch.is_replayed;
  return result == cudaSuccess && waits ? wait_until(locked([&](State&) { return end_of(work); }))
                                        : result;
}

[[maybe_unused]] const bool is_in_use = [] {
  timed_card::use();
  played_run_by(&run);
  played_on_read([](void*, std::size_t) { return 1; });  // nobody computed it, and nobody minds
  return true;
}();

}  // namespace

namespace timed_card {

void use(std::size_t memory_bytes) {
  constexpr int kShared = 233'472;
  const played::Card card{.name = "A played H100",
                          .memory_bytes = memory_bytes,
                          .major = 9,
                          .minor = 0,
                          .multiprocessors = 132,
                          .shared_per_multiprocessor = kShared,
                          .shared_opt_in = kShared - 1024,
                          .l2_bytes = 50 << 20,
                          .clock_khz = 1'980'000,
                          .memory_clock_khz = 2'619'000,
                          .bus_bits = 5120};
  played_use(&card, 1);
}

Fault::Fault(bool for_good) {
  locked([&](State& it) {
    it.fails_for_good = for_good;
    it.fails_next = true;
  });
}

Fault::~Fault() {
  locked([](State& it) { it.fails_next = it.has_failed = false; });
  static_cast<void>(cudaGetLastError());
}

StoppedClock::StoppedClock() {
  locked([](State& it) { it.stopped_ns = clock_ns(); });
}

StoppedClock::~StoppedClock() {
  locked([](State& it) { it.stopped_ns = 0; });
}

void set_event_cost(double ms) {
  locked([&](State& it) { it.event_cost_ns = static_cast<long long>(ms * kNsOfMs); });
}

std::uint64_t calls(const std::string& function) {
  return locked([&](State& it) { return it.calls[function]; });
}

double busy_ms() {
  return static_cast<double>(end_of_all() - now()) / kNsOfMs;
}

void keep_issues(std::vector<Issued>* issues) {
  locked([&](State& it) { it.issues = issues; });
}

std::vector<KernelLaunch> taken_launches() {
  return locked([](State& it) { return std::exchange(it.launches, {}); });
}

}  // namespace timed_card

unsigned long long played_energy_millijoules() {
  constexpr unsigned long long kOfKernel = 1000;
  constexpr unsigned long long kOfMove = 16'000;
  constexpr long long kPeriodNs = 100'000'000;
  return locked([](State& it) {
    if (const long long step = clock_ns() / kPeriodNs;
        step != std::exchange(it.energy_step, step)) {
      it.energy_mj = kOfKernel * it.kernels + kOfMove * it.moves;
    }
    return it.energy_mj;
  });
}
