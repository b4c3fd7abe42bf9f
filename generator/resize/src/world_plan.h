#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "generator/resize/world.h"
#include "group_kinds.h"
#include "mesh.h"

namespace understudy::generator {

/// The recorded rank that a new rank copies.
struct WorldSource {
  std::int64_t rank = 0;    ///< in the recorded job
  std::size_t program = 0;  ///< in the benchmark
};

/// The recorded ranks, the new ranks, and which new rank copies which recorded one.
class WorldPlan {
 public:
  /// `bench` must outlive this. Throws Error (bad input) with names if groups form no grid, the
  /// size fits none of its axes, or ranks along the axis do not call the same operators.
  WorldPlan(const et_schema::Bench& bench, const WorldSize& size);

  [[nodiscard]] const et_schema::Bench& bench() const { return bench_; }
  [[nodiscard]] const DecidedKinds& kinds() const { return kinds_; }
  [[nodiscard]] const Mesh& before() const { return before_; }
  [[nodiscard]] const Mesh& after() const { return after_; }
  /// WorldSize::shares_programs.
  [[nodiscard]] bool shares_programs() const { return shares_programs_; }
  /// The axis that grows or shrinks.
  [[nodiscard]] std::size_t axis() const { return axis_; }
  [[nodiscard]] std::int64_t size_before() const { return before_.axes()[axis_].size; }
  [[nodiscard]] std::int64_t size_after() const { return after_.axes()[axis_].size; }
  [[nodiscard]] const WorldSource& source(std::int64_t rank) const {
    return sources_[static_cast<std::size_t>(rank)];
  }
  /// True if the new job has as many ranks as the recorded one: only missing ranks are filled in.
  [[nodiscard]] bool keeps_size() const { return keeps_size_; }
  /// Returns true if a recorded group has another number of ranks in the new job.
  [[nodiscard]] bool grows(et_schema::GroupId group) const {
    return !keeps_size_ && kinds_[group] && before_.along(group)[axis_];
  }
  /// Returns the ranks of a new rank's group for a recorded group; all if its kind is unknown.
  [[nodiscard]] std::vector<std::int64_t> ranks_after(et_schema::GroupId group,
                                                      std::int64_t rank) const;
  /// Returns the number of those ranks.
  [[nodiscard]] std::int64_t count_after(et_schema::GroupId group) const;
  /// Returns a rank's position in its group, in the recorded or the new grid.
  [[nodiscard]] std::int64_t position_before(et_schema::GroupId group, std::int64_t rank) const;
  [[nodiscard]] std::int64_t position_after(et_schema::GroupId group, std::int64_t rank) const;
  /// Returns other numbers of ranks that may work if the requested one does not.
  [[nodiscard]] std::vector<int> others() const;

 private:
  [[nodiscard]] std::int64_t ranks_along(const WorldSize& size) const;
  [[nodiscard]] std::size_t program_as(std::int64_t rank) const;
  [[nodiscard]] bool is_like(std::int64_t a, std::int64_t b) const;
  void check_alike() const;

  const et_schema::Bench& bench_;
  bool keeps_size_;
  DecidedKinds kinds_;
  Mesh before_;
  std::size_t axis_;  ///< any, if the job keeps its size
  Mesh after_;
  bool shares_programs_;
  std::vector<WorldSource> sources_;  ///< by new rank
};

/// Returns "allreduce in group 'dp'".
[[nodiscard]] std::string call_text(const WorldPlan& plan, et_schema::GroupId group,
                                    const et_schema::Instruction& call);
/// Throws Error (bad input) about a call of a recorded group that a new rank copies.
[[noreturn]] void refuse_call(const WorldPlan& plan, std::int64_t rank, et_schema::GroupId group,
                              const et_schema::Instruction& call, std::string expected,
                              std::string got,
                              std::string hint = "capture the job on that number of ranks");

}  // namespace understudy::generator
