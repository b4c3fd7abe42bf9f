#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "autograd.h"
#include "gradients.h"
#include "tensors.h"

namespace understudy::generator {

/// An open call or label. Calls below it search it first for tensors.
struct Frame {
  HostIndex event = kNoEvent;
  std::uint64_t begun = 0;   ///< moment
  bool is_operator = false;  ///< false: a label, whose tensors are visible outside
  bool is_backward = false;  ///< the backward pass runs in it
  bool is_optimizer = false;
  bool keeps_gradient = false;  ///< the node that keeps a parameter's gradient
  std::vector<SeenIndex> inputs;
  std::vector<SeenIndex> made;       ///< by calls directly below it
  std::optional<BackwardNode> node;  ///< set for the label around a node of the backward pass
};

/// An argument whose tensor is searched.
struct Wanted {
  const Call& call;                 ///< the call that has the argument
  std::string_view op;              ///< its name
  std::int64_t begin_ns = 0;        ///< begin of the call
  const et_schema::Tensor& tensor;  ///< without strides: any match
  const TensorRole& role;
  et_schema::DType dtype = et_schema::DType::kUndefined;  ///< kUndefined: any
};

/// How a tensor was distinguished from others of its layout.
enum class Told : std::uint8_t {
  kMade,      ///< the only candidate, or identified by autograd
  kInferred,  ///< the most likely of several candidates
  kExternal   ///< no candidate: it is older than the profile
};

/// Finds the tensor that an argument is. A profile records only layouts, so the result is the most
/// likely live tensor of that layout:
/// - in an operator: a tensor that its children made and nobody has read, then its own arguments in
///   their order;
/// - for a node of the backward pass: the gradient that waits for it (gradients.h);
/// - in such a node: tensors of its operators, its gradients, and tensors of its forward operator.
///   A derivative is linear in the gradients, so one of two arguments derives from them;
/// - in the optimizer's step: parameters and states in order of first use, the newest gradients;
/// - elsewhere: a tensor freed directly after the call, or by the call's own node in the backward
///   pass; then the newest unread one; then one that the backward pass shows to be read again. An
///   argument named like a parameter is a new one, unless the backward pass shows otherwise.
class Identity {
 public:
  Identity(const HostEvents& host, std::span<const Call> calls, const Autograd& autograd,
           Tensors& tensors, Gradients& gradients)
      : host_(host), calls_(calls), autograd_(autograd), tensors_(tensors), gradients_(gradients) {}

  struct Choice {
    SeenIndex tensor = kNotSeen;  ///< kNotSeen: none
    Told told = Told::kExternal;
  };
  /// Returns true if the tensor has the layout and is alive at this time.
  [[nodiscard]] bool can_be(const Wanted& wanted, SeenIndex index) const;
  /// Finds the argument's tensor. `taken`: tensors of the call's earlier arguments.
  [[nodiscard]] Choice find(const Wanted& wanted, std::span<const Frame> frames,
                            std::span<const SeenIndex> taken) const;

 private:
  using Frames = std::span<const Frame>;
  using Taken = std::span<const SeenIndex>;

  [[nodiscard]] Choice find_gradient(const Wanted& wanted, Frames frames, Taken taken) const;
  [[nodiscard]] Choice find_kept(const Wanted& wanted) const;
  [[nodiscard]] Choice find_in_operator(const Wanted& wanted, Frames frames, Taken taken) const;
  [[nodiscard]] Choice find_in_node(const Wanted& wanted, Frames frames, Taken taken) const;
  [[nodiscard]] Choice find_in_step(const Wanted& wanted, Frames frames, Taken taken) const;
  [[nodiscard]] Choice find_forward(const Wanted& wanted, Taken taken) const;

  [[nodiscard]] bool is_last_of_its_sizes(SeenIndex index, const Frame& node, HostIndex call) const;
  [[nodiscard]] std::optional<bool> view_is_of_gradient(const Call& view,
                                                        const BackwardNode& node) const;

  const HostEvents& host_;
  std::span<const Call> calls_;
  const Autograd& autograd_;
  Tensors& tensors_;
  Gradients& gradients_;
};

/// Returns true for arguments whose tensors are mostly not shared between calls: tensors of modules
/// ("weight", "running_mean", …) and the "offsets" of bags.
[[nodiscard]] bool is_parameter_name(std::string_view argument);
/// Returns true if the argument must not be a tensor that the call already has: the offsets of an
/// optimizer state's tables differ from those of the weights' tables.
[[nodiscard]] bool needs_its_own(const Wanted& wanted, std::span<const SeenIndex> taken,
                                 SeenIndex found);

}  // namespace understudy::generator
