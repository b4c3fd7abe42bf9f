#include "mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace understudy::generator {
namespace {

using et_schema::GroupId;

[[noreturn]] void refuse_group(const et_schema::ProcessGroup& group, std::string expected,
                               std::string got, std::string hint) {
  throw et_schema::bad_input(kNoOtherWorld, {.field = fmt::format("group '{}'", group.name),
                                             .expected = std::move(expected),
                                             .got = std::move(got),
                                             .hint = std::move(hint)});
}

/// Returns the distance between neighbouring ranks of a group; empty if it varies.
std::optional<std::int64_t> stride_of(const std::vector<std::int64_t>& ranks) {
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i] - ranks[i - 1] != ranks[1] - ranks[0] || ranks[i] <= ranks[i - 1]) {
      return std::nullopt;
    }
  }
  return ranks.size() < 2 ? 0 : ranks[1] - ranks[0];
}

/// Returns true if no group communicates.
bool is_silent(const DecidedKinds& kinds) {
  return std::ranges::none_of(kinds, [](const auto& kind) { return kind.has_value(); });
}

std::string kinds_text(const et_schema::Bench& bench, const DecidedKinds& kinds) {
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i]) {
      text += fmt::format("{}group '{}' is {}: {}", text.empty() ? "" : "; ", bench.groups[i].name,
                          to_string(kinds[i]->kind), kinds[i]->why);
    }
  }
  return text;
}

}  // namespace

Mesh::Mesh(const et_schema::Bench& bench, const DecidedKinds& kinds, bool keeps_size)
    : bench_(&bench), world_size_(bench.recorded_world_size()) {
  find_axes(kinds, keeps_size);
  add_lone_axis(kinds);
  along_.resize(kinds.size());
  for (GroupId group = 0; group < kinds.size(); ++group) {
    if (kinds[group]) {
      along_[group] = axes_of(group, kinds[group]);
    }
  }
}

std::vector<std::int64_t> Mesh::ranks_of(GroupId group) const {
  std::vector<std::int64_t> ranks = bench_->groups[group].ranks;
  if (ranks.empty()) {
    ranks.resize(static_cast<std::size_t>(world_size_));
    std::iota(ranks.begin(), ranks.end(), std::int64_t{0});
  }
  return ranks;
}

void Mesh::find_axes(const DecidedKinds& kinds, bool keeps_size) {
  std::map<std::int64_t, MeshAxis> by_stride;
  std::optional<GroupKind> kind_of_gaps;
  for (GroupId group = 0; group < kinds.size(); ++group) {
    const std::vector<std::int64_t> ranks = ranks_of(group);
    if (!kinds[group] || ranks.size() < 2) {
      continue;
    }
    const bool is_world = static_cast<std::int64_t>(ranks.size()) == world_size_;
    if (is_world && (group == 0 || !kind_of_gaps)) {
      kind_of_gaps = kinds[group]->kind;
    }
    const std::optional<std::int64_t> stride = stride_of(ranks);
    if (group == 0 || !stride) {
      continue;
    }
    const MeshAxis axis{*stride, static_cast<std::int64_t>(ranks.size()), kinds[group]->kind};
    MeshAxis& known = by_stride.try_emplace(axis.stride, axis).first->second;
    const bool is_beside = known.size == axis.size;
    if (is_beside && !keeps_size && follows_job(*known.kind) != follows_job(*axis.kind)) {
      refuse_group(
          bench_->groups[group],
          fmt::format("{}, as another group of ranks side by side is", to_string(*known.kind)),
          fmt::format("{}: {}", to_string(*axis.kind), kinds[group]->why),
          "--group NAME=KIND says what it is");
    }
    known = axis.size < known.size ? axis : known;
    known.kind = is_beside ? std::max(known.kind, axis.kind) : known.kind;
  }
  std::vector<MeshAxis> found;
  for (const auto& [stride, axis] : by_stride) {
    found.push_back(axis);
  }
  fill_gaps(std::move(found), is_silent(kinds) ? GroupKind::kData : kind_of_gaps);
}

void Mesh::fill_gaps(std::vector<MeshAxis> found, std::optional<GroupKind> kind_of_gaps) {
  std::int64_t next = 1;
  const auto add = [&](MeshAxis axis) {
    if (axis.size > 1) {
      axes_.push_back(axis);
    }
    next = axis.stride * axis.size;
  };
  const auto refuse = [&](std::int64_t stride) {
    throw et_schema::bad_input(
        kNoOtherWorld,
        {.field = "process groups",
         .expected = "ranks that make up a grid, each group a row of it",
         .got = fmt::format("a group of every {}th rank beside one of {} ranks", stride, next)});
  };
  for (std::size_t i = 0; i < found.size(); ++i) {
    MeshAxis axis = found[i];
    if (axis.stride % next != 0) {
      refuse(axis.stride);
    }
    add({next, axis.stride / next, kind_of_gaps});
    if (i + 1 < found.size() && found[i + 1].stride < axis.stride * axis.size) {
      // The group is along the next axis too.
      if (found[i + 1].stride % axis.stride != 0) {
        refuse(found[i + 1].stride);
      }
      axis.size = found[i + 1].stride / axis.stride;
      axis.kind = kind_of_gaps;
    }
    add(axis);
  }
  if (world_size_ % next != 0) {
    refuse(next);
  }
  add({next, world_size_ / next, kind_of_gaps});
}

