#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace understudy::predictor {

/// A forest of regression trees whose leaves add up.
class Trees {
 public:
  /// A node in the order parent, left subtree, right subtree.
  struct Node {
    float value = 0;  ///< left where x[feature] < value; of a leaf what it adds
    std::int16_t feature = kLeaf;
    std::uint16_t right = 0;  ///< from this node to the right child's
    bool operator==(const Node&) const = default;
  };
  static constexpr std::int16_t kLeaf = -1;

  Trees() = default;
  /// Each tree's nodes in turn. Throws std::invalid_argument where they are no trees: a node
  /// without both children, a feature of `features` or above, nodes behind the last tree.
  Trees(std::span<const std::int16_t> features, std::span<const float> values,
        std::size_t feature_count);

  /// Adds another forest, whose leaves count `factor` times.
  void add(const Trees& other, double factor);
  [[nodiscard]] double operator()(std::span<const float> x) const;
  [[nodiscard]] std::size_t size() const { return roots_.size(); }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  bool operator==(const Trees&) const = default;

 private:
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> roots_;
};

/// How trees are grown; the defaults are docs/prediction.md's.
struct TreeOptions {
  int trees = 300;
  int depth = 6;
  double rate = 0.07;
  double columns = 0.7;
  double rows = 0.8;
  double rows_in_leaf = 10;
  double l2 = 1;
};

/// Rows of `width` features each, one after the other, and what to predict. Deterministic: one
/// thread, one seed. Columns that never change are left out.
[[nodiscard]] Trees grow_trees(std::span<const float> rows, std::size_t width,
                               std::span<const float> target, const TreeOptions& options);

}  // namespace understudy::predictor
