#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace understudy::cli {

/// SIGINT and SIGTERM while a measurement is worth being kept: the first one is noted, any further
/// one ends the process as if nobody listened. What was ignored when the program started, as by
/// nohup, stays so. There is one at a time.
class StopSignals {
 public:
  StopSignals() = default;
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// From here on a signal that ends the process says so on standard error, in one line, and where
  /// it found it: see at(). Without it the process ends without a word.
  void announce(const char* program);
  /// The processes of the job's ranks on this host, by rank; 0: not known. If one of them has ended
  /// when a signal comes, the launcher ends the others for that: it is said instead, and the
  /// process ends. Call before listen().
  static void know(std::vector<std::int64_t> processes);
  /// Where the program is from here on: "matching". `closer`, if any, writes more, with only such
  /// calls as a signal handler may make.
  static void at(const char* place, void (*closer)() = nullptr);
  /// Notes signals from here on; before, they end the process. The first one says `words` on
  /// standard error, which live as long as the program, and of an announced one, or one among
  /// ranks, who sent it and where it found it; null: nothing.
  void listen(const char* words);
  /// 0 as long as none has come.
  [[nodiscard]] static const std::atomic<int>& signal();

 private:
  bool is_set_ = false;  ///< whether a signal does something else than by default
  bool is_listening_ = false;
};

/// The exit status of a program that a signal has ended, as shells say it: 128 + its number.
[[nodiscard]] constexpr int status_of_signal(int number) {
  constexpr int kBase = 128;
  return kBase + number;
}

}  // namespace understudy::cli
