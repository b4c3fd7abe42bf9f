#pragma once

#include <span>
#include <vector>

#include "calls.h"
#include "et_schema/base/arena.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/losses.h"
#include "tensors.h"

namespace understudy::generator {

/// The tensors of a call: its arguments, then its results.
struct CallTensors {
  std::vector<SeenIndex> inputs;
  std::vector<SeenIndex> results;
};

/// A tensor of a call, and which one it is.
struct Use {
  et_schema::Tensor* tensor = nullptr;
  SeenIndex seen = kNotSeen;
};

/// What a walk through all calls has found.
struct Walked {
  Tensors tensors;
  std::vector<CallTensors> of_call;  ///< by host event
  std::vector<Use> uses;             ///< of all arguments
  std::vector<HostIndex> order;      ///< host events as they began
};

/// Walks through the calls in time and tells which tensor each argument is (identity.h), and what
/// each call results in. `losses` counts what was inferred. Where the profile tells no strides, the
/// tensors that were found do: calls are asked again with theirs, and walked again, until no result
/// has another layout.
[[nodiscard]] Walked walk_calls(const et_schema::Profile& profile, const HostEvents& host,
                                std::span<Call> calls, et_schema::Arena arena,
                                const AskResults& ask, et_schema::Losses& losses);

/// Tells on which device storages lie, where no allocation did: the two ends of a copy by its
/// kind; what an operator that launched kernels works on is on the device, but for scalars that
/// Python made tensors; numbers that an operator changed without a kernel are on the host. What
/// nothing tells is on the device if the profile has one.
void find_devices(const HostEvents& host, const et_schema::DeviceTimeline& device,
                  std::span<const CallTensors> tensors_of, Tensors& tensors);

/// Writes the identities and devices of all tensors into the calls, and adds a node for each host
/// event to the trace, with its roots.
void add_nodes(const HostEvents& host, const et_schema::DeviceTimeline& device,
               std::vector<Call>& calls, Walked& walked, et_schema::Trace& trace);

}  // namespace understudy::generator
