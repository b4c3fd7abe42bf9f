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

/// What a long run does and how far it is.
struct ProgressState {
  std::string_view phase;                 ///< "iterations"
  std::size_t done = 0;                   ///< 0: nothing to count yet
  std::optional<std::size_t> total = {};  ///< at most so many
  std::optional<double> left_s = {};      ///< at most so long
};

/// "iterations: 12 of 200, 4.0/s, 47 s left", after `elapsed_s` in that phase.
[[nodiscard]] std::string progress_text(const ProgressState& state, double elapsed_s);

/// Says on standard error what goes on: on a terminal one line, overwritten by the next and wiped
/// at the end; elsewhere, as in a pipe, a line every ten seconds. The environment's
/// UNDERSTUDY_PROGRESS changes that: off, or the seconds between lines.
class Progress {
 public:
  /// Where it writes, and by which clock.
  struct Output {
    bool is_terminal = false;
    double line_s = 10;  ///< from one line to the next where it is none
    std::function<void(std::string_view)> write;
    std::function<double()> now_s;
  };

  explicit Progress(bool is_silent = false);
  explicit Progress(Output output);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Costs a reading of the clock where nothing is to be written.
  void show(const ProgressState& state);
  void show(std::string_view phase) { show(ProgressState{phase}); }
  /// Wipes the line, so that other output can follow.
  void clear();
  /// Says nothing from here on.
  void silence();
  /// Goes on saying the last phase while nothing calls, on a thread of its own. Not where times are
  /// measured.
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
  std::mutex mutex_;  ///< of all above
  std::condition_variable ending_;
  bool is_ending_ = false;
  std::thread ticker_;
};

}  // namespace understudy::cli
