#pragma once

// Flags, warm-up, timing, report.

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comms.h"
#include "observe.h"
#include "tensors.h"

namespace bench {

/// One rank's training step.
class Step {
 public:
  virtual ~Step() = default;
  /// Makes the tensors that exist before the step.
  virtual void make(Maker& make) = 0;
  virtual void run() = 0;
};

struct Job {
  std::string name;                                           ///< what the benchmark was made from
  std::vector<std::function<std::unique_ptr<Step>()>> ranks;  ///< by rank
  std::vector<std::vector<int>> groups;  ///< ranks by process group; empty: all
  std::string report;                    ///< the report before any measurement
};

struct Flags {
  int iterations = 0;  ///< 0: 20, or as many as fit in `seconds`
  double seconds = 0;  ///< 0: 30, unless `iterations` is set
  int warmup = 2;
  int threads = 0;  ///< 0: the cores of this host, shared by its ranks
  std::uint64_t seed = 0;
  bool restores = true;
  std::string device = "cpu";
  std::string report;
  std::string checksums;
};

inline void print_help(const Job& job) {
  std::printf(
      "%s, a training step of %zu rank%s\n\n"
      "Usage: bench [flags]%s\n\n"
      "  --iterations N    measured iterations, at most (20)\n"
      "  --seconds S       seconds of measured iterations, at most (30)\n"
      "  --warmup N        iterations before the measured ones (2)\n"
      "  --threads N       threads of an operator; 0: this host's cores, shared by its ranks (0)\n"
      "  --seed N          seed of the tensors' content (0)\n"
      "  --device D        cpu, cuda or cuda:N (cpu)\n"
      "  --op-library LIB  a shared library with custom operators; may be given again\n"
      "  --report FILE     write the result to this file, as JSON\n"
      "  --checksums FILE  write a checksum of each operator's results in a first iteration\n"
      "  --no-restore      never give tensors their first content back between iterations\n\n"
      "Exit status: 0 ok, 1 the run failed, 2 a flag or the number of ranks is wrong\n",
      job.name.c_str(), job.ranks.size(), job.ranks.size() == 1 ? "" : "s",
      job.ranks.size() == 1 ? "" : "    (all ranks: mpirun -np N bench)");
}

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline Flags read_flags(int argc, char** argv, const Job& job) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= argc)
        throw UsageError(flag + " needs a value");
      return argv[++i];
    };
    const auto number = [&](double least) {
      const std::string text = value();
      std::size_t read = 0;
      double result = 0;
      try {
        result = std::stod(text, &read);
      } catch (const std::exception&) {
        read = 0;
      }
      if (read == 0 || read != text.size() || !(result >= least)) {
        throw UsageError(flag + ": '" + text + "' is no number from " + std::to_string(least));
      }
      return result;
    };
    if (flag == "--help" || flag == "-h") {
      print_help(job);
      std::exit(0);
    } else if (flag == "--iterations") {
      flags.iterations = static_cast<int>(number(1));
    } else if (flag == "--seconds") {
      flags.seconds = number(0.001);
    } else if (flag == "--warmup") {
      flags.warmup = static_cast<int>(number(0));
    } else if (flag == "--threads") {
      flags.threads = static_cast<int>(number(0));
    } else if (flag == "--seed") {
      flags.seed = static_cast<std::uint64_t>(number(0));
    } else if (flag == "--device") {
      flags.device = value();
    } else if (flag == "--report") {
      flags.report = value();
    } else if (flag == "--checksums") {
      flags.checksums = value();
    } else if (flag == "--no-restore") {
      flags.restores = false;
    } else if (flag == "--op-library") {
      const std::string library = value();
      if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        throw UsageError(std::string("--op-library: ") + dlerror());
      }
    } else {
      throw UsageError(flag + " is not known; see --help");
    }
  }
  if (flags.iterations == 0 && flags.seconds == 0) {
    flags.iterations = 20;
    flags.seconds = 30;
  }
  return flags;
}

