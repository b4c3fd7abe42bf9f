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
  std::vector<DeviceOverlap> devices;             ///< those with a factor, by name
  std::map<std::string, Errors> left_out;         ///< by "device\nfactor"
  std::map<std::string, std::uint64_t> not_used;  ///< number of kernels and calls, by reason
};

/// Observes in Kineto profiles what runs beside other work of its device: the same calls alone and
/// (nearly) wholly beside it, compared within each file. See docs/prediction.md, "Overlap".
class OverlapObserver {
 public:
  OverlapObserver();
  OverlapObserver(OverlapObserver&&) noexcept;
  OverlapObserver& operator=(OverlapObserver&&) noexcept;
  ~OverlapObserver();

  /// Adds a profile that was read with KinetoDetail::kShapes.
  void add(const et_schema::Profile& profile);
  /// What all profiles show. Together, the profiles of a job's ranks tell more than one: when
  /// communication moved data, and when it waited.
  [[nodiscard]] ObservedOverlap observed() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace understudy::predictor
