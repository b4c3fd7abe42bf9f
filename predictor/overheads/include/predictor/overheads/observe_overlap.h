#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "et_schema/kineto/kineto.h"
#include "predictor/overheads/overlap.h"

namespace understudy::predictor {

struct ObservedOverlap {
  std::vector<DeviceOverlap> devices;             ///< by name, those with a factor
  std::map<std::string, Errors> left_out;         ///< by "device\nfactor"
  std::map<std::string, std::uint64_t> not_used;  ///< kernels and calls, by reason
};

/// What Kineto profiles show of work that ran beside other work of its device: the same calls
/// alone and (nearly) wholly beside it, compared within each file. docs/prediction.md, "Overlap".
class OverlapObserver {
 public:
  OverlapObserver();
  OverlapObserver(OverlapObserver&&) noexcept;
  OverlapObserver& operator=(OverlapObserver&&) noexcept;
  ~OverlapObserver();

  /// A profile that was read with KinetoDetail::kShapes.
  void add(const et_schema::Profile& profile);
  /// What all of them show; those of a job's ranks tell more than one: when communication moved
  /// data, and when it waited.
  [[nodiscard]] ObservedOverlap observed() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace understudy::predictor
