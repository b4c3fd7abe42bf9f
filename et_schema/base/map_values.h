#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace understudy::et_schema {

// Rows are summed in a map by their key, and then listed.

/// Returns the row of this name. Adds it if there is none.
template <typename Row>
[[nodiscard]] Row& row_named(const std::string& name, std::map<std::string, Row>& rows) {
  Row& row = rows[name];
  row.name = name;
  return row;
}

/// Returns the value of the key; `otherwise` if there is none.
template <typename Map>
[[nodiscard]] typename Map::mapped_type value_or(const Map& map, const typename Map::key_type& key,
                                                 typename Map::mapped_type otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? std::move(otherwise) : found->second;
}

/// Returns the map's values in the order of their keys.
template <typename Map>
[[nodiscard]] std::vector<typename Map::mapped_type> values_of(Map map) {
  std::vector<typename Map::mapped_type> values;
  values.reserve(map.size());
  for (auto& [key, value] : map) {
    values.push_back(std::move(value));
  }
  return values;
}

/// Returns the map's values, the largest `size` first. Equal ones stay in the order of their keys.
template <typename Map, typename Size>
[[nodiscard]] std::vector<typename Map::mapped_type> largest_first(Map map, Size size) {
  auto values = values_of(std::move(map));
  std::ranges::stable_sort(values, std::greater(), std::move(size));
  return values;
}

}  // namespace understudy::et_schema
