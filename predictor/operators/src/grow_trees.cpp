#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "predictor/operators/trees.h"

namespace understudy::predictor {
namespace {

void check(int status) {
  if (status != 0) {
    throw et_schema::run_failed("XGBoost failed", {.got = XGBGetLastError()});
  }
}

template <auto kFree>
struct Free {
  void operator()(void* handle) const { kFree(handle); }
};
using Matrix = std::unique_ptr<void, Free<XGDMatrixFree>>;
using Booster = std::unique_ptr<void, Free<XGBoosterFree>>;

/// Returns the columns that vary. Constant ones would waste the random choice of columns.
std::vector<std::size_t> varying_columns(std::span<const float> rows, std::size_t width) {
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < width; ++column) {
    for (std::size_t at = column; at < rows.size(); at += width) {
      if (rows[at] != rows[column]) {
        columns.push_back(column);
        break;
      }
    }
  }
  return columns;
}

std::vector<float> packed(std::span<const float> rows, std::size_t width,
                          const std::vector<std::size_t>& columns) {
  std::vector<float> data;
  data.reserve(rows.size() / width * columns.size());
  for (std::size_t row = 0; row < rows.size(); row += width) {
    for (const std::size_t column : columns) {
      data.push_back(rows[row + column]);
    }
  }
  return data;
}

Matrix make_matrix(const std::vector<float>& data, std::size_t columns,
                   std::span<const float> target) {
  DMatrixHandle handle = nullptr;
  check(XGDMatrixCreateFromMat(data.data(), target.size(), columns, -1e30F, &handle));
  Matrix matrix(handle);
  check(XGDMatrixSetFloatInfo(handle, "label", target.data(), target.size()));
  return matrix;
}

Booster make_booster(const Matrix& matrix, const TreeOptions& options) {
  DMatrixHandle const matrices[] = {matrix.get()};
  BoosterHandle handle = nullptr;
  check(XGBoosterCreate(matrices, 1, &handle));
  Booster booster(handle);
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", "reg:squarederror"},
      {"base_score", "0"},
      {"tree_method", "hist"},
      {"max_bin", "64"},
      {"nthread", "1"},
      {"seed", "1"},
      {"verbosity", "0"},
      {"max_depth", fmt::format("{}", options.depth)},
      {"eta", fmt::format("{}", options.rate)},
      {"colsample_bytree", fmt::format("{}", options.columns)},
      {"subsample", fmt::format("{}", options.rows)},
      {"min_child_weight", fmt::format("{}", options.rows_in_leaf)},
      {"lambda", fmt::format("{}", options.l2)}};
  for (const auto& [name, value] : parameters) {
    check(XGBoosterSetParam(handle, name, value.c_str()));
  }
  return booster;
}

/// Rounds a leaf to four decimals (of a logarithm, so 0.01 % of the time). This keeps files short,
/// and models that are read back equal the fitted ones.
float rounded(float value) {
  constexpr float kSteps = 1e4F;
  return std::round(value * kSteps) / kSteps + 0.0F;  // avoids negative zero
}

/// Converts XGBoost's tree to pre-order: parent, left subtree, right subtree.
void append_tree(const nlohmann::json& tree, const std::vector<std::size_t>& columns,
                 std::vector<std::int16_t>& features, std::vector<float>& values) {
  const auto& left = tree.at("left_children");
  const auto& right = tree.at("right_children");
  const auto& split = tree.at("split_indices");
  const auto& condition = tree.at("split_conditions");
  std::vector<std::size_t> open = {0};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    const int left_child = left[at].get<int>();
    const auto value = condition[at].get<float>();
    // Thresholds are not rounded: rows on both sides can differ by little.
    values.push_back(left_child < 0 ? rounded(value) : value);
    if (left_child < 0) {
      features.push_back(Trees::kLeaf);
      continue;
    }
    features.push_back(static_cast<std::int16_t>(columns[split[at].get<std::size_t>()]));
    open.push_back(right[at].get<std::size_t>());
    open.push_back(static_cast<std::size_t>(left_child));
  }
}

Trees trees_of(const Booster& booster, const std::vector<std::size_t>& columns, std::size_t width) {
  bst_ulong length = 0;
  const char* text = nullptr;
  check(XGBoosterSaveModelToBuffer(booster.get(), R"({"format":"json"})", &length, &text));
  const nlohmann::json document = nlohmann::json::parse(text, text + length);
  std::vector<std::int16_t> features;
  std::vector<float> values;
  for (const auto& tree : document.at("learner").at("gradient_booster").at("model").at("trees")) {
    append_tree(tree, columns, features, values);
  }
  return Trees(features, values, width);
}

}  // namespace

Trees grow_trees(std::span<const float> rows, std::size_t width, std::span<const float> target,
                 const TreeOptions& options) {
  UNDERSTUDY_ASSERT(rows.size() == width * target.size());
  const std::vector<std::size_t> columns = varying_columns(rows, width);
  if (columns.empty()) {
    return {};
  }
  const std::vector<float> data = packed(rows, width, columns);
  const Matrix matrix = make_matrix(data, columns.size(), target);
  const Booster booster = make_booster(matrix, options);
  for (int round = 0; round < options.trees; ++round) {
    check(XGBoosterUpdateOneIter(booster.get(), round, matrix.get()));
  }
  return trees_of(booster, columns, width);
}

}  // namespace understudy::predictor
