#pragma once

#include <c10/core/Device.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/facts/counters.h"

namespace understudy::replayer {

/// Counts what the processor or a device does in ranges of a run. A source may need several passes,
/// runs of the same work, to count all that it was asked for:
///
///     for (std::size_t pass = source.prepare(names, ranges); pass > 0; --pass) {
///       source.begin_pass();
///       for (…) { source.begin_range(i); …work…; source.end_range(); }
///       source.end_pass();
///     }
///     const std::vector<Counters> of_ranges = source.take();
///
/// All functions may throw Error (failed) if the source vanishes or is refused; it is then of no
/// further use, and the work goes on without it.
class CounterSource {
 public:
  CounterSource() = default;
  CounterSource(const CounterSource&) = delete;
  CounterSource& operator=(const CounterSource&) = delete;
  virtual ~CounterSource() = default;

  /// Returns all names that it can count: those of counter_facts() first, then the maker's own.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  /// Returns the names that it can count in single calls: all, unless some are too coarse.
  [[nodiscard]] virtual std::vector<std::string> call_names() const { return names(); }
  /// Returns the shortest range in ms that it can count; shorter iterations are repeated in one
  /// range.
  [[nodiscard]] virtual double least_ms() const { return 0; }

  /// Chooses those of `names` that it has, and makes room for `ranges` ranges. Returns the number
  /// of passes that they need; 0 if it has none of the names.
  [[nodiscard]] virtual std::size_t prepare(const std::vector<std::string>& names,
                                            std::size_t ranges) = 0;
  virtual void begin_pass() = 0;
  /// Ranges of a pass have increasing numbers below `ranges`, and are not nested.
  virtual void begin_range(std::size_t range) = 0;
  virtual void end_range() = 0;
  virtual void end_pass() = 0;
  /// Returns the counters of each range after the last pass, and forgets them. Ranges that did not
  /// run, and counters that overflowed or ran backwards in a range, have no entry.
  [[nodiscard]] virtual std::vector<et_schema::Counters> take() = 0;
};

/// A source of the list, opened if it is there.
struct OpenedSource {
  std::string name;  ///< "perf", "cupti", "gpm"
  std::unique_ptr<CounterSource> source;
  /// Why `source` is null, or lacks counters, and what to do about it: a line.
  std::string why_not;

  /// Closes the source because of this error, which becomes the line why it is not there.
  void close(const et_schema::Error& error);
};
/// Returns all sources for a replay on this device.
[[nodiscard]] std::vector<OpenedSource> open_counter_sources(c10::Device device);

/// The counters that the name "default" selects; each source counts those that it has.
inline constexpr std::array<std::string_view, 17> kDefaultCounters = {
    "instructions", "cycles",       "ipc",           "cache_misses", "host_dram_bytes", "device_ns",
    "sm_active",    "occupancy",    "tensor_active", "dram_active",  "dram_bytes",      "flop",
    "tensor_flop",  "nvlink_bytes", "pcie_bytes",    "power_w",      "energy_j"};

/// Returns the names of the counters to count: replaces "default", and adds the weights of means.
/// Throws Error (usage) for a name that is neither ours nor a source's. A name that looks like a
/// maker's is accepted as long as no source knows such names.
[[nodiscard]] std::vector<std::string> chosen_counters(const std::vector<std::string>& asked,
                                                       std::span<const OpenedSource> sources);

}  // namespace understudy::replayer
