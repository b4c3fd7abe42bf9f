#pragma once

#include <string>
#include <vector>

namespace understudy::backends {

/// The processes that a launcher has started together, one per rank, and their exchange of data
/// outside of timed regions. All calls must come from one thread.
class Job {
 public:
  virtual ~Job() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  /// Returns the name of this rank's host.
  [[nodiscard]] virtual std::string host() const;

  /// Returns every rank's text on every rank, by rank. Used to match programs and merge reports.
  [[nodiscard]] virtual std::vector<std::string> all_gather_text(const std::string& text) = 0;
  virtual void barrier() = 0;

  /// Sets the time limit: how long a rank may make no progress while another rank waits for it.
  virtual void set_time_limit(double seconds) { static_cast<void>(seconds); }
  /// Records that this rank makes progress, even if it starts no call for long.
  virtual void note_progress() {}

  /// Ends the job on all ranks at once with this exit status; does not return. Must be called after
  /// the error was printed.
  [[noreturn]] virtual void abort(int status) = 0;
};

}  // namespace understudy::backends
