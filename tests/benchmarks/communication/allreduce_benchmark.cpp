// Measures the mpi backend's all-reduce as a ratio to plain MPI_Allreduce in the same run, and how
// much of it is hidden by work that the program does meanwhile. Run it under mpirun; rank 0 prints.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#include "backends/backend.h"
#include "et_schema/support/error.h"
#include "et_schema/support/statistics.h"

namespace understudy::benchmarks {
namespace {

using backends::Backend;
using backends::Call;
using et_schema::CommKind;
using et_schema::DType;

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
  Call call;
  call.kind = CommKind::kAllReduce;
  call.inputs =
      call.outputs = {{data.data(), static_cast<std::int64_t>(data.size()), DType::kFloat32}};
  return call;
}

void compare_with_plain(Backend& backend) {
  const bool prints = backend.rank() == 0;
  const double ranks = backend.world_size();
  if (prints) {
    std::printf("%12s %14s %14s %14s %8s\n", "bytes", "backend us", "MPI us", "busbw GB/s",
                "ratio");
  }
  for (const std::size_t count : {1UL, 256UL, 4096UL, 65536UL, 1048576UL, 6553600UL, 16777216UL}) {
    std::vector<float> data(count, 0.0F);
    const Call call = all_reduce(data);
    const int repetitions = count < 65536 ? 2001 : count < 4000000 ? 101 : 15;
    std::vector<double> ours;
    std::vector<double> plain;
    for (int i = 0; i < repetitions; ++i) {
      ours.push_back(slowest([&] { backend.run(call); }));
      plain.push_back(slowest([&] {
        MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
      }));
    }
    if (prints) {
      const double bytes = static_cast<double>(count) * sizeof(float);
      const double bus_bandwidth = bytes / median(ours) * 2 * (ranks - 1) / ranks;
      std::printf("%12.0f %14.1f %14.1f %14.2f %8.2f\n", bytes, median(ours) * 1e6,
                  median(plain) * 1e6, bus_bandwidth / 1e9, median(ours) / median(plain));
    }
  }
}

/// Arithmetic on one number in a register, `rounds` times.
void compute(std::size_t rounds) {
  volatile float sink = 0.5F;  // unknown to the compiler, so that it cannot leave the loop out
  float x = sink;
  for (std::size_t i = 0; i < rounds; ++i) {
    x = x * 0.999F + 0.001F;
  }
  sink = x;
  (void)sink;
}

void measure_overlap(Backend& backend) {
  constexpr std::size_t kCount = 16777216;
  constexpr int kRepetitions = 9;
  std::vector<float> data(kCount, 0.0F);
  const Call call = all_reduce(data);
  const auto measured = [&](const std::function<void()>& action) {
    std::vector<double> samples;
    for (int i = 0; i < kRepetitions; ++i) {
      samples.push_back(slowest(action));
    }
    return median(samples);
  };
  const double alone = measured([&] { backend.run(call); });
  constexpr std::size_t kTrial = 10000000;
  const double per_round = measured([&] { compute(kTrial); }) / static_cast<double>(kTrial);
  const auto rounds = static_cast<std::size_t>(alone / per_round);
  const double computing = measured([&] { compute(rounds); });
  const auto beside = [&](const std::function<void()>& action) {
    return measured([&] {
      auto work = backend.start(call);
      action();
      backend.wait(std::move(work));
    });
  };
  const double idle =
      beside([&] { std::this_thread::sleep_for(std::chrono::duration<double>(alone)); });
  const double busy = beside([&] { compute(rounds); });
  if (backend.rank() == 0) {
    std::printf("all_reduce of %zu bytes alone: %.1f ms (T)\n", kCount * sizeof(float),
                alone * 1e3);
    std::printf("beside a pause of T:       %.2f T (1 hidden, 2 not)\n", idle / alone);
    std::printf("beside a computation of T: %.2f of the longer one (%.2f if one after the other)\n",
                busy / std::max(alone, computing),
                (alone + computing) / std::max(alone, computing));
  }
}

}  // namespace
}  // namespace understudy::benchmarks

int main() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  int status = 0;
  try {
    const auto backend = understudy::backends::join_job();
    if (backend->rank() == 0) {
      std::printf("%d ranks, %s, %u processors\n", backend->world_size(),
                  backend->version().c_str(), std::thread::hardware_concurrency());
    }
    understudy::benchmarks::compare_with_plain(*backend);
    understudy::benchmarks::measure_overlap(*backend);
  } catch (const understudy::et_schema::Error& error) {
    std::fputs((understudy::et_schema::to_text(error) + "\n").c_str(), stderr);
    status = static_cast<int>(error.kind());
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  MPI_Finalize();
  return status;
}
