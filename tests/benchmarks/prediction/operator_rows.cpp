#include "operator_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>

#include "et_schema/base/error.h"
#include "predictor/calls/measured_files.h"
#include "predictor/operators/anchored.h"

namespace operator_study {
namespace {

using namespace understudy::predictor;  // NOLINT: a program, no header
namespace et = understudy::et_schema;

Rows read(const std::string& path, const std::vector<Card>& cards, std::size_t most) {
  if (!std::filesystem::exists(path)) {
    return {};
  }
  Rows rows;
  for (MeasuredCall& call : read_measured_calls({path}).calls) {
    const std::string shape =
        fmt::format("{} {} {}", full_name(call.call), to_string(call.call.inputs),
                    to_string(call.call.outputs));
    rows.push_back({.measured = std::move(call), .shape = shape});
  }
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return row.hash(0); });
  rows.resize(std::min(rows.size(), most));
  for (Row& row : rows) {
    const auto card = std::ranges::find(cards, row.measured.device, &Card::name);
    if (card == cards.end()) {
      throw et::usage_error("no card of that name", {.field = path, .got = row.measured.device});
    }
    row.bound_ns = roofline_bound_ns(row.measured.call, *card);
  }
  return rows;
}

}  // namespace

std::uint64_t Row::hash(std::uint64_t salt) const {
  std::uint64_t hash = 14695981039346656037ULL + salt;  // FNV-1a
  for (const char letter : shape) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  }
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;  // the last letters reach the high bits
  return hash ^ (hash >> 33);
}

std::vector<CardRows> read_kind(const std::string& data, const std::string& kind, std::size_t most,
                                const std::vector<Card>& cards) {
  std::vector<CardRows> all;
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    CardRows of{.folder = entry.path().filename().string()};
    of.rows = read((entry.path() / (kind + ".csv.gz")).string(), cards, most);
    of.again = read((entry.path() / ("energy_" + kind + ".csv.gz")).string(), cards,
                    std::numeric_limits<std::size_t>::max());
    if (!of.rows.empty()) {
      of.card = &*std::ranges::find(cards, of.rows.front().measured.device, &Card::name);
      all.push_back(std::move(of));
    }
  }
  std::ranges::sort(all, {}, &CardRows::folder);
  return all;
}

std::set<std::string> kinds_of(const std::string& data) {
  std::set<std::string> kinds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".csv.gz") && !name.starts_with("energy_")) {
      kinds.insert(name.substr(0, name.find('.')));
    }
  }
  return kinds;
}

const CardRows* sister_of(const CardRows& card, const std::vector<CardRows>& all) {
  const auto apart = [&](const CardRows& other) {
    const Card& a = *card.card;
    const Card& b = *other.card;
    double sum = 0;
    for (const double ratio : {peak_flops(a, DType::kBFloat16) / peak_flops(b, DType::kBFloat16),
                               a.bandwidth_bytes_per_s / b.bandwidth_bytes_per_s,
                               a.processors / b.processors, a.clock_hz / b.clock_hz}) {
      sum += std::abs(std::log(ratio));
    }
    return sum;
  };
  const CardRows* nearest = nullptr;
  for (const CardRows& other : all) {
    if (&other != &card && (nearest == nullptr || apart(other) < apart(*nearest))) {
      nearest = &other;
    }
  }
  return nearest;
}

}  // namespace operator_study