inline void synchronize() {
  if (!device().is_cpu()) {
    c10::impl::VirtualGuardImpl(device().type()).synchronizeDevice(device().index());
  }
}

inline void seed_generators(std::uint64_t seed) {
  std::vector<at::Device> devices = {at::Device(at::kCPU)};
  if (!device().is_cpu())
    devices.push_back(device());
  for (const at::Device& each : devices) {
    at::Generator generator = at::globalContext().defaultGenerator(each);
    const std::scoped_lock lock(generator.mutex());
    generator.set_current_seed(seed);
  }
}

inline void write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr)
    throw std::runtime_error("cannot write " + path);
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((std::fclose(file) != 0) || !whole)
    throw std::runtime_error("cannot write " + path);
}

/// Runs one rank's step and measures it.
class Runner {
 public:
  Runner(const Job& job, const Flags& flags, Comms& comms)
      : job_(job), flags_(flags), comms_(comms), maker_(flags.seed) {
    step_ = job.ranks[static_cast<std::size_t>(comms.rank())]();
  }

  void run() {
    step_->make(maker_);
    maker_.fill_all();
    seed_generators(flags_.seed);
    const double first_ms = first_iteration();
    maker_.fill_all();
    maker_.remember();
    if (!flags_.checksums.empty())
      write_checksums();
    find_zeros();
    find_restore_interval();
    for (int i = 0; i < flags_.warmup; ++i)
      timed();
    std::vector<double> samples;
    double spent_s = 0;
    while (goes_on(samples.size(), spent_s)) {
      samples.push_back(timed());
      spent_s += samples.back() / 1000;
    }
    comms_.max_of_ranks(samples);
    if (comms_.rank() == 0)
      report(samples, first_ms);
  }

 private:
  using Clock = std::chrono::steady_clock;

  template <typename Before>
  double iterate(Before before) {
    before();
    comms_.barrier();
    const Clock::time_point begin = Clock::now();
    step_->run();
    synchronize();
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

  /// Runs an iteration. Rows of tables get values when operators first read them.
  double first_iteration() {
    const TableSeeding seeding(maker_.tables());
    return iterate([] {});
  }

  double timed() {
    return iterate([this] {
      if (restore_every_ != 0 && since_restore_ == restore_every_) {
        maker_.restore();
        since_restore_ = 0;
      }
      ++since_restore_;
      maker_.vary(iteration_++);
    });
  }

  bool goes_on(std::size_t done, double spent_s) {
    const bool enough =
        (flags_.iterations > 0 && done >= static_cast<std::size_t>(flags_.iterations)) ||
        (flags_.seconds > 0 && spent_s >= flags_.seconds);
    return done == 0 || !comms_.any_rank(enough);
  }

  void write_checksums() {
    std::string lines;
    seed_generators(flags_.seed);
    {
      replayer::FreshMemory fresh;
      const auto look = [&](const std::string& name, const std::vector<Tensor>& results) {
        lines += replayer::checksum_line(name, results, fresh, gives_fresh_memory);
      };
      const replayer::ResultObserver observer(look);
      step_->run();
    }
    for (const Tensor& tensor : maker_.changed())
      lines.append("after: ").append(replayer::checksum(tensor)).append("\n");
    write_file(comms_.size() == 1 ? flags_.checksums
                                  : flags_.checksums + "." + std::to_string(comms_.rank()),
               lines);
    maker_.restore();
  }

  /// Restores the zeros of the original's optimizer states, where the step writes none.
  void find_zeros() {
    if (!comms_.any_rank(maker_.has_zeros()))
      return;
    maker_.clear_zeros();
    for (std::size_t i = 0; i < Maker::kVariants; ++i) {
      maker_.vary(i);
      step_->run();
    }
    maker_.settle_zeros();
  }

  /// Finds how many steps may run before the initial content must be restored. Steps that learn
  /// from the same batch drift to zeros or infinities.
  void find_restore_interval() {
    if (!flags_.restores)
      return;
    const Clock::time_point begin = Clock::now();
    restore_every_ = 1;
    for (std::size_t n = 1; n <= 16; ++n) {
      bool healthy = true;
      try {
        const auto look = [&healthy](const std::string& name, const std::vector<Tensor>& results) {
          for (std::size_t i = 0; i < results.size(); ++i) {
            healthy = healthy && (gives_fresh_memory(name, i) || is_healthy(results[i]));
          }
        };
        const replayer::ResultObserver observer(look);
        step_->run();
      } catch (const c10::Error&) {
        // An operator may refuse tensors that earlier iterations changed.
        if (n == 1 || comms_.size() > 1)
          throw;
        healthy = false;
      }
      if (comms_.any_rank(!healthy))
        break;
      restore_every_ = n;
      if (comms_.any_rank(std::chrono::duration<double>(Clock::now() - begin).count() > 1))
        break;
    }
    maker_.restore();
  }

  static double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
  }