/// Adds an axis of size 1 for groups of one rank, which have no place in the grid. It is the
/// outermost, as in PyTorch's meshes. An axis of kind kData is added unless the grid has one; an
/// axis of another kind only if the grid has none that follows the job's size.
void Mesh::add_lone_axis(const DecidedKinds& kinds) {
  const auto has_axis = [this](const auto& is_meant) {
    return std::ranges::any_of(
        axes_, [&](const MeshAxis& axis) { return axis.kind && is_meant(*axis.kind); });
  };
  std::optional<GroupKind> lone;
  for (GroupId group = 0; group < kinds.size(); ++group) {
    if (kinds[group] && follows_job(kinds[group]->kind) && ranks_of(group).size() == 1 &&
        (!lone || kinds[group]->kind == GroupKind::kData)) {
      lone = kinds[group]->kind;
    }
  }
  if (is_silent(kinds) && world_size_ == 1) {
    lone = GroupKind::kData;
  }
  const bool is_there = lone == GroupKind::kData
                            ? has_axis([](GroupKind kind) { return kind == GroupKind::kData; })
                            : has_axis(follows_job);
  if (lone && !is_there) {
    axes_.push_back({world_size_, 1, lone});
  }
}

std::vector<bool> Mesh::axes_of(GroupId group, const std::optional<DecidedKind>& kind) const {
  const std::vector<std::int64_t> ranks = ranks_of(group);
  std::vector<bool> along(axes_.size(), false);
  const bool is_world = static_cast<std::int64_t>(ranks.size()) == world_size_;
  if (is_world && (world_size_ > 1 || group == 0)) {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      along[i] = axes_[i].size > 1 || kind->kind == axes_[i].kind || kind->kind == GroupKind::kData;
    }
    return along;
  }
  if (ranks.size() == 1) {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      along[i] = axes_[i].size == 1 && kind->kind == axes_[i].kind;
    }
    return along;
  }
  const Coordinates first = place_of(ranks.front());
  for (const std::int64_t rank : ranks) {
    const Coordinates place = place_of(rank);
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      along[i] = along[i] || place[i] != first[i];
    }
  }
  std::vector<std::int64_t> sorted = ranks;
  std::ranges::sort(sorted);
  if (sorted != ranks_along(along, first)) {
    refuse_group(bench_->groups[group], "ranks that are rows of a grid",
                 fmt::format("ranks {}", fmt::join(ranks, ", ")),
                 "capture the job on that number of ranks");
  }
  return along;
}

Mesh::Coordinates Mesh::place_of(std::int64_t rank) const {
  Coordinates place;
  for (const MeshAxis& axis : axes_) {
    place.push_back(rank / axis.stride % axis.size);
  }
  return place;
}

std::int64_t Mesh::rank_at(const Coordinates& place) const {
  std::int64_t rank = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    rank += place[i] * axes_[i].stride;
  }
  return rank;
}

Mesh Mesh::with_size(std::size_t axis, std::int64_t size) const {
  Mesh mesh = *this;
  const std::int64_t before = axes_[axis].size;
  for (MeshAxis& other : mesh.axes_) {
    if (other.stride > axes_[axis].stride) {
      other.stride = other.stride / before * size;
    }
  }
  mesh.axes_[axis].size = size;
  mesh.world_size_ = world_size_ / before * size;
  mesh.along_.clear();
  return mesh;
}

std::vector<std::int64_t> Mesh::ranks_along(const std::vector<bool>& axes, Coordinates from) const {
  std::vector<std::int64_t> ranks;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    from[i] = axes[i] ? 0 : from[i];
  }
  while (true) {
    ranks.push_back(rank_at(from));
    std::size_t i = 0;
    while (i < axes_.size() && (!axes[i] || ++from[i] == axes_[i].size)) {
      from[i] = axes[i] ? 0 : from[i];
      ++i;
    }
    if (i == axes_.size()) {
      return ranks;
    }
  }
}

std::size_t Mesh::growing_axis(const DecidedKinds& kinds) const {
  std::vector<std::size_t> all;
  std::vector<std::size_t> whole;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].kind && follows_job(*axes_[i].kind)) {
      all.push_back(i);
      if (axes_[i].kind == GroupKind::kData) {
        whole.push_back(i);
      }
    }
  }
  const std::vector<std::size_t>& among = whole.empty() ? all : whole;
  if (among.size() == 1) {
    return among.front();
  }
  throw et_schema::bad_input(
      kNoOtherWorld,
      {.field = "--world-size",
       .expected = among.empty() ? "a group whose ranks divide the batch: data, sharded or expert"
                                 : "one axis of ranks that divide the batch",
       .got = kinds_text(*bench_, kinds),
       .hint = among.empty()
                   ? fmt::format("the only size that works is {}; --group NAME=data says that a "
                                 "group is of data-parallel ranks",
                                 world_size_)
                   : "--group NAME=tensor says that a group keeps its size"});
}

}  // namespace understudy::generator
