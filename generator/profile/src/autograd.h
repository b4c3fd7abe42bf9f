#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "calls.h"
#include "et_schema/formats/kineto/kineto.h"
#include "generator/link/host.h"

namespace understudy::generator {

/// The backward pass that was recorded beside the forward pass, by sequence numbers. It tells how
/// the forward pass was wired: a node of the backward pass frees what its forward operator had
/// saved, once it has run, and where several operators read a tensor, the nodes of all but the last
/// of them add their gradient to the one that is there (InputBuffer in
/// torch/csrc/autograd/input_buffer.cpp).
class Autograd {
 public:
  Autograd(const HostEvents& host, std::span<const Call> calls);

  /// When the first node began; kLatestNs: none did.
  [[nodiscard]] std::int64_t begin_ns() const { return begin_ns_; }
  /// The operator of the forward pass whose node has that sequence number; kNoEvent: none.
  [[nodiscard]] HostIndex forward_of(std::int64_t sequence) const;
  /// Whether what was freed at that time was held by the node of that call, or of one within it.
  [[nodiscard]] bool frees(HostIndex call, std::int64_t freed_ns) const;
  /// Whether the call, or one within it, has a node.
  [[nodiscard]] bool goes_back(HostIndex call) const;
  /// Whether autograd keeps a gradient of these sizes right behind the call's node: what the call
  /// reads of these sizes is a parameter, whatever its argument's name.
  [[nodiscard]] bool reads_parameter(HostIndex call, std::span<const std::int64_t> sizes) const;
  /// The additions of the call's node to gradients that were there: a tensor among the call's
  /// arguments for each, which is read again later. Empty for calls around it.
  [[nodiscard]] std::span<const HostIndex> additions(HostIndex call) const;

  /// Whether the call adds a gradient to one that is there; `parent` is the label around it.
  [[nodiscard]] static bool is_addition(std::string_view op, std::string_view parent);

 private:
  struct Node {
    HostIndex label = kNoEvent;
    HostIndex forward = kNoEvent;
    std::vector<HostIndex> additions;
    std::vector<std::span<const std::int64_t>> kept;  ///< sizes of gradients, right behind it
  };
  /// Sizes of the gradients that labels from there on keep.
  [[nodiscard]] std::vector<std::span<const std::int64_t>> kept_from(HostIndex label) const;
  [[nodiscard]] bool is_within(HostIndex inner, HostIndex outer) const;

  const HostEvents& host_;
  std::map<std::int64_t, Node> nodes_;            ///< by sequence number
  std::map<HostIndex, const Node*> of_forward_;   ///< by forward operator
  std::map<std::int64_t, const Node*> by_begin_;  ///< by begin of the label
  std::int64_t begin_ns_ = kLatestNs;
};

}  // namespace understudy::generator
