#include "cli/common/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "et_schema/base/control_characters.h"
#include "et_schema/base/figures.h"

namespace understudy::cli {
namespace {

constexpr std::string_view kWipeLine = "\r\x1b[K";
constexpr double kRedrawSeconds = 0.125;
constexpr double kMinute = 60;
constexpr double kHour = 3600;

std::string duration_text(double seconds) {
  if (seconds < kMinute) {
    return fmt::format("{:.0f} s", seconds);
  }
  if (seconds < kHour) {
    return fmt::format("{:.0f} min {:.0f} s", std::floor(seconds / kMinute),
                       std::floor(std::fmod(seconds, kMinute)));
  }
  return fmt::format("{:.0f} h {:.0f} min", std::floor(seconds / kHour),
                     std::floor(std::fmod(seconds, kHour) / kMinute));
}

std::string rate_text(double per_s) {
  return per_s >= 1 ? fmt::format("{:.1f}/s", per_s) : fmt::format("{:.1f} s each", 1 / per_s);
}

/// Returns the remaining time: the smaller of the caller's bound and the estimate from the rate so
/// far. Empty if both are unknown.
std::optional<double> seconds_left(const ProgressState& state, double per_s) {
  std::optional<double> left_s = state.left_s;
  if (state.total && per_s > 0) {
    const double by_rate =
        static_cast<double>(*state.total - std::min(state.done, *state.total)) / per_s;
    left_s = std::min(left_s.value_or(by_rate), by_rate);
  }
  return left_s;
}

Progress::Output standard_error() {
  const auto now_s = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  };
  // If standard error is closed, progress is lost silently.
  const auto write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  return {.is_terminal = isatty(STDERR_FILENO) == 1, .write = write, .now_s = now_s};
}

constexpr const char* kWish = "UNDERSTUDY_PROGRESS";

}  // namespace

std::string progress_text(const ProgressState& state, double elapsed_s) {
  if (state.done == 0) {
    return elapsed_s < 1 ? std::string(state.phase)
                         : fmt::format("{}, {}", state.phase, duration_text(elapsed_s));
  }
  std::string text = fmt::format("{}: {}", state.phase, et_schema::with_commas(state.done));
  if (state.total) {
    text += " of " + et_schema::with_commas(*state.total);
  }
  const double per_s = elapsed_s > 0 ? static_cast<double>(state.done) / elapsed_s : 0;
  if (per_s > 0) {
    text += ", " + rate_text(per_s);
  }
  if (const std::optional<double> left_s = seconds_left(state, per_s)) {
    text += fmt::format(", {} left", duration_text(std::max(0.0, *left_s)));
  }
  return text;
}

Progress::Progress(bool is_silent) : Progress(standard_error()) {
  const char* wish = std::getenv(kWish);
  is_silent_ = is_silent || (wish != nullptr && std::string_view(wish) == "off");
  output_.is_terminal |= wish != nullptr && std::string_view(wish) == "redraw";
  if (const double line_s = wish == nullptr ? 0 : std::atof(wish); line_s > 0) {
    output_.line_s = line_s;
  }
}

Progress::Progress(Output output) : output_(std::move(output)), written_s_(output_.now_s()) {}

Progress::~Progress() {
  if (ticker_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    ending_.notify_all();
    ticker_.join();
  }
  clear();
}

void Progress::show(const ProgressState& state) {
  const std::lock_guard lock(mutex_);
  if (is_silent_) {
    return;
  }
  const double now_s = output_.now_s();
  const bool is_new = state.phase != phase_;
  if (is_new) {
    phase_ = state.phase;
    phase_begin_s_ = now_s;
  }
  state_ = state;
  state_.phase = phase_;
  if (now_s - written_s_ >= wait_s() || (is_new && output_.is_terminal)) {
    write(now_s);
  }
}

double Progress::wait_s() const {
  return output_.is_terminal ? kRedrawSeconds : output_.line_s;
}

void Progress::write(double now_s) {
  const std::string text =
      et_schema::escape_control_characters(progress_text(state_, now_s - phase_begin_s_));
  output_.write(output_.is_terminal ? fmt::format("{}{}", kWipeLine, text) : text + "\n");
  is_shown_ = output_.is_terminal;
  written_s_ = now_s;
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (is_shown_) {
    output_.write(kWipeLine);
    is_shown_ = false;
  }
  phase_.clear();
}

void Progress::silence() {
  clear();
  const std::lock_guard lock(mutex_);
  is_silent_ = true;
}

void Progress::tick() {
  ticker_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!ending_.wait_for(lock, std::chrono::seconds(1), [this] { return is_ending_; })) {
      const double now_s = output_.now_s();
      if (!phase_.empty() && !is_silent_ && now_s - written_s_ >= wait_s()) {
        write(now_s);
      }
    }
  });
}

}  // namespace understudy::cli
