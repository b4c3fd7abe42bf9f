#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "et_schema/base/figures.h"
#include "et_schema/model/op_class.h"
#include "fleet/fingerprint/fingerprint.h"

namespace understudy::fleet {
namespace {

constexpr double kPercent = 100;
constexpr double kLeastMove = 0.005;  // smaller moves would be shown as 0

template <typename Map>
std::set<std::string> names_of(const Map& a, const Map& b) {
  std::set<std::string> names;
  for (const Map* map : {&a, &b}) {
    for (const auto& entry : *map) {
      names.insert(entry.first);
    }
  }
  return names;
}

template <typename Map>
typename Map::mapped_type value_in(const Map& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? typename Map::mapped_type{} : found->second;
}

/// The name with the largest change, and the sum of all changes.
struct Farthest {
  std::string name;
  double by = 0;
  double sum = 0;
  void add(const std::string& entry, double distance) {
    sum += distance;
    if (distance > by) {
      by = distance;
      name = entry;
    }
  }
};

std::string bytes_text(std::uint64_t a, std::uint64_t b) {
  return fmt::format("{} → {}", et_schema::with_bytes(a), et_schema::with_bytes(b));
}

/// Total variation distance of the class shares.
Move classes_move(const Fingerprint& a, const Fingerprint& b) {
  Farthest farthest;
  for (const std::string& name : names_of(a.class_share, b.class_share)) {
    farthest.add(name, std::abs(value_in(a.class_share, name) - value_in(b.class_share, name)));
  }
  const bool are_timed = a.is_timed && b.is_timed;
  return {
      "classes", farthest.sum / 2,
      fmt::format("{} {:.0f} → {:.0f} % of the {}", farthest.name,
                  kPercent * value_in(a.class_share, farthest.name),
                  kPercent * value_in(b.class_share, farthest.name), are_timed ? "time" : "calls")};
}

/// 1 − Σ smaller ÷ Σ larger count: the Jaccard distance of multisets.
Move operators_move(const Fingerprint& a, const Fingerprint& b) {
  Farthest farthest;
  double larger = 0;
  for (const std::string& name : names_of(a.operators, b.operators)) {
    const auto in_a = static_cast<double>(value_in(a.operators, name).calls) / a.world_size;
    const auto in_b = static_cast<double>(value_in(b.operators, name).calls) / b.world_size;
    farthest.add(name, std::abs(in_a - in_b));
    larger += std::max(in_a, in_b);
  }
  return {"operators", larger > 0 ? farthest.sum / larger : 0,
          fmt::format("{} called {} → {} times", farthest.name,
                      value_in(a.operators, farthest.name).calls,
                      value_in(b.operators, farthest.name).calls)};
}

/// Returns how far the shapes of the common operators moved: the mean, weighted by share, of
/// min(1, |change of log2_elements| ÷ 2). An operator whose tensors grew fourfold counts as 1.
/// operators_move() counts the operators that are not common.
Move shapes_move(const Fingerprint& a, const Fingerprint& b) {
  constexpr double kWholeWayDoublings = 2;
  Farthest farthest;
  double weight = 0;
  for (const auto& [name, in_a] : a.operators) {
    const auto found = b.operators.find(name);
    if (found == b.operators.end()) {
      continue;
    }
    const double share = (in_a.share + found->second.share) / 2;
    const double doublings = std::abs(in_a.log2_elements - found->second.log2_elements);
    farthest.add(name, share * std::min(1.0, doublings / kWholeWayDoublings));
    weight += share;
  }
  const OperatorPrint in_a = value_in(a.operators, farthest.name);
  const OperatorPrint in_b = value_in(b.operators, farthest.name);
  return {"shapes", weight > 0 ? farthest.sum / weight : 0,
          in_a.shapes == in_b.shapes
              ? fmt::format("{} on tensors {:.1f} times as large", farthest.name,
                            std::exp2(in_b.log2_elements - in_a.log2_elements))
              : fmt::format("{} {} → {}", farthest.name, in_a.shapes, in_b.shapes)};
}

Move collectives_move(const Fingerprint& a, const Fingerprint& b) {
  Farthest farthest;
  double larger = 0;
  for (const std::string& name : names_of(a.collectives, b.collectives)) {
    const auto in_a = static_cast<double>(value_in(a.collectives, name).bytes);
    const auto in_b = static_cast<double>(value_in(b.collectives, name).bytes);
    farthest.add(name, std::abs(in_a - in_b));
    larger += std::max(in_a, in_b);
  }
  return {"collectives", larger > 0 ? farthest.sum / larger : 0,
          farthest.name + " " +
              bytes_text(value_in(a.collectives, farthest.name).bytes,
                         value_in(b.collectives, farthest.name).bytes)};
}

/// Returns the fingerprint as if no times had been recorded.
Fingerprint by_calls(Fingerprint print) {
  double calls = 0;
  for (const auto& [name, row] : print.operators) {
    calls += static_cast<double>(row.calls);
  }
  print.is_timed = false;
  print.class_share.clear();
  for (auto& [name, row] : print.operators) {
    row.share = static_cast<double>(row.calls) / calls;
    const std::string_view op_class =
        print.collectives.contains(name) ? "communication" : et_schema::op_class(name);
    print.class_share[std::string(op_class)] += row.share;
  }
  return print;
}

double one_minus_ratio(double a, double b) {
  const double larger = std::max(a, b);
  return larger > 0 ? 1 - std::min(a, b) / larger : 0;
}

Move memory_move(const Fingerprint& a, const Fingerprint& b) {
  const auto bytes = [](const Fingerprint& print) {
    return print.live_peak_bytes + print.external_bytes;
  };
  return {"memory", one_minus_ratio(static_cast<double>(bytes(a)), static_cast<double>(bytes(b))),
          "memory " + bytes_text(bytes(a), bytes(b))};
}

Move ranks_move(const Fingerprint& a, const Fingerprint& b) {
  return {"ranks", one_minus_ratio(a.world_size, b.world_size),
          fmt::format("ranks {} → {}", a.world_size, b.world_size)};
}

}  // namespace

Drift drift_between(const Fingerprint& a, const Fingerprint& b) {
  if (a.is_timed != b.is_timed) {  // shares of time and shares of calls cannot be compared
    return drift_between(by_calls(a), by_calls(b));
  }
  Drift drift;
  drift.moves = {classes_move(a, b),     operators_move(a, b), shapes_move(a, b),
                 collectives_move(a, b), memory_move(a, b),    ranks_move(a, b)};
  std::erase_if(drift.moves, [](const Move& move) { return move.distance < kLeastMove; });
  std::ranges::stable_sort(drift.moves, std::ranges::greater(), &Move::distance);
  drift.distance = drift.moves.empty() ? 0 : drift.moves.front().distance;
  return drift;
}

std::string sentence_of(const Drift& drift) {
  constexpr std::size_t kMostMoves = 3;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(drift.moves.size(), kMostMoves); ++i) {
    texts.push_back(drift.moves[i].text);
  }
  return texts.empty() ? "nothing moved" : fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace understudy::fleet
