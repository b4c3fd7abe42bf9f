#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"
#include "generator/flow/autograd.h"
#include "generator/link/device.h"
#include "generator/link/host.h"
#include "generator/profile/trace_of_profile.h"
#include "recorded_call.h"

namespace understudy::generator {

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
  bool communicates = false;        ///< record_param_comms
  RecordedCall recorded;            ///< without schema: a label, or an operator that is opened
  std::vector<TensorRole> role_of;  ///< of recorded.tensors
  CallResults told;
  /// The result's element type, where a child shows it: then tensors of a list that profiles tell
  /// no types of have several, one of them this (torch.cat promotes).
  std::optional<et_schema::DType> promoted;
};

/// Kineto writes lists of more than thirty tensors as empty ones. Where an operator handed its list
/// on one by one, as _foreach_… do on CPUs, its children tell the layouts. Those of _foreach_… and
/// _fused_… operators that have no children, behind the backward pass, are those of all gradients
/// that autograd kept, in the order of the forward pass. Lists of numbers, one for each tensor, are
/// left out too: the children tell them as well, else they are ones (Loss::kAssumedArguments).
void fill_lists(et_schema::Profile& profile, const HostEvents& host, et_schema::Arena arena,
                et_schema::Losses& losses);

/// Reads the calls of all host events, asks for their results, and makes labels of those that are
/// opened, which `losses` counts; where nothing is below one that launched kernels, it is a kernel.
[[nodiscard]] std::vector<Call> read_calls(const et_schema::Profile& profile,
                                           const HostEvents& host,
                                           const et_schema::DeviceTimeline& device,
                                           et_schema::Arena arena, const AskResults& ask,
                                           et_schema::Losses& losses);

/// Asks for the results of calls whose arguments have other layouts than before.
void ask_again(std::span<Call* const> calls, const AskResults& ask);

/// The element type of a result: where the list of arguments that it follows was untyped, theirs.
[[nodiscard]] et_schema::DType dtype_of(const Call& call, const ResultTensor& result);

}  // namespace understudy::generator
