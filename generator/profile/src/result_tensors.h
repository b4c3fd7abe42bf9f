#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "et_schema/base/arena.h"
#include "identity.h"
#include "read_calls.h"
#include "tensors.h"

namespace understudy::generator {

/// Finds the tensors of calls' results: tensors that the call's children made, views of its
/// arguments, or new ones, which live as long as the allocation that the call made for them.
class ResultTensors {
 public:
  ResultTensors(const et_schema::Profile& profile, const HostEvents& host, Tensors& tensors,
                et_schema::Arena arena);

  /// Returns the results, in order, of the call whose frame ends.
  [[nodiscard]] std::vector<SeenIndex> find(const Call& call, const Frame& frame,
                                            std::uint64_t moment);

 private:
  /// An allocation of the profile. It belongs to at most one storage.
  struct Allocation {
    std::int64_t time_ns = 0;
    std::int64_t freed_ns = kLatestNs;
    std::int64_t bytes = 0;
    bool on_cpu = false;
    bool is_claimed = false;
  };
  [[nodiscard]] SeenIndex find_one(const Call& call, const Frame& frame, std::size_t number,
                                   std::span<const SeenIndex> taken);
  [[nodiscard]] SeenIndex find_made(const Call& call, const Frame& frame, const SeenTensor& result,
                                    bool is_view, std::span<const SeenIndex> taken);
  [[nodiscard]] SeenIndex find_workspace(const Frame& frame, et_schema::DType dtype,
                                         std::int64_t end_ns, std::span<const SeenIndex> taken);
  void claim(const Call& call, std::size_t number, SeenStorage& storage);

  const HostEvents& host_;
  Tensors& tensors_;
  et_schema::Arena arena_;
  std::vector<Allocation> allocations_;  ///< by time
  std::uint64_t moment_ = 0;
};

}  // namespace understudy::generator
