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

/// An open call or label: what is below it looks for tensors here first.
struct Frame {
  HostIndex event = kNoEvent;
  std::uint64_t begun = 0;   ///< moment
  bool is_operator = false;  ///< false: a label, from which tensors get out
  bool is_backward = false;  ///< the backward pass runs in it
  bool is_optimizer = false;
  bool keeps_gradient = false;  ///< the node that keeps a parameter's gradient
  std::vector<SeenIndex> inputs;
  std::vector<SeenIndex> made;       ///< by what is right below it
  std::optional<BackwardNode> node;  ///< of the label around a node of the backward pass
};

/// A tensor among a call's arguments.
struct Wanted {
  const Call& call;                 ///< that takes it
  std::string_view op;              ///< its name
  std::int64_t begin_ns = 0;        ///< of the call
  const et_schema::Tensor& tensor;  ///< without strides: of any
  const TensorRole& role;
  et_schema::DType dtype = et_schema::DType::kUndefined;  ///< kUndefined: any
};

/// How a tensor was told from others of its layout.
enum class Told : std::uint8_t {
  kMade,      ///< one alone could be it, or autograd tells it
  kInferred,  ///< the likeliest of several
  kExternal   ///< none could be it: it is older than the profile
};

/// Says which tensor an argument is. A profile holds layouts alone, so it is the likeliest of those
/// of that layout that live at this time:
/// - inside of an operator, what its children made and nobody has read, then its own arguments in
///   their order;
/// - of a node of the backward pass, the gradient that waits for it (gradients.h);
/// - inside of such a node, what its operators made, its gradients, and what its forward operator
///   had. A formula is linear in the gradients, so that of two arguments one comes of them;
/// - in the optimizer's step, parameters and states in order of first use, the newest gradients;
/// - elsewhere what is freed right behind the call, or by the call's own node in the backward pass;
///   then what nobody has read, the newest first; then what the backward pass tells to be read
///   again. Parameters, by the argument's name, are new ones unless the backward pass tells that.
class Identity {
 public:
  Identity(const HostEvents& host, std::span<const Call> calls, const Autograd& autograd,
           Tensors& tensors, Gradients& gradients)
      : host_(host), calls_(calls), autograd_(autograd), tensors_(tensors), gradients_(gradients) {}

  struct Choice {
    SeenIndex tensor = kNotSeen;  ///< kNotSeen: none
    Told told = Told::kExternal;
  };
  /// Whether the tensor has the layout and lives at this time.
  [[nodiscard]] bool can_be(const Wanted& wanted, SeenIndex index) const;
  /// `taken` are the tensors of the call's arguments before this one.
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

/// Arguments that each call has of its own: what modules hold, "weight", "running_mean", …, and the
/// "offsets" of bags.
[[nodiscard]] bool is_parameter_name(std::string_view argument);
/// Whether the tensor, which the call has already, cannot be this argument too: where each table of
/// an optimizer's state begins is not where the weights' tables do.
[[nodiscard]] bool needs_its_own(const Wanted& wanted, std::span<const SeenIndex> taken,
                                 SeenIndex found);

}  // namespace understudy::generator
