#pragma once

#include <atomic>

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

  /// Notes signals from here on; before, they end the process. The first one says `words` on
  /// standard error, which live as long as the program; null: nothing.
  void listen(const char* words);
  /// 0 as long as none has come.
  [[nodiscard]] static const std::atomic<int>& signal();

 private:
  bool is_listening_ = false;
};

/// The exit status of a program that a signal has ended, as shells say it: 128 + its number.
[[nodiscard]] constexpr int status_of_signal(int number) {
  constexpr int kBase = 128;
  return kBase + number;
}

}  // namespace understudy::cli
