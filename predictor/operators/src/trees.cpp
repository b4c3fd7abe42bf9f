#include "predictor/operators/trees.h"

#include <stdexcept>

namespace understudy::predictor {
namespace {

/// Checks the tree at `root`, sets the offsets of right children, and returns its end.
std::size_t read_tree(std::vector<Trees::Node>& nodes, std::size_t root,
                      std::size_t feature_count) {
  // Nodes whose left subtree is being read.
  std::vector<std::size_t> open;
  for (std::size_t at = root; at < nodes.size(); ++at) {
    const int feature = nodes[at].feature;
    if (feature != Trees::kLeaf) {
      if (feature < 0 || static_cast<std::size_t>(feature) >= feature_count) {
        throw std::invalid_argument("a tree splits by a feature that there is not");
      }
      open.push_back(at);
      continue;
    }
    // A leaf completes all right subtrees that end with it.
    while (!open.empty() && nodes[open.back()].right != 0) {
      open.pop_back();
    }
    if (open.empty()) {
      return at + 1;
    }
    const std::size_t distance = at + 1 - open.back();
    if (distance > UINT16_MAX) {
      throw std::invalid_argument("a tree of more than 65,535 nodes");
    }
    nodes[open.back()].right = static_cast<std::uint16_t>(distance);
  }
  throw std::invalid_argument("a tree ends before its last leaf");
}

}  // namespace

Trees::Trees(std::span<const std::int16_t> features, std::span<const float> values,
             std::size_t feature_count) {
  if (features.size() != values.size()) {
    throw std::invalid_argument("as many features as values");
  }
  for (std::size_t i = 0; i < features.size(); ++i) {
    nodes_.push_back({values[i], features[i], 0});
  }
  for (std::size_t at = 0; at < nodes_.size();) {
    roots_.push_back(static_cast<std::uint32_t>(at));
    at = read_tree(nodes_, at, feature_count);
  }
}

double Trees::operator()(std::span<const float> x) const {
  double sum = 0;
  for (const std::uint32_t root : roots_) {
    const Node* node = &nodes_[root];
    while (node->feature != kLeaf) {
      // A product, since no processor foresees such a branch.
      const bool is_right = !(x[static_cast<std::size_t>(node->feature)] < node->value);
      node += 1 + static_cast<int>(is_right) * (node->right - 1);
    }
    sum += static_cast<double>(node->value);
  }
  return sum;
}

}  // namespace understudy::predictor
