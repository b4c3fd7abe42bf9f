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
  /// Least number of pairs of a cold and a warm call; one if a call takes more than 0.25 s.
  std::size_t least = 3;
  std::size_t most = 24;
  double seconds = 0.03;  ///< time limit of the calls, applied after `least` pairs
};

/// Why a call was not timed.
struct Refusal {
  std::string reason;
};

/// Times calls as a replay does: bound through the same ladder, tried and checked, called boxed
/// below autograd, and measured around the call alone. Before each cold call, the tensors that the
/// call reads and last wrote are evicted from the caches; a warm call follows each. On a device,
/// which must be open, rows also hold the device's time, and thread counts are ignored. Only one
/// Caller may exist at a time: it sets LibTorch's threads of the process and keeps its heap.
class Caller {
 public:
  struct Options {
    std::vector<int> threads = {1};
    TimingLimits limits;
    std::uint64_t seed = 0;
    c10::Device device{c10::kCPU};
  };
  explicit Caller(Options options);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// Times a call. Returns a row for each number of threads, cold and warm, in this order.
  /// `instruction` and `node_id` are 0; the caller must set `at_s`. Throws Error (failed) if the
  /// device is lost.
  [[nodiscard]] std::variant<std::vector<et_schema::MeasuredCall>, Refusal> time(Call call);

 private:
  struct Session;
  [[nodiscard]] double probe_ms(int threads);
  /// Return the rows of a call: copies of `row` with the times.
  [[nodiscard]] std::vector<et_schema::MeasuredCall> time_on_host(BoundCall& bound,
                                                                  et_schema::MeasuredCall row);
  [[nodiscard]] std::vector<et_schema::MeasuredCall> time_on_device(BoundCall& bound,
                                                                    et_schema::MeasuredCall row);

  Options options_;
  std::unique_ptr<Session> session_;
};

}  // namespace understudy::calibrator
