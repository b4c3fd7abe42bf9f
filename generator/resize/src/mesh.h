#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/base/error.h"
#include "group_kinds.h"

namespace understudy::generator {

/// Thrown where other numbers of ranks would do.
struct WorldDoesNotFit {
  et_schema::ErrorContext context;
};

/// Ranks in a row: those that differ in one coordinate alone.
struct MeshAxis {
  std::int64_t stride = 1;
  std::int64_t size = 1;
  std::optional<GroupKind> kind = {};  ///< none: no group is along it
};

/// The ranks of a job as a grid, whose axes are told by the groups that communicate.
class Mesh {
 public:
  using Coordinates = std::vector<std::int64_t>;

  /// Throws Error (bad input), by name, where a group's ranks are no part of a grid.
  Mesh(const et_schema::Bench& bench, const DecidedKinds& kinds);

  [[nodiscard]] std::int64_t world_size() const { return world_size_; }
  [[nodiscard]] const std::vector<MeshAxis>& axes() const { return axes_; }
  /// Which axes a group's ranks lie along.
  [[nodiscard]] const std::vector<bool>& along(et_schema::GroupId group) const {
    return along_[group];
  }
  /// A group's ranks, the whole world's too.
  [[nodiscard]] std::vector<std::int64_t> ranks_of(et_schema::GroupId group) const;
  [[nodiscard]] Coordinates place_of(std::int64_t rank) const;
  [[nodiscard]] std::int64_t rank_at(const Coordinates& place) const;
  /// The same grid with another number of ranks along an axis; groups are not known of it.
  [[nodiscard]] Mesh with_size(std::size_t axis, std::int64_t size) const;
  /// The ranks along some axes from one of them, ascending.
  [[nodiscard]] std::vector<std::int64_t> ranks_along(const std::vector<bool>& axes,
                                                      Coordinates from) const;
  /// The axis that another number of ranks changes: of those along which the batch is divided the
  /// one with the whole model on each rank, where there are several. Throws Error (bad input).
  [[nodiscard]] std::size_t growing_axis(const DecidedKinds& kinds) const;

 private:
  void find_axes(const DecidedKinds& kinds);
  void fill_gaps(std::vector<MeshAxis> found, std::optional<GroupKind> kind_of_gaps);
  void add_lone_axis(const DecidedKinds& kinds);
  [[nodiscard]] std::vector<bool> axes_of(et_schema::GroupId group,
                                          const std::optional<DecidedKind>& kind) const;

  const et_schema::Bench* bench_;
  std::int64_t world_size_;
  std::vector<MeshAxis> axes_;  ///< the innermost first
  std::vector<std::vector<bool>> along_;
};

}  // namespace understudy::generator
