#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/report.h"
#include "replayer/counters/one_pass.h"

struct perf_event_attr;

namespace understudy::replayer {

/// The kernel's counters; tests replace them.
struct PerfSystem {
  std::function<int(const perf_event_attr& event, int process, int cpu)> open;
  std::function<ssize_t(int file, void* bytes, std::size_t size)> read;
  std::filesystem::path devices;

  [[nodiscard]] static PerfSystem of_kernel();
};

/// Counters of the system (getrusage) and, if available, of the processor and of its memory
/// controllers (perf_event). Those of the system are sums over all threads of the process; those of
/// the processor over this thread and the threads that it starts later, in user mode; the bytes of
/// memory are of all processes. Counting itself costs nothing.
class PerfSource : public OnePassSource {
 public:
  explicit PerfSource(PerfSystem system = PerfSystem::of_kernel());
  ~PerfSource() override { close_from(0); }

  [[nodiscard]] std::vector<std::string> names() const override;
  [[nodiscard]] std::vector<std::string> call_names() const override;
  /// Returns kCounted, or why the processor's counters are not there.
  [[nodiscard]] const std::string& state() const { return state_; }

  /// begin() and end() must be called around each measured iteration.
  void begin();
  void end();
  /// Stores the means over the iterations between begin() and end(), and the state of "perf".
  void report(et_schema::RunFigures& figures) const;

 private:
  /// What the kernel writes for an event.
  struct Count {
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;  ///< less than enabled: other events had the register
  };
  struct Event {
    std::string_view counter;  ///< events of one counter add up
    int file = -1;
    double scale = 1;
    Count before = {};
    Count after = {};
    bool is_lost = false;  ///< the kernel refused one of both
  };

  bool open(unsigned type, unsigned config, int cpu, std::string_view counter, double scale);
  void open_processor();
  void open_memory();
  void close_from(std::size_t first);
  void read(Count Event::*count);
  void read_before() override;
  [[nodiscard]] et_schema::Counters read_after() override;

  PerfSystem system_;
  std::string state_;
  std::vector<Event> events_;
  rusage before_{};
  et_schema::Counters sums_;
  std::size_t iterations_ = 0;
};

}  // namespace understudy::replayer
