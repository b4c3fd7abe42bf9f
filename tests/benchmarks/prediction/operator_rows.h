#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "predictor/calls/call.h"
#include "predictor/calls/card.h"

/// Rows of study_operators.
namespace operator_study {

using understudy::predictor::Card;
using understudy::predictor::MeasuredCall;

inline constexpr double kPercent = 100;
inline constexpr double kLargeNs = 50e3;

struct Row {
  MeasuredCall measured;
  std::string shape = {};  ///< operator, types and sizes; equal on all cards
  double bound_ns = 0;     ///< roofline's, at the card's peaks
  [[nodiscard]] double ns() const { return measured.time().median_ns; }
  [[nodiscard]] std::uint64_t hash(std::uint64_t salt) const;
};
using Rows = std::vector<Row>;

/// A card's rows of one kind.
struct CardRows {
  std::string folder;
  const Card* card = nullptr;
  Rows all = {};
  Rows rows = {};   ///< the first of them, as many as were asked for
  Rows again = {};  ///< another collection of the same card
};

/// Returns the kinds of tables below `data`.
[[nodiscard]] std::set<std::string> kinds_of(const std::string& data);
/// Reads the rows of each card. CardRows::rows are at most `most`, those of the least hash, so that
/// cards keep the same shapes. `cards` must outlive the result. Throws Error (usage) if a card is
/// not among them.
[[nodiscard]] std::vector<CardRows> read_kind(const std::string& data, const std::string& kind,
                                              std::size_t most, const std::vector<Card>& cards);
/// Returns the nearest card (octaves_between()); null if there is no other card.
[[nodiscard]] const CardRows* sister_of(const CardRows& card, const std::vector<CardRows>& all);

/// Returns the mean errors of simple rules for large calls in %, by rule; unset if none was judged.
[[nodiscard]] std::map<std::string, std::optional<double>> baselines_of(
    const CardRows& card, const std::vector<CardRows>& all, const CardRows* sister);

}  // namespace operator_study
