#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "et_schema/formats/operator_times/operator_times.h"
#include "replayer/calibrator/design/call.h"

namespace understudy::calibrator {

class BoundCall;

/// How often a call is timed.
struct TimingLimits {
  std::size_t least = 3;  ///< pairs of a cold and a warm call; one where a call takes a quarter
                          ///< of a second
  std::size_t most = 24;
  double seconds = 0.03;  ///< of these calls, once there are `least`
};

/// Why a call was not timed.
struct Refusal {
  std::string reason;
};

/// Times calls as a replay does: bound through the same ladder, tried and checked, called boxed
/// below autograd, measured around the call alone. What a call reads and wrote last is taken out of
/// the caches before each cold call; a warm call follows each. On a device, which must be open,
/// rows have the device's time beside the host's, and threads mean nothing. There is one at a time;
/// it sets the process's LibTorch threads and keeps its heap.
class Caller {
 public:
  struct Options {
    std::vector<int> threads = {1};
    TimingLimits limits;
    std::uint64_t seed = 0;
    c10::Device device{c10::kCPU};
    /// A GPU repeats each call for so long, and its rows have the counter `energy_j`.
    double energy_s = 0;
  };
  explicit Caller(Options options);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// A row for each number of threads, cold and warm, in this order. `instruction` and `node_id`
  /// are 0, `at_s` is for the caller to set. Throws Error (failed) where the device is lost.
  [[nodiscard]] std::variant<std::vector<et_schema::InstructionTime>, Refusal> time(Call call);

 private:
  struct Session;
  [[nodiscard]] double probe_ms(int threads);
  /// The rows of a call, which are as `row` but for the times.
  [[nodiscard]] std::vector<et_schema::InstructionTime> time_on_host(
      BoundCall& bound, et_schema::InstructionTime row);
  [[nodiscard]] std::vector<et_schema::InstructionTime> time_on_device(
      BoundCall& bound, et_schema::InstructionTime row);

  Options options_;
  std::unique_ptr<Session> session_;
};

}  // namespace understudy::calibrator
