#include "generator/resize/blur_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "et_schema/model/bodies.h"
#include "et_schema/model/slot_extent.h"
#include "et_schema/support/content_hash.h"
#include "generator/flow/model_names.h"
#include "program_sizes.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;

constexpr std::int64_t kAlignment = 64;

/// The sizes that one may become.
std::vector<std::int64_t> candidates(std::int64_t size, double within, bool only_larger) {
  const std::int64_t step = std::gcd(size, kAlignment);
  const auto most = static_cast<std::int64_t>(std::floor(within * static_cast<double>(size)) /
                                              static_cast<double>(step));
  std::vector<std::int64_t> found;
  for (std::int64_t steps = -most; steps <= most; ++steps) {
    const std::int64_t other = size + steps * step;
    const bool fits = steps != 0 && (steps > 0 || !only_larger) && other >= kLeastBlurred &&
                      std::gcd(other, kAlignment) == step && same_side(size, other);
    if (fits) {
      found.push_back(other);
    }
  }
  return found;
}

/// Of what instructions read and make, what is recorded below them apart.
std::set<std::int64_t> sizes_in(const Bench& bench) {
  std::set<std::int64_t> sizes;
  for (const Program& program : bench.programs) {
    for (const Instruction& instruction : program.instructions) {
      for (const SlotId slot : et_schema::all_slots_of(instruction)) {
        sizes.insert(program.slots[slot].sizes.begin(), program.slots[slot].sizes.end());
      }
    }
  }
  std::erase_if(sizes, [](std::int64_t size) { return size < kLeastBlurred; });
  return sizes;
}

/// The sizes to whose end indices reach, or nearly.
void add_indexed(const Program& program, const std::set<std::int64_t>& sizes,
                 std::set<std::int64_t>& rows) {
  for (const et_schema::Slot& slot : program.slots) {
    const auto range = slot.value ? et_schema::range_of(*slot.value) : std::nullopt;
    const auto size = range ? sizes.lower_bound(range->high) : sizes.end();
    if (size != sizes.end()) {
      rows.insert(*size);
    }
  }
}

/// Each whole percent below `within`, then `within`.
std::vector<double> bounds_up_to(double within) {
  constexpr double kPercent = 0.01;
  std::vector<double> bounds;
  for (int percent = 1; percent * kPercent < within; ++percent) {
    bounds.push_back(percent * kPercent);
  }
  bounds.push_back(within);
  return bounds;
}

/// Chooses what a size becomes within each bound. `others`: what it may become within the last one.
void draw(std::int64_t size, const std::vector<std::int64_t>& others,
          const std::vector<double>& bounds, const std::string& salt, std::vector<SizeMap>& drawn) {
  const std::uint64_t number = et_schema::content_hash(fmt::format("{} {}", salt, size));
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const auto most = static_cast<std::int64_t>(std::floor(bounds[i] * static_cast<double>(size)));
    const auto first = std::ranges::lower_bound(others, size - most);
    const auto end = std::ranges::upper_bound(others, size + most);
    if (first != end) {
      drawn[i][size] =
          first[static_cast<std::ptrdiff_t>(number % static_cast<std::uint64_t>(end - first))];
    }
  }
}

using Shape = std::vector<std::int64_t>;

std::set<Shape> shapes_in(const Bench& bench) {
  std::set<Shape> shapes;
  for (const Program& program : bench.programs) {
    for (const et_schema::Slot& slot : program.slots) {
      shapes.insert(slot.sizes);
    }
  }
  return shapes;
}

/// Sizes of tensors that would cross a size at which other kernels are taken become what they were,
/// with which none does.
void take_back_crossings(const std::set<Shape>& shapes, const SizeMap& before, SizeMap& sizes) {
  bool any = true;
  while (any) {
    any = false;
    for (const Shape& shape : shapes) {
      if (same_side(et_schema::element_count(shape), elements_of(shape, sizes))) {
        continue;
      }
      for (const std::int64_t size : shape) {
        const auto old = before.find(size);
        const auto now = sizes.find(size);
        if (now == sizes.end() || (old != before.end() && old->second == now->second)) {
          continue;
        }
        any = true;
        if (old == before.end()) {
          sizes.erase(now);
        } else {
          now->second = old->second;
        }
      }
    }
  }
}

/// What is recorded below operators goes where it does not fit the new sizes: how many lost it.
std::uint64_t drop_bodies(Program& program, const SizeMap& sizes) {
  std::uint64_t dropped = 0;
  for (Instruction& instruction : program.instructions) {
    if (!instruction.body.empty() && !fits(program, instruction.body, sizes)) {
      instruction.body.clear();
      ++dropped;
    }
  }
  return dropped;
}

}  // namespace

Blurred blur_shapes(Bench bench, double within) {
  KeptSizes all_kept;
  std::set<std::int64_t> rows;  // of tables: indices reach to their end, so they only grow
  const std::set<std::int64_t> present = sizes_in(bench);
  for (const Program& program : bench.programs) {
    find_kept(program, all_kept, rows);
    add_indexed(program, present, rows);
  }
  const std::string salt = et_schema::benchmark_hash(bench);
  const std::set<Shape> shapes = shapes_in(bench);
  // What changes within a bound also changes within a larger one: at worst as it did there.
  const std::vector<double> bounds = bounds_up_to(within);
  std::vector<SizeMap> drawn(bounds.size());
  for (const std::int64_t size : present) {
    if (all_kept.contains(size)) {
      continue;
    }
    draw(size, candidates(size, within, rows.contains(size)), bounds, salt, drawn);
    if (!drawn.back().contains(size)) {
      all_kept.try_emplace(size, "no other size within the bound has its alignment and side");
    }
  }
  SizeMap sizes;
  for (SizeMap& wider : drawn) {
    take_back_crossings(shapes, sizes, wider);
    sizes = std::move(wider);
  }
  for (const std::int64_t size : present) {
    if (!sizes.contains(size)) {
      all_kept.try_emplace(size, "a tensor would cross a size at which other kernels are taken");
    }
  }
  Blurred blurred;
  blurred.before = work_of(bench);
  for (const auto& [size, why] : all_kept) {
    if (present.contains(size)) {
      blurred.kept[size] = why;
    }
  }
  blurred.changed = sizes;
  bench.programs.edit_each([&](Program& program, std::size_t ranks) {
    blurred.dropped_bodies += ranks * drop_bodies(program, sizes);
    rewrite_sizes(program, sizes, present);
  });
  blurred.after = work_of(bench);
  blurred.bench = std::move(bench);
  return blurred;
}

}  // namespace understudy::generator
