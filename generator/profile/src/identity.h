#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensors.h"

namespace understudy::generator {

/// A tensor that autograd may have saved of a call, with the argument that it was.
struct Saved {
  SeenIndex tensor = kNotSeen;
  std::string_view argument;  ///< in the schema; empty of results, and of what children made
};

/// An open call or label: what is below it looks for tensors here first.
struct Frame {
  HostIndex event = kNoEvent;
  std::uint64_t begun = 0;   ///< moment
  bool is_operator = false;  ///< false: a label, from which tensors get out
  bool is_backward = false;  ///< the backward pass runs in it
  bool is_optimizer = false;
  bool is_product = false;  ///< a node of the backward pass of a matrix product
  std::vector<SeenIndex> inputs;
  std::vector<SeenIndex> made;                ///< by what is right below it
  const std::vector<Saved>* saved = nullptr;  ///< what the forward call had, of a backward one
};

/// A tensor among a call's arguments.
struct Wanted {
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;
  et_schema::DType dtype = et_schema::DType::kUndefined;  ///< kUndefined: any
  std::string_view argument;                              ///< its name in the schema
  std::string_view op;                                    ///< the operator that takes it
  bool is_written = false;
  bool is_gradient = false;  ///< what autograd hands to a node of the backward pass
};

/// How a tensor was told from others of its layout.
enum class Told : std::uint8_t {
  kMade,      ///< one alone could be it
  kInferred,  ///< the likeliest of several
  kExternal   ///< none could be it: it is older than the profile
};

/// Says which tensor an argument is. A profile holds layouts alone, so it is the likeliest of those
/// of that layout that live at this time:
/// - inside of an operator, what its children made and nobody has read, then its own arguments in
///   their order;
/// - of a label of the backward pass, the newest gradient that nobody has read;
/// - in the backward pass, what this node's operators made, its gradients, and what the forward
///   operator of the same sequence number had (autograd saves from among them);
/// - elsewhere what is freed right behind the call, then what is freed soonest in the forward pass,
///   since Python keeps no tensor longer than its names (what autograd saved says nothing by when
///   it is freed); what nobody has read; what such an operator made, as sums of residuals are
///   summed again; the newest;
/// - parameters, by the argument's name, are one tensor for each call of the forward pass.
class Identity {
 public:
  /// `backward_ns` is when the first node of the backward pass began; kLatestNs: none did.
  Identity(Tensors& tensors, std::int64_t backward_ns)
      : tensors_(tensors), backward_ns_(backward_ns) {}

  struct Choice {
    SeenIndex tensor = kNotSeen;  ///< kNotSeen: none
    Told told = Told::kExternal;
  };
  /// `taken` are the tensors of the call's arguments before this one, `end_ns` is the call's end.
  [[nodiscard]] Choice find(const Wanted& wanted, std::span<const Frame> frames,
                            std::span<const SeenIndex> taken, std::int64_t now_ns,
                            std::int64_t end_ns) const;

 private:
  [[nodiscard]] Choice find_gradient(const Wanted& wanted, std::span<const SeenIndex> taken,
                                     std::int64_t now_ns) const;
  [[nodiscard]] bool can_be(const Wanted& wanted, SeenIndex index, std::int64_t now_ns) const;

  Tensors& tensors_;
  std::int64_t backward_ns_;
};

/// Arguments that modules hold: "weight", "bias", "running_mean", ….
[[nodiscard]] bool is_parameter_name(std::string_view argument);

}  // namespace understudy::generator
