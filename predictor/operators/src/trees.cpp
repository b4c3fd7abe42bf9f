#include "predictor/operators/trees.h"

#include <cmath>
#include <stdexcept>

namespace understudy::predictor {
namespace {

/// Checks one tree from `at` on, fills in where right children are, and returns its end.
class TreeReader {
 public:
  TreeReader(std::vector<Trees::Node>& nodes, std::size_t feature_count)
      : nodes_(nodes), feature_count_(feature_count) {}

  std::size_t end_of(std::size_t root) {
    // The nodes whose left subtree is being read.
    std::vector<std::size_t> open;
    std::size_t at = root;
    while (true) {
      if (at >= nodes_.size()) {
        throw std::invalid_argument("a tree ends before its last leaf");
      }
      if (nodes_[at].feature != Trees::kLeaf) {
        check_feature(nodes_[at].feature);
        open.push_back(at++);
        continue;
      }
      ++at;
      // A leaf ends all right subtrees that it is the last node of.
      while (!open.empty() && nodes_[open.back()].right != 0) {
        open.pop_back();
      }
      if (open.empty()) {
        return at;
      }
      nodes_[open.back()].right = offset(at - open.back());
    }
  }

 private:
  void check_feature(int feature) const {
    if (feature < 0 || static_cast<std::size_t>(feature) >= feature_count_) {
      throw std::invalid_argument("a tree splits by a feature that there is not");
    }
  }
  static std::uint16_t offset(std::size_t distance) {
    if (distance > UINT16_MAX) {
      throw std::invalid_argument("a tree of more than 65,535 nodes");
    }
    return static_cast<std::uint16_t>(distance);
  }

  std::vector<Trees::Node>& nodes_;
  std::size_t feature_count_;
};

}  // namespace

Trees::Trees(std::span<const std::int16_t> features, std::span<const float> values,
             std::size_t feature_count) {
  if (features.size() != values.size()) {
    throw std::invalid_argument("as many features as values");
  }
  for (std::size_t i = 0; i < features.size(); ++i) {
    nodes_.push_back({values[i], features[i], 0});
  }
  TreeReader reader(nodes_, feature_count);
  for (std::size_t at = 0; at < nodes_.size();) {
    roots_.push_back(static_cast<std::uint32_t>(at));
    at = reader.end_of(at);
  }
}

void Trees::add(const Trees& other, double factor) {
  // Five digits behind the point: files stay short, and what is read back is what was fitted.
  constexpr double kSteps = 1e5;
  const auto begin = static_cast<std::uint32_t>(nodes_.size());
  for (Node node : other.nodes_) {
    if (node.feature == kLeaf) {
      const double value = std::round(static_cast<double>(node.value) * factor * kSteps) / kSteps;
      node.value = static_cast<float>(value + 0.0);
    }
    nodes_.push_back(node);
  }
  for (const std::uint32_t root : other.roots_) {
    roots_.push_back(begin + root);
  }
}

double Trees::operator()(std::span<const float> x) const {
  double sum = 0;
  for (const std::uint32_t root : roots_) {
    const Node* node = &nodes_[root];
    while (node->feature != kLeaf) {
      const bool is_left = x[static_cast<std::size_t>(node->feature)] < node->value;
      node += is_left ? 1 : node->right;
    }
    sum += static_cast<double>(node->value);
  }
  return sum;
}

}  // namespace understudy::predictor
