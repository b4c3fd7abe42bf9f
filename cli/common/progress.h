#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace understudy::cli {

/// Phase and progress of a long run.
struct ProgressState {
  std::string_view phase;                 ///< "iterations"
  std::size_t done = 0;                   ///< 0: nothing to count yet
  std::optional<std::size_t> total = {};  ///< upper bound of `done`
  std::optional<double> left_s = {};      ///< upper bound
};

/// Returns "iterations: 12 of 200, 4.0/s, 47 s left", `elapsed_s` after the phase began.
[[nodiscard]] std::string progress_text(const ProgressState& state, double elapsed_s);

/// Reports progress on standard error: on a terminal one line, overwritten by the next and erased
/// at the end; elsewhere, as in a pipe, a line every ten seconds. The environment variable
/// UNDERSTUDY_PROGRESS overrides this: "off", "redraw" (one line anywhere), or seconds.
class Progress {
 public:
  /// Destination and clock.
  struct Output {
    bool is_terminal = false;
    double line_s = 10;  ///< seconds between lines, unless `is_terminal`
    std::function<void(std::string_view)> write;
    std::function<double()> now_s;
  };

  explicit Progress(bool is_silent = false);
  explicit Progress(Output output);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Costs one reading of the clock if no line is due.
  void show(const ProgressState& state);
  void show(std::string_view phase) { show(ProgressState{phase}); }
  /// Erases the line, so that other output can follow.
  void clear();
  /// Suppresses all further output.
  void silence();
  /// Starts a thread that repeats the last phase while nobody calls show(). Not for use during
  /// measurements.
  void tick();

 private:
  [[nodiscard]] double wait_s() const;
  void write(double now_s);

  Output output_;
  bool is_silent_ = false;
  bool is_shown_ = false;
  std::string phase_;
  ProgressState state_;
  double phase_begin_s_ = 0;
  double written_s_ = 0;
  std::mutex mutex_;  ///< guards all members above
  std::condition_variable ending_;
  bool is_ending_ = false;
  std::thread ticker_;
};

}  // namespace understudy::cli
