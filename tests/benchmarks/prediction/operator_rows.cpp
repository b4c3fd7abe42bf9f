#include "operator_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "et_schema/base/error.h"
#include "predictor/calls/measured_files.h"
#include "predictor/operators/anchored.h"
#include "predictor/operators/transfer.h"

namespace operator_study {
namespace {

using namespace understudy::predictor;  // NOLINT: a program, no header
namespace et = understudy::et_schema;

Rows read(const std::string& path, const std::vector<Card>& cards) {
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
    of.all = read((entry.path() / (kind + ".csv.gz")).string(), cards);
    of.again = read((entry.path() / ("energy_" + kind + ".csv.gz")).string(), cards);
    if (!of.all.empty()) {
      const auto count = static_cast<std::ptrdiff_t>(std::min(of.all.size(), most));
      of.rows.assign(of.all.begin(), of.all.begin() + count);
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
    return octaves_between(*card.card, *other.card, DType::kBFloat16);
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
