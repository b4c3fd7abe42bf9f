#include "calls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "communication.h"
#include "et_schema/model/schema_text.h"

namespace understudy::generator {
namespace {

using et_schema::KinetoArgument;
using et_schema::KinetoEvent;
using et_schema::Loss;
using et_schema::Profile;
using et_schema::Value;
using et_schema::ValueKind;

bool has_same_types(const KinetoEvent& a, const KinetoEvent& b) {
  return std::ranges::equal(a.arguments, b.arguments, {}, &KinetoArgument::type,
                            &KinetoArgument::type);
}

std::vector<TensorRole> roles_of(const RecordedCall& call) {
  std::vector<TensorRole> roles;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    TensorRole role;
    if (!call.schema.empty()) {
      role.name = call.arguments[i].name;
      role.is_written = et_schema::argument_is_written(call.schema, i);
    }
    role.is_untyped = call.inputs[i].is(ValueKind::kList);
    et_schema::for_each_tensor(call.inputs.subspan(i, 1),
                               [&](const et_schema::Tensor&) { roles.push_back(role); });
  }
  return roles;
}

/// The results of an operator that returns what it writes: "Tensor(a!) self" and "-> Tensor(a!)".
std::optional<CallResults> written_results(const Call& call) {
  const std::string_view returns = et_schema::returns_of(call.recorded.schema);
  if (!returns.starts_with("Tensor(") || returns.find('!') == std::string_view::npos ||
      returns.find('[') != std::string_view::npos) {
    return {};
  }
  CallResults results;
  for (std::size_t i = 0; i < call.recorded.tensors.size(); ++i) {
    if (call.role_of[i].is_written) {
      const et_schema::Tensor& written = *call.recorded.tensors[i];
      ResultTensor& result = results.tensors.emplace_back();
      result.dtype = written.dtype;
      result.sizes.assign(written.sizes.begin(), written.sizes.end());
      result.strides.assign(written.strides.begin(), written.strides.end());
      result.storage_of = result.same_as = static_cast<int>(i);
    }
  }
  return results.tensors.size() == 1 ? std::optional(std::move(results)) : std::nullopt;
}

bool returns_tensors(std::string_view schema) {
  return et_schema::returns_of(schema).find("Tensor") != std::string_view::npos;
}

/// What is below the call is replayed in its place.
void open_call(Call& call) {
  call.recorded = {};
  call.role_of.clear();
  call.told = {};
}

/// Operators that nothing tells enough about, and that launched kernels with nothing below them.
void find_kernels(std::vector<Call>& calls, const HostEvents& host, const DeviceEvents& device) {
  const auto is_whole = [&](HostIndex i) {
    return i + 1 == host.events.size() || host.events[i + 1].parent != i;
  };
  for (const DeviceEvent& event : device.linked) {
    Call& call = calls[event.operator_];
    if (call.recorded.schema.empty() && !call.is_backward && !call.communicates &&
        is_whole(event.operator_)) {
      call.is_kernel = true;
    }
  }
}

class CallsReader {
 public:
  CallsReader(const Profile& profile, const HostEvents& host, et_schema::Arena arena,
              et_schema::Losses& losses)
      : profile_(profile), host_(host), losses_(losses), arena_(arena), reader_(arena, losses) {
    for (const et_schema::KinetoComm& comm : profile.host_comms) {
      comms_.emplace(comm.event, &comm);
    }
  }

  std::vector<Call> read() {
    calls_.resize(host_.events.size());
    for (std::size_t thread = 0; thread < host_.threads.size(); ++thread) {
      for (HostIndex i = host_.threads[thread].begin; i < host_.threads[thread].end; ++i) {
        read_call(i, static_cast<std::uint32_t>(thread));
      }
    }
    for (HostIndex i = 0; i < calls_.size(); ++i) {
      open_cast(i);
    }
    return std::move(calls_);
  }

 private:
  [[nodiscard]] const KinetoEvent& event_of(HostIndex index) const {
    return profile_.events[host_.events[index].source];
  }

