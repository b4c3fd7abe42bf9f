#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "generator/link/host.h"
#include "read_calls.h"

namespace understudy::generator {

/// The backward pass recorded beside the forward pass, joined to it by sequence numbers. It shows
/// how the forward pass was connected. A node of the backward pass frees what its forward operator
/// saved after it has run. If several operators read a tensor, the nodes of all but the last of
/// them add their gradient to the existing one (InputBuffer in
/// torch/csrc/autograd/input_buffer.cpp).
class Autograd {
 public:
  Autograd(const HostEvents& host, std::span<const Call> calls);

  /// Returns when the first node began; kLatestNs if there is no node.
  [[nodiscard]] std::int64_t begin_ns() const { return begin_ns_; }
  /// Returns the forward operator whose node has that sequence number; kNoEvent if none.
  [[nodiscard]] HostIndex forward_of(std::int64_t sequence) const;
  /// Returns true if the backward node of the call, or of a call within it, ran at time `freed_ns`.
  /// Memory freed then was saved for this node.
  [[nodiscard]] bool frees(HostIndex call, std::int64_t freed_ns) const;
  /// Returns true if the call, or one within it, has a node.
  [[nodiscard]] bool goes_back(HostIndex call) const;
  /// Returns true if autograd keeps a gradient of these sizes directly after the call's node. A
  /// tensor of these sizes that the call reads is then a parameter, whatever its argument's name.
  [[nodiscard]] bool reads_parameter(HostIndex call, std::span<const std::int64_t> sizes) const;
  /// Returns the additions of the call's node to existing gradients. Each stands for a tensor among
  /// the call's arguments that is read again later. Empty for calls around it.
  [[nodiscard]] std::span<const HostIndex> additions(HostIndex call) const;

  /// Returns true if the call adds to an existing gradient; `parent` is the label around it.
  [[nodiscard]] static bool is_addition(std::string_view op, std::string_view parent);

 private:
  struct Node {
    HostIndex label = kNoEvent;
    HostIndex forward = kNoEvent;
    std::vector<HostIndex> additions;
    std::vector<std::span<const std::int64_t>> kept;  ///< sizes of gradients directly after it
  };
  /// Returns the sizes of the gradients that consecutive labels from `label` on keep.
  [[nodiscard]] std::vector<std::span<const std::int64_t>> kept_from(HostIndex label) const;
  [[nodiscard]] bool is_within(HostIndex inner, HostIndex outer) const;

  const HostEvents& host_;
  std::map<std::int64_t, Node> nodes_;            ///< by sequence number
  std::map<HostIndex, const Node*> of_forward_;   ///< by forward operator
  std::map<std::int64_t, const Node*> by_begin_;  ///< by begin of the label
  std::int64_t begin_ns_ = kLatestNs;
};

}  // namespace understudy::generator
