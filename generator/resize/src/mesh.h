#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "et_schema/base/error.h"
#include "group_kinds.h"

namespace understudy::generator {

/// Thrown if another number of ranks may work.
struct WorldDoesNotFit {
  et_schema::ErrorContext context;
};

/// One axis of the grid: ranks that differ in one coordinate only.
struct MeshAxis {
  std::int64_t stride = 1;
  std::int64_t size = 1;
  std::optional<GroupKind> kind = {};  ///< unset: no group is along it
};

/// The ranks of a job as a grid whose axes follow from the groups that communicate.
class Mesh {
 public:
  using Coordinates = std::vector<std::int64_t>;

  /// Throws Error (bad input) with the group's name if its ranks do not form part of a grid.
  Mesh(const et_schema::Bench& bench, const DecidedKinds& kinds, bool keeps_size);

  [[nodiscard]] std::int64_t world_size() const { return world_size_; }
  [[nodiscard]] const std::vector<MeshAxis>& axes() const { return axes_; }
  /// Returns by axis whether a group's ranks are along it.
  [[nodiscard]] const std::vector<bool>& along(et_schema::GroupId group) const {
    return along_[group];
  }
  /// Returns the ranks of a group, or of the whole world.
  [[nodiscard]] std::vector<std::int64_t> ranks_of(et_schema::GroupId group) const;
  [[nodiscard]] Coordinates place_of(std::int64_t rank) const;
  [[nodiscard]] std::int64_t rank_at(const Coordinates& place) const;
  /// Returns the grid with another number of ranks along an axis. Its groups are unknown.
  [[nodiscard]] Mesh with_size(std::size_t axis, std::int64_t size) const;
  /// Returns the ranks along some axes from one place, ascending.
  [[nodiscard]] std::vector<std::int64_t> ranks_along(const std::vector<bool>& axes,
                                                      Coordinates from) const;
  /// Returns the axis that grows or shrinks: one along which the batch is divided. If there are
  /// several, returns the one with the whole model on each rank. Throws Error (bad input).
  [[nodiscard]] std::size_t growing_axis(const DecidedKinds& kinds) const;

 private:
  void find_axes(const DecidedKinds& kinds, bool keeps_size);
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