  void read_call(HostIndex i, std::uint32_t thread) {
    Call& call = calls_[i];
    call.event = i;
    call.thread = thread;
    call.next_ns = next_ns(i, host_.threads[thread].end);
    const KinetoEvent& event = event_of(i);
    call.is_backward = event.forward_thread > 0 || event.name.starts_with(kEvaluation) ||
                       event.name == kKeepsGradient;
    if (!host_.events[i].is_operator) {
      return;
    }
    if (const auto comm = comms_.find(host_.events[i].source); comm != comms_.end()) {
      RecordedComm recorded = recorded_communication(*comm->second, arena_);
      call.recorded = std::move(recorded.call);
      call.outputs = recorded.outputs;
      call.communicates = true;
      call.role_of.resize(call.recorded.tensors.size());
      return;
    }
    call.recorded = reader_.read(event);
    call.is_kernel = !event.kernel_backend.empty();
    // What communicates is below; its tensors are known here.
    const bool keeps_tensors = call.is_kernel || event.name.starts_with("c10d::");
    const bool is_named = event.name.find("::") != std::string_view::npos;
    if (call.recorded.schema.empty() && is_named && !call.is_backward) {
      losses_.add(event.arguments.empty() ? Loss::kUnshapedOperators : Loss::kUnmatchedSchemas);
    }
    if (call.recorded.schema.empty() && !keeps_tensors && !call.is_backward) {
      open_call(call);
    }
    call.role_of = roles_of(call.recorded);
  }

  /// Begin of the first event behind the call, if it is soon enough to be of the same code.
  [[nodiscard]] std::int64_t next_ns(HostIndex i, HostIndex end) const {
    HostIndex next = i + 1;
    while (next < end && host_.events[next].start_ns < host_.events[i].end_ns) {
      ++next;
    }
    return next < end ? host_.events[next].start_ns : host_.events[i].end_ns;
  }

  /// Autocast casts the arguments and calls the operator again: what is called is below.
  void open_cast(HostIndex i) {
    const HostIndex parent = host_.events[i].parent;
    if (parent == kNoEvent || calls_[parent].recorded.schema.empty() ||
        host_.events[i].name != host_.events[parent].name ||
        has_same_types(event_of(i), event_of(parent))) {
      return;
    }
    open_call(calls_[parent]);
    losses_.add(Loss::kOpenedCasts);
  }

  const Profile& profile_;
  const HostEvents& host_;
  et_schema::Losses& losses_;
  et_schema::Arena arena_;
  CallReader reader_;
  std::map<std::size_t, const et_schema::KinetoComm*> comms_;  ///< by event
  std::vector<Call> calls_;
};

/// What the last child with tensors results in, of an operator that returns one tensor.
bool take_from_children(std::vector<Call>& calls, const HostEvents& host, Call& call) {
  if (et_schema::returns_of(call.recorded.schema) != "Tensor") {
    return false;
  }
  const HostIndex end = host.threads[call.thread].end;
  const ResultTensor* last = nullptr;
  for (HostIndex i = call.event + 1;
       i < end && host.events[i].start_ns < host.events[call.event].end_ns; ++i) {
    if (host.events[i].parent == call.event && calls[i].told.tensors.size() == 1) {
      last = &calls[i].told.tensors.front();
    }
  }
  if (last == nullptr) {
    return false;
  }
  ResultTensor result = *last;
  result.storage_of = result.same_as = -1;
  result.offset_from = 0;
  call.told.why_not.clear();
  call.told.tensors = {result};
  return true;
}

void ask_for_results(std::vector<Call>& calls, const AskResults& ask) {
  std::vector<AskedCall> asked;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Call& call = calls[i];
    if (call.recorded.schema.empty() || !returns_tensors(call.recorded.schema)) {
      continue;
    }
    if (std::optional<CallResults> written = written_results(call)) {
      call.told = std::move(*written);
      continue;
    }
    asked.push_back({call.recorded.schema, call.recorded.inputs});
    places.push_back(i);
  }
  if (asked.empty()) {
    return;
  }
  std::vector<CallResults> answers = ask(asked);
  for (std::size_t i = 0; i < places.size(); ++i) {
    calls[places[i]].told = std::move(answers[i]);
  }
}

}  // namespace

std::vector<Call> read_calls(const Profile& profile, const HostEvents& host,
                             const DeviceEvents& device, et_schema::Arena arena,
                             const AskResults& ask, et_schema::Losses& losses) {
  std::vector<Call> calls = CallsReader(profile, host, arena, losses).read();
  ask_for_results(calls, ask);
  // Children stand behind their parents.
  for (std::size_t i = calls.size(); i-- > 0;) {
    Call& call = calls[i];
    if (!call.told.why_not.empty() && !take_from_children(calls, host, call)) {
      losses.add(Loss::kUnknownResults);
      open_call(call);
    }
  }
  find_kernels(calls, host, device);
  return calls;
}

et_schema::DType dtype_of(const Call& call, const ResultTensor& result) {
  for (std::size_t i = 0; i < call.role_of.size(); ++i) {
    if (call.role_of[i].is_untyped && result.dtype == kAssumedListType) {
      return call.recorded.tensors[i]->dtype;
    }
  }
  return result.dtype;
}

}  // namespace understudy::generator
