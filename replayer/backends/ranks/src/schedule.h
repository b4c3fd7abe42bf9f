#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "replayer/backends/ranks/wire.h"

namespace understudy::backends {

/// A call as a sequence of steps. Each step posts transfers, and the next step runs when they are
/// complete.
///
/// The wire's own collectives appear only in the first step. So all ranks post them in the order in
/// which calls are issued, however fast each rank proceeds. Later steps exchange messages under
/// tags that belong to the call.
class Schedule {
 public:
  using Step = std::function<void(Transfers&)>;

  explicit Schedule(std::unique_ptr<Transfers> transfers) : transfers_(std::move(transfers)) {}

  void add(Step step) { steps_.push_back(std::move(step)); }
  /// Allocates memory that lives as long as the schedule.
  [[nodiscard]] std::byte* scratch(std::int64_t bytes) {
    return scratch_
        .emplace_back(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes)))
        .get();
  }

  /// Continues without waiting. Returns true once all steps are complete. Throws what Transfers
  /// throw.
  [[nodiscard]] bool advance() {
    while (transfers_->test()) {
      if (next_ == steps_.size()) {
        return true;
      }
      steps_[next_++](*transfers_);
    }
    return false;
  }

 private:
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> scratch_;
  std::unique_ptr<Transfers> transfers_;  // the last member: it uses scratch memory
};

}  // namespace understudy::backends
