// Times the mpi backend's all-reduce and MPI_Iallreduce with MPI_Wait in turn. Then measures how
// much of an all-reduce a replay hides behind a gap of the host and behind operators, and how much
// a bare program hides that has a thread test MPI's request. Run it under mpirun; "overlap" as the
// argument leaves the first part out. Rank 0 prints.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/statistics.h"
#include "generator/matching/matching.h"
#include "program_builder.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/job/replay.h"

namespace understudy::benchmarks {
namespace {

using backends::Backend;
using backends::Call;
using et_schema::CommKind;
using et_schema::DType;
using et_schema::SlotId;
using replayer::testing::constant;
using replayer::testing::ref;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(const std::vector<double>& samples) {
  return et_schema::median(samples).value();
}

/// The time of one repetition, from a barrier to this rank's end, on the slowest of all ranks.
double slowest(const std::function<void()>& action) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = seconds();
  action();
  double took = seconds() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return took;
}

Call all_reduce(std::vector<float>& data) {
  const backends::Buffer buffer{data.data(), static_cast<std::int64_t>(data.size()),
                                DType::kFloat32};
  return {.kind = CommKind::kAllReduce, .inputs = {buffer}, .outputs = {buffer}};
}

/// Ways to make one call are tried in slices, in turn, so that what else the machine does meets all
/// alike. The fastest slice's median of each, in seconds.
std::vector<double> fastest(std::size_t count, const std::vector<std::function<void()>>& ways) {
  const int slices = count < 1000000 ? 15 : 7;
  const int calls = count < 65536 ? 101 : count < 4000000 ? 11 : 3;
  std::vector<double> best(ways.size(), std::numeric_limits<double>::infinity());
  for (int slice = 0; slice < slices; ++slice) {
    for (std::size_t way = 0; way < ways.size(); ++way) {
      std::vector<double> samples;
      for (int i = 0; i < calls; ++i) {
        samples.push_back(slowest(ways[way]));
      }
      best[way] = std::min(best[way], median(samples));
    }
  }
  return best;
}

void compare_with_plain(Backend& backend) {
  const bool prints = backend.rank() == 0;
  if (prints) {
    std::printf("%12s %12s %12s %12s %12s %12s %8s\n", "bytes", "MPI us", "blocking us", "more us",
                "async us", "more us", "ratio");
  }
  for (const std::size_t count : {1UL, 256UL, 4096UL, 16384UL, 65536UL, 1048576UL, 16777216UL}) {
    std::vector<float> data(count, 0.0F);
    const Call call = all_reduce(data);
    const std::vector<double> times =
        fastest(count, {[&] {
                          MPI_Request request = MPI_REQUEST_NULL;
                          MPI_Iallreduce(MPI_IN_PLACE, data.data(), static_cast<int>(count),
                                         MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
                          MPI_Wait(&request, MPI_STATUS_IGNORE);
                        },
                        [&] { backend.run(call); }, [&] { backend.wait(backend.start(call)); }});
    if (prints) {
      const double bytes = static_cast<double>(count) * sizeof(float);
      constexpr double kMicro = 1e6;
      std::printf("%12.0f %12.1f %12.1f %12.1f %12.1f %12.1f %8.3f\n", bytes, times[0] * kMicro,
                  times[1] * kMicro, (times[1] - times[0]) * kMicro, times[2] * kMicro,
                  (times[2] - times[0]) * kMicro, times[1] / times[0]);
    }
  }
}

constexpr std::int64_t kLargeElements = 16777216;
constexpr std::int64_t kSide = 256;  // of the matrices that the spinning operators multiply

/// A step of this rank: an all_reduce of 64 MB, asynchronous where something runs beside it.
struct Beside {
  std::int64_t gap_ns = 0;  ///< of the host, by the recorded times
  int products = 0;
};

et_schema::Bench step_with(const Backend& backend, const Beside& beside) {
  et_schema::Bench bench;
  std::vector<std::int64_t> world;
  for (int rank = 0; rank < backend.world_size(); ++rank) {
    world.push_back(rank);
    replayer::testing::ProgramBuilder builder;
    const SlotId data = builder.external(DType::kFloat32, {kLargeElements}, constant(0));
    const SlotId matrix = builder.external(DType::kFloat32, {kSide, kSide}, constant(0));
    const SlotId product = builder.intermediate(DType::kFloat32, {kSide, kSide});
    const auto add = [&](std::int64_t start_ns) {
      auto& op = builder.add_op("aten::mm(Tensor self, Tensor mat2) -> Tensor",
                                {ref(matrix), ref(matrix)}, {ref(product)});
      op.timing.emplace();
      op.timing->start_ns = start_ns;
      op.timing->host_ns = 1;
    };
    add(0);
    auto& comm = builder.add_collective(CommKind::kAllReduce, {ref(data)}, {ref(data)});
    comm.comm->is_async = beside.gap_ns > 0 || beside.products > 0;
    comm.comm->seq = 1;
    for (int i = 0; i < beside.products; ++i) {
      add(0);
    }
    if (beside.gap_ns > 0) {
      add(beside.gap_ns);
    }
    et_schema::Instruction wait;
    wait.kind = et_schema::InstructionKind::kWait;
    wait.name = "wait";
    wait.args = {ref(data)};
    wait.comm.emplace();
    wait.comm->kind = CommKind::kWait;
    if (comm.comm->is_async) {
      builder.add(std::move(wait));
    }
    builder.program().profile.emplace();
    builder.program().profile->step_ns = std::max<std::int64_t>(beside.gap_ns, 1);
    bench.programs.push_back(std::move(builder.program()));
  }
  bench.groups.push_back({"world", "", "", world, backend.world_size()});
  return bench;
}

/// What a replay of that step says: its iteration's time, and how much of the communication the
/// host waited for.
struct Replayed {
  double iteration_s = 0;
  double exposed_s = 0;
};

Replayed replay(Backend& backend, const Beside& beside) {
  const et_schema::Bench bench = step_with(backend, beside);
  replayer::ReplayOptions options;
  options.comm_order = matching::match_programs(
      bench.programs, bench.groups)[static_cast<std::size_t>(backend.rank())];
  options.pace = beside.gap_ns > 0 ? replayer::Pace::kRecorded : replayer::Pace::kAsap;
  options.warmup = 1;
  options.iterations = 5;
  options.passes = 1;
  options.threads = 1;
  const replayer::RankRun run = replayer::replay_rank(bench, backend.rank(), backend, options);
  constexpr double kMilli = 1e-3;
  std::array<double, 2> slowest = {kMilli * median(run.report.iteration_ms.samples),
                                   kMilli * run.report.communication.exposed_ms.value_or(0)};
  MPI_Allreduce(MPI_IN_PLACE, slowest.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return {slowest[0], slowest[1]};
}

/// The same step without a replay: its time on the slowest rank.
double bare(const Beside& beside, std::vector<float>& data) {
  const at::Tensor matrix = at::zeros({kSide, kSide});
  at::Tensor product = at::empty({kSide, kSide});
  const auto ended_after_work = [&] {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                   MPI_COMM_WORLD, &request);
    std::atomic<bool> is_waited_for = false;
    int is_done = 0;
    const auto test = [&] { MPI_Test(&request, &is_done, MPI_STATUS_IGNORE); };
    std::thread tester([&] {
      while (is_done == 0 && !is_waited_for) {
        test();
        std::this_thread::yield();
      }
    });
    std::this_thread::sleep_for(std::chrono::nanoseconds(beside.gap_ns));
    for (int i = 0; i < beside.products; ++i) {
      at::mm_out(product, matrix, matrix);
    }
    is_waited_for = true;
    tester.join();
    while (is_done == 0) {
      test();
    }
  };
  std::vector<double> samples;
  for (int i = 0; i < 6; ++i) {
    samples.push_back(slowest(ended_after_work));
  }
  samples.erase(samples.begin());  // warm-up
  return median(samples);
}

/// Rounds of the call alone and beside something as long, by a replay and bare, in turn; of each
/// the round in which both together were shortest counts.
void measure_overlap(Backend& backend) {
  constexpr int kRounds = 7;
  constexpr int kTrialProducts = 200;
  std::vector<float> data(kLargeElements, 0.0F);
  const double product_s =
      replay(backend, {.products = kTrialProducts}).iteration_s / kTrialProducts;
  for (const bool is_idle : {true, false}) {
    const auto beside_of = [&](double alone_s) {
      Beside beside;
      if (is_idle) {
        beside.gap_ns = static_cast<std::int64_t>(alone_s * 1e9);
      } else {
        beside.products = std::max(1, static_cast<int>(alone_s / product_s));
      }
      return beside;
    };
    double best_s = std::numeric_limits<double>::infinity();
    double best_bare_s = best_s;
    std::string text;
    std::string bare_text;
    for (int round = 0; round < kRounds; ++round) {
      const double alone_s = replay(backend, {}).iteration_s;
      const Beside beside = beside_of(alone_s);
      const Replayed both = replay(backend, beside);
      if (alone_s + both.iteration_s < best_s) {
        best_s = alone_s + both.iteration_s;
        const double work_s = is_idle ? alone_s : beside.products * product_s;
        const double exposed_s = both.iteration_s - work_s;
        text = fmt::format(
            "{:.2f} T, T = {:.1f} ms; exposed by the report {:.1f} ms, by the iteration's time "
            "{:.1f} ms, apart by {:.1f} % of the iteration",
            both.iteration_s / alone_s, alone_s * 1e3, both.exposed_s * 1e3, exposed_s * 1e3,
            100 * std::abs(both.exposed_s - exposed_s) / both.iteration_s);
      }
      const double bare_alone_s = bare({}, data);
      const double bare_both_s = bare(beside_of(bare_alone_s), data);
      if (bare_alone_s + bare_both_s < best_bare_s) {
        best_bare_s = bare_alone_s + bare_both_s;
        bare_text =
            fmt::format("{:.2f} T, T = {:.1f} ms", bare_both_s / bare_alone_s, bare_alone_s * 1e3);
      }
    }
    if (backend.rank() == 0) {
      fmt::print("64 MB all_reduce beside {} of its own length: {}; bare: {}\n",
                 is_idle ? "a gap of the host" : "operators", text, bare_text);
    }
  }
}

}  // namespace
}  // namespace understudy::benchmarks

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  int status = 0;
  try {
    const auto backend = understudy::backends::join_job();
    if (backend->rank() == 0) {
      std::printf("%d ranks, %s, %u processors\n", backend->world_size(),
                  backend->version().c_str(), std::thread::hardware_concurrency());
    }
    if (argc < 2 || std::string_view(argv[1]) != "overlap") {
      understudy::benchmarks::compare_with_plain(*backend);
    }
    understudy::benchmarks::measure_overlap(*backend);
  } catch (const understudy::et_schema::Error& error) {
    std::fputs((understudy::et_schema::to_text(error) + "\n").c_str(), stderr);
    status = static_cast<int>(error.kind());
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  MPI_Finalize();
  return status;
}