  void report(const std::vector<double>& samples, double first_ms) const {
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const double median = quantile(sorted, 0.5);
    std::printf("%s: %.3f ms an iteration (median of %zu; %.3f to %.3f), %d thread%s, %d rank%s\n",
                job_.name.c_str(), median, sorted.size(), sorted.front(), sorted.back(),
                at::get_num_threads(), at::get_num_threads() == 1 ? "" : "s", comms_.size(),
                comms_.size() == 1 ? "" : "s");
    if (flags_.report.empty())
      return;
    std::string times = "{";
    for (const auto& [key, share] :
         {std::pair("min", 0.0), {"median", 0.5}, {"p10", 0.1}, {"p90", 0.9}, {"p99", 0.99}}) {
      times.append("\"").append(key).append("\":").append(std::to_string(quantile(sorted, share)) +
                                                          ",");
    }
    times += "\"median_low\":null,\"median_high\":null,\"samples\":[";
    for (std::size_t i = 0; i < samples.size(); ++i)
      times.append(i > 0 ? "," : "").append(std::to_string(samples[i]));
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof(date), "\"%Y-%m-%dT%H:%M:%SZ\"", std::gmtime(&now));
    std::string text = job_.report;
    const auto fill = [&text](const std::string& name, const std::string& value) {
      const std::string mark = std::string("\"@").append(name).append("@\"");
      for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += value.size())
        text.replace(at, mark.size(), value);
    };
    fill("iteration_ms", times + "]}");
    fill("first_iteration_ms", std::to_string(first_ms));
    fill("startup_ms", "null");
    fill("restore_every", std::to_string(restore_every_));
    fill("date_utc", date);
    fill("device", std::string("\"").append(device().str()).append("\""));
    fill("threads", std::to_string(at::get_num_threads()));
    fill("torch", "\"" TORCH_VERSION "\"");
    write_file(flags_.report, text);
  }

  const Job& job_;
  const Flags& flags_;
  Comms& comms_;
  Maker maker_;
  std::unique_ptr<Step> step_;
  std::size_t restore_every_ = 0;
  std::size_t since_restore_ = 0;
  std::size_t iteration_ = 0;
};

/// Runs the whole program.
inline int run(int argc, char** argv, const Job& job) {
  try {
    const Flags flags = read_flags(argc, argv, job);
    Comms comms(job.groups, static_cast<int>(job.ranks.size()));
    if (comms.problem())
      throw UsageError(*comms.problem());
    try {
      device() = at::Device(flags.device);
      at::set_num_threads(flags.threads > 0 ? flags.threads : comms.cores());
      // The step contains the backward operators.
      const at::AutoGradMode grad_mode(true);
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      Runner(job, flags, comms).run();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "bench: %s\n", error.what());
      Comms::abort();
      return 1;
    }
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 2;
  }
}

}  // namespace bench
