#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace understudy::predictor {

/// A forest of regression trees whose leaf values are summed.
class Trees {
 public:
  /// Nodes are in pre-order: parent, left subtree, right subtree.
  struct Node {
    float value = 0;  ///< threshold: left if x[feature] < value; in a leaf the value to add
    std::int16_t feature = kLeaf;
    std::uint16_t right = 0;  ///< offset of the right child
    bool operator==(const Node&) const = default;
  };
  static constexpr std::int16_t kLeaf = -1;

  Trees() = default;
  /// Reads the nodes of all trees in sequence. Throws std::invalid_argument if they do not form
  /// trees: a node lacks a child, a feature is out of range, or nodes follow the last tree.
  Trees(std::span<const std::int16_t> features, std::span<const float> values,
        std::size_t feature_count);

  [[nodiscard]] double operator()(std::span<const float> x) const;
  [[nodiscard]] std::size_t size() const { return roots_.size(); }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  bool operator==(const Trees&) const = default;

 private:
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> roots_;
};

/// How trees are grown. Defaults are those of docs/prediction.md.
struct TreeOptions {
  int trees = 300;
  int depth = 6;
  double rate = 0.07;
  double columns = 0.7;
  double rows = 0.8;
  double rows_in_leaf = 10;
  double l2 = 1;
};

/// Fits trees to `target`. `rows` holds `width` features per row, consecutively. Deterministic: one
/// thread, one seed. Constant columns are ignored.
[[nodiscard]] Trees grow_trees(std::span<const float> rows, std::size_t width,
                               std::span<const float> target, const TreeOptions& options);

}  // namespace understudy::predictor
