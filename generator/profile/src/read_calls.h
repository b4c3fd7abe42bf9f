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

/// The role of a tensor in a call.
struct TensorRole {
  std::string_view name;    ///< in the schema; empty without a schema
  bool is_written = false;  ///< by the schema
  bool is_untyped = false;  ///< in a list, for which profiles record no element types
};

/// A host event, and the call that it records.
struct Call {
  HostIndex event = kNoEvent;
  std::uint32_t thread = 0;         ///< position in HostEvents::threads
  std::int64_t next_ns = 0;         ///< begin of the next event on the thread
  bool is_backward = false;         ///< a label of the backward pass
  bool is_kernel = false;           ///< replayed by a kernel stub: only its time is known
  bool communicates = false;        ///< record_param_comms
  RecordedCall recorded;            ///< without schema: a label, or an operator that is decomposed
  std::vector<TensorRole> role_of;  ///< of recorded.tensors
  CallResults told;
  /// The result's element type, if a child shows it. Tensors of an untyped list then have several
  /// types, one of them this one (torch.cat promotes).
  std::optional<et_schema::DType> promoted;
};

/// Fills in lists of more than 30 tensors, which Kineto writes as empty. If an operator passed its
/// list on one by one, as _foreach_… operators do on CPUs, its children show the layouts. For
/// _foreach_… and _fused_… operators after the backward pass that have no children, the layouts are
/// those of all gradients that autograd kept, in the order of the forward pass. Lists of one number
/// for each tensor are read from the children too, or else set to ones (Loss::kAssumedArguments).
void fill_lists(et_schema::Profile& profile, const HostEvents& host, et_schema::Arena arena,
                et_schema::Losses& losses);

/// Reads the calls of all host events and queries their results. Decomposed operators become
/// labels, which `losses` counts, or kernels if they launched some and have nothing below them.
[[nodiscard]] std::vector<Call> read_calls(const et_schema::Profile& profile,
                                           const HostEvents& host,
                                           const et_schema::DeviceTimeline& device,
                                           et_schema::Arena arena, const AskResults& ask,
                                           et_schema::Losses& losses);

/// Queries again the results of calls, after the layouts of their arguments changed.
void ask_again(std::span<Call* const> calls, const AskResults& ask);

/// Returns the element type of a result: Call::promoted if set; the type of the list's first tensor
/// if the result's type was inferred from an untyped list; otherwise the queried type.
[[nodiscard]] et_schema::DType dtype_of(const Call& call, const ResultTensor& result);

}  // namespace understudy::generator
