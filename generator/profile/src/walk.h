#pragma once

#include <span>
#include <vector>

#include "et_schema/base/arena.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/losses.h"
#include "read_calls.h"
#include "tensors.h"

namespace understudy::generator {

/// The tensors of a call: its arguments, then its results.
struct CallTensors {
  std::vector<SeenIndex> inputs;
  std::vector<SeenIndex> results;
};

/// A tensor of a call, and its identity.
struct Use {
  et_schema::Tensor* tensor = nullptr;
  SeenIndex seen = kNotSeen;
};

/// The result of a walk through all calls.
struct Walked {
  Tensors tensors;
  std::vector<CallTensors> of_call;  ///< by host event
  std::vector<Use> uses;             ///< of all arguments
  std::vector<HostIndex> order;      ///< host events in order of begin
};

/// Walks through the calls in order of time and identifies the tensors of each argument
/// (identity.h) and of each result. `losses` counts inferred ones. If the profile records no
/// strides, identified tensors provide them: calls are queried again with these strides and walked
/// again, until no result has another layout.
[[nodiscard]] Walked walk_calls(const et_schema::Profile& profile, const HostEvents& host,
                                std::span<Call> calls, et_schema::Arena arena,
                                const AskResults& ask, et_schema::Losses& losses);

/// Finds the device of storages without an allocation event. The kind of a copy gives its two ends.
/// Tensors of an operator that launched kernels are on the device, except for Python numbers that
/// became tensors. Numbers that an operator changed without a kernel are on the host. Anything else
/// is on the device if the profile has one.
void find_devices(const HostEvents& host, const et_schema::DeviceTimeline& device,
                  std::span<const CallTensors> tensors_of, Tensors& tensors);

/// Writes the identities and devices of all tensors into the calls. Adds to the trace a node for
/// each host event, and its roots.
void add_nodes(const HostEvents& host, const et_schema::DeviceTimeline& device,
               std::vector<Call>& calls, Walked& walked, et_schema::Trace& trace);

}  // namespace understudy::generator
