#pragma once

#include <string>
#include <vector>

namespace understudy::backends {

/// The processes that a launcher has started together, one a rank, and what they tell each other
/// outside of what is timed. One thread calls it.
class Job {
 public:
  virtual ~Job() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  [[nodiscard]] virtual std::string host() const = 0;

  /// Every rank's text on every rank, in order of rank. For matching programs and merging reports.
  [[nodiscard]] virtual std::vector<std::string> all_gather_text(const std::string& text) = 0;
  virtual void barrier() = 0;

  /// From now on: how many seconds a rank that another waits for may take without getting on.
  virtual void set_time_limit(double seconds) { static_cast<void>(seconds); }
  /// This rank gets on, though it may start no call for long.
  virtual void note_progress() {}

  /// Ends the job on all ranks at once with this exit status; does not return. Call after the error
  /// was printed.
  [[noreturn]] virtual void abort(int status) = 0;
};

}  // namespace understudy::backends
