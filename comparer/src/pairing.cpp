#include "pairing.h"

#include <map>
#include <tuple>
#include <utility>

namespace understudy::comparer {
namespace {

using Key = std::tuple<RowKind, std::string, std::string>;

Key key_of(const Series& row) {
  // The class of an operator is no part of its identity; the size of a collective is.
  return {row.kind, row.name, row.kind == RowKind::kCollective ? row.detail : std::string()};
}

}  // namespace

std::vector<PairedRow> pair_rows(const std::vector<Run>& a, const std::vector<Run>& b) {
  std::map<Key, PairedRow> pairs;
  const auto add = [&](const std::vector<Run>& runs, std::vector<const Series*> PairedRow::*side) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (const Series& row : runs[i].rows) {
        PairedRow& pair = pairs[key_of(row)];
        if (pair.a.empty()) {
          pair = {row.kind, row.name, row.detail, std::vector<const Series*>(a.size()),
                  std::vector<const Series*>(b.size())};
        }
        (pair.*side)[i] = &row;
      }
    }
  };
  add(a, &PairedRow::a);
  add(b, &PairedRow::b);
  std::vector<PairedRow> rows;
  rows.reserve(pairs.size());
  for (auto& [key, pair] : pairs) {
    rows.push_back(std::move(pair));
  }
  return rows;
}

}  // namespace understudy::comparer
