#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "et_schema/kineto/kineto.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"
#include "generator/link/device.h"
#include "generator/link/host.h"
#include "generator/profile/results.h"
#include "recorded_call.h"

namespace understudy::generator {

/// The label that autograd's engine puts around a node of the backward pass, before its name.
inline constexpr std::string_view kEvaluation = "autograd::engine::evaluate_function: ";
/// The node that keeps a parameter's gradient.
inline constexpr std::string_view kKeepsGradient = "torch::autograd::AccumulateGrad";

/// What a tensor is to a call.
struct TensorRole {
  std::string_view name;    ///< in the schema; empty without one
  bool is_written = false;  ///< by the schema
  bool is_untyped = false;  ///< in a list: profiles tell no element types there
};

/// A host event with what it called.
struct Call {
  HostIndex event = kNoEvent;
  std::uint32_t thread = 0;         ///< position in HostEvents::threads
  std::int64_t next_ns = 0;         ///< begin of what follows on the thread
  bool is_backward = false;         ///< a label of the backward pass
  bool is_kernel = false;           ///< what it launched is known by its time alone: a stub
  bool communicates = false;        ///< record_param_comms: outputs are among recorded.tensors
  RecordedCall recorded;            ///< without schema: a label, or an operator that is opened
  std::vector<TensorRole> role_of;  ///< of recorded.tensors
  CallResults told;
  /// The result's element type, where a child shows it: then tensors of a list that profiles tell
  /// no types of have several, one of them this (torch.cat promotes).
  std::optional<et_schema::DType> promoted;
  std::span<const et_schema::Value> outputs;  ///< set by who knows the results' identities
};

/// Reads the calls of all host events, asks for their results, and makes labels of those that are
/// opened, which `losses` counts; where nothing is below one that launched kernels, it is a kernel.
[[nodiscard]] std::vector<Call> read_calls(const et_schema::Profile& profile,
                                           const HostEvents& host, const DeviceEvents& device,
                                           et_schema::Arena arena, const AskResults& ask,
                                           et_schema::Losses& losses);

/// Asks for the results of calls whose arguments have other layouts than before.
void ask_again(std::span<Call* const> calls, const AskResults& ask);

/// The element type of a result: where the list of arguments that it follows was untyped, theirs.
[[nodiscard]] et_schema::DType dtype_of(const Call& call, const ResultTensor& result);

}  // namespace understudy::generator
