#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace understudy::cli {

/// Handles SIGINT and SIGTERM while a measurement is worth keeping. The first signal is noted; any
/// further one ends the process by default. Signals that were ignored at the program's start, as by
/// nohup, stay ignored. Only one instance may exist at a time.
class StopSignals {
 public:
  StopSignals() = default;
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// From now on, a signal that ends the process is reported on standard error in one line, with
  /// the place in the program: see at(). Without this call the process ends silently.
  void announce(const char* program);
  /// Sets the process ids of the job's ranks on this host, by rank; 0 if unknown. If one of them
  /// has ended when a signal arrives, the launcher is ending the others for that reason: this is
  /// reported and the process ends. Must be called before listen().
  static void know(std::vector<std::int64_t> processes);
  /// Sets the current place in the program: "matching". `closer`, if any, writes more; it may only
  /// make calls that are safe in a signal handler.
  static void at(const char* place, void (*closer)() = nullptr);
  /// From now on, notes signals; before, they end the process. The first signal writes `words` to
  /// standard error; null: nothing. `words` must live as long as the program. After announce(), or
  /// among ranks, it also reports the sender and the place.
  void listen(const char* words);
  /// Returns the noted signal; 0 if none has arrived.
  [[nodiscard]] static const std::atomic<int>& signal();

 private:
  bool is_set_ = false;  ///< whether a handler is installed
  bool is_listening_ = false;
};

/// Returns the exit status of a program that a signal has ended, as shells report it: 128 + number.
[[nodiscard]] constexpr int status_of_signal(int number) {
  constexpr int kBase = 128;
  return kBase + number;
}

}  // namespace understudy::cli
