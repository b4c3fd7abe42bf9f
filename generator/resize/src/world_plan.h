#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "generator/resize/world.h"
#include "group_kinds.h"
#include "mesh.h"

namespace understudy::generator {

/// Whom a new rank does as.
struct WorldSource {
  std::int64_t rank = 0;    ///< in the recorded job
  std::size_t program = 0;  ///< in the benchmark
};

/// The recorded ranks and the new ones, and who does as whom.
class WorldPlan {
 public:
  /// `bench` must outlive it. Throws Error (bad input), by name, where groups are no grid, the size
  /// fits none of its axes, or ranks along the axis do not call the same operators.
  WorldPlan(const et_schema::Bench& bench, const WorldSize& size);

  [[nodiscard]] const et_schema::Bench& bench() const { return bench_; }
  [[nodiscard]] const DecidedKinds& kinds() const { return kinds_; }
  [[nodiscard]] const Mesh& before() const { return before_; }
  [[nodiscard]] const Mesh& after() const { return after_; }
  /// WorldSize::shares_programs.
  [[nodiscard]] bool shares_programs() const { return shares_programs_; }
  /// The one that grows or shrinks.
  [[nodiscard]] std::size_t axis() const { return axis_; }
  [[nodiscard]] std::int64_t size_before() const { return before_.axes()[axis_].size; }
  [[nodiscard]] std::int64_t size_after() const { return after_.axes()[axis_].size; }
  [[nodiscard]] const WorldSource& source(std::int64_t rank) const {
    return sources_[static_cast<std::size_t>(rank)];
  }
  /// Whether a recorded group has another number of ranks in the new job.
  [[nodiscard]] bool grows(et_schema::GroupId group) const {
    return kinds_[group] && before_.along(group)[axis_];
  }
  /// The ranks of what a recorded group is to a new rank; all of them where nothing is known of it.
  [[nodiscard]] std::vector<std::int64_t> ranks_after(et_schema::GroupId group,
                                                      std::int64_t rank) const;
  /// How many those are.
  [[nodiscard]] std::int64_t count_after(et_schema::GroupId group) const;
  /// A rank's place among the ranks of a row of the recorded grid, or of the new one.
  [[nodiscard]] std::int64_t position_before(et_schema::GroupId group, std::int64_t rank) const;
  [[nodiscard]] std::int64_t position_after(et_schema::GroupId group, std::int64_t rank) const;
  /// Numbers of ranks that may do where this one does not.
  [[nodiscard]] std::vector<int> others() const;

 private:
  [[nodiscard]] std::int64_t ranks_along(const WorldSize& size) const;
  [[nodiscard]] std::size_t program_as(std::int64_t rank) const;
  [[nodiscard]] bool is_like(std::int64_t a, std::int64_t b) const;
  void check_alike() const;

  const et_schema::Bench& bench_;
  DecidedKinds kinds_;
  Mesh before_;
  std::size_t axis_;
  Mesh after_;
  bool shares_programs_;
  std::vector<WorldSource> sources_;  ///< by new rank
};

/// "allreduce in group 'dp'".
[[nodiscard]] std::string call_text(const WorldPlan& plan, et_schema::GroupId group,
                                    const et_schema::Instruction& call);
/// Throws Error (bad input) about the call that a new rank takes over in a recorded group.
[[noreturn]] void refuse_call(const WorldPlan& plan, std::int64_t rank, et_schema::GroupId group,
                              const et_schema::Instruction& call, std::string expected,
                              std::string got,
                              std::string hint = "capture the job on that number of ranks");

}  // namespace understudy::generator
