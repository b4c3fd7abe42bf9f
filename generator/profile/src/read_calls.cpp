#include "read_calls.h"

#include <algorithm>
#include <map>
#include <utility>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/flow.h"
#include "generator/flow/model_names.h"
#include "left_out.h"

namespace understudy::generator {
namespace {

using et_schema::KinetoArgument;
using et_schema::KinetoEvent;
using et_schema::Profile;

/// Returns true if the arguments are the same except for the element types of tensors. Overloads
/// that call each other differ in more.
bool is_cast(const KinetoEvent& from, const KinetoEvent& to) {
  const auto is_same_kind = [](const KinetoArgument& a, const KinetoArgument& b) {
    return a.type == b.type ||
           (et_schema::dtype_from_cpp_name(a.type) && et_schema::dtype_from_cpp_name(b.type));
  };
  const auto types = &KinetoArgument::type;
  return std::ranges::equal(from.arguments, to.arguments, is_same_kind) &&
         !std::ranges::equal(from.arguments, to.arguments, {}, types, types);
}

std::vector<TensorRole> roles_of(const RecordedCall& call) {
  std::vector<TensorRole> roles;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    TensorRole role;
    if (!call.schema.empty()) {
      role.name = call.arguments[i].name;
      role.is_written = et_schema::argument_is_written(call.schema, i);
    }
    const bool is_list = call.inputs[i].is(ValueKind::kList);
    et_schema::for_each_tensor(call.inputs.subspan(i, 1), [&](const et_schema::Tensor& tensor) {
      role.is_untyped = is_list && tensor.dtype == kAssumedListType;
      roles.push_back(role);
    });
  }
  return roles;
}

/// Returns the results of an operator that returns what it writes: "Tensor(a!) self" and "->
/// Tensor(a!)". Empty if the layout may change: t_, resize_, and an "out" that is empty before the
/// call.
std::optional<CallResults> written_results(const Call& call) {
  const std::string_view returns = et_schema::returns_of(call.recorded.schema);
  if (et_schema::lays_out_in_place(
          et_schema::without_overload(et_schema::operator_name(call.recorded.schema))) ||
      !returns.starts_with("Tensor(") || returns.find('!') == std::string_view::npos ||
      returns.find('[') != std::string_view::npos) {
    return {};
  }
  CallResults results;
  for (std::size_t i = 0; i < call.recorded.tensors.size(); ++i) {
    if (call.role_of[i].is_written && call.recorded.tensors[i]->numel > 0) {
      const et_schema::Tensor& written = *call.recorded.tensors[i];
      if (std::ranges::find(written.sizes, 0) != written.sizes.end()) {
        return {};
      }
      ResultTensor& result = results.tensors.emplace_back();
      result.dtype = written.dtype;
      result.sizes.assign(written.sizes.begin(), written.sizes.end());
      result.strides.assign(written.strides.begin(), written.strides.end());
      result.storage_of = result.same_as = static_cast<int>(i);
    }
  }
  return results.tensors.size() == 1 ? std::optional(std::move(results)) : std::nullopt;
}

/// Returns the result of an operator that selects by a mask; the profile shows how many elements.
CallResults selected_results(const RecordedCall& call, const ToldIndices& indices) {
  CallResults results;
  ResultTensor& result = results.tensors.emplace_back();
  result.dtype = call.tensors.front()->dtype;
  result.sizes = indices.result_sizes;
  result.strides = et_schema::contiguous_strides(result.sizes);
  return results;
}

/// Returns true if the results must be queried. Communications return the tensors that they write.
bool asks_for_results(const Call& call) {
  const std::string_view schema = call.recorded.schema;
  return !schema.empty() && !schema.starts_with("c10d::") && call.told.tensors.empty() &&
         et_schema::returns_of(schema).find("Tensor") != std::string_view::npos;
}

/// Returns true if the call takes a sparse tensor apart: the number of its elements is unknown.
bool takes_sparse_apart(const Call& call) {
  const std::string_view name = et_schema::operator_name(call.recorded.schema);
  return et_schema::operator_facts(name).part != et_schema::SparsePart::kNone &&
         std::ranges::any_of(call.recorded.tensors, [](const et_schema::Tensor* tensor) {
           return tensor->has_strides && tensor->strides.size() != tensor->sizes.size();
         });
}

/// Makes the call a label, so that the operators below it are replayed instead.
void open_call(Call& call) {
  call.recorded = {};
  call.role_of.clear();
  call.told = {};
}

/// Returns true for operators that compute nothing: "c10d::" operators, whose communication is
/// below; wrappers of functional collectives; and set_, whose arguments no schema matches.
bool only_hands_on(std::string_view name) {
  return name.starts_with("c10d::") || name.starts_with("profiler::") ||
         name.starts_with("_c10d_functional") || name == "aten::set_";
}

/// Longest own time of an operator that only calls others.
constexpr std::int64_t kLongestDispatchNs = 100'000;

/// Finds kernels: operators about which too little is known and whose time what is below them does
/// not explain. A stub replays that time. On a device, they launched more work themselves than
/// replayed operators below them did; work that labels launched below them counts as theirs.
/// Without a device, the operators and Python modes below them took less than half of their time,
/// and the rest is more than dispatching operators that compute takes; in a profile without shapes
/// nothing explains it. Calls above communication are no kernels. If several are nested, the
/// outermost is the kernel.
void find_kernels(std::vector<Call>& calls, const HostEvents& host,
                  const et_schema::DeviceTimeline& device) {
  struct Below {
    std::int64_t explained_ns = 0;
    std::int64_t launched_ns = 0;  ///< by itself, and by all that no replayed operator holds
    bool computed = false;
    bool communicated = false;
  };
  const bool has_device = device.total() > 0;
  const bool has_shapes = std::ranges::any_of(
      host.sources, [](const KinetoEvent& event) { return !event.arguments.empty(); });
  std::vector<Below> below(calls.size());
  std::vector<bool> launched(calls.size());
  for (const et_schema::DeviceEvent& event : device.events) {
    if (const HostIndex launcher = host.event_of(event.launcher); launcher != kNoEvent) {
      launched[launcher] = true;
      below[launcher].launched_ns += event.ns();
    }
  }
  const auto is_named = [&host](HostIndex i) {
    return host.events[i].is_operator && host.source(i).name.find("::") != std::string_view::npos;
  };
  for (auto i = static_cast<HostIndex>(calls.size()); i-- > 0;) {
    if (host.events[i].parent == kNoEvent) {
      continue;
    }
    Below& parent = below[host.events[i].parent];
    const std::string_view name = host.source(i).name;
    const bool is_whole =
        has_device ? !calls[i].recorded.schema.empty()
                   : has_shapes && (is_named(i) || name == kSubclassLabel || name == kModeLabel);
    const std::int64_t whole_ns = has_device ? below[i].launched_ns + below[i].explained_ns
                                             : host.events[i].end_ns - host.events[i].start_ns;
    parent.explained_ns += is_whole ? whole_ns : below[i].explained_ns;
    parent.launched_ns += is_whole ? 0 : below[i].launched_ns;
    parent.computed |= below[i].computed || (is_named(i) && !only_prepares_memory(name));
    parent.communicated |=
        below[i].communicated || calls[i].communicates || name.starts_with("c10d::");
  }
  std::vector<bool> is_inside(calls.size());
  for (HostIndex i = 0; i < calls.size(); ++i) {
    const HostEvent& event = host.events[i];
    is_inside[i] =
        event.parent != kNoEvent && (is_inside[event.parent] || calls[event.parent].is_kernel);
    const std::int64_t own_ns =
        has_device ? below[i].launched_ns : event.end_ns - event.start_ns - below[i].explained_ns;
    const bool is_dispatch =
        !has_device && has_shapes && below[i].computed && own_ns <= kLongestDispatchNs;
    const bool is_unexplained = own_ns > below[i].explained_ns && !is_dispatch;
    const bool works =
        has_device ? launched[i] : is_named(i) && !only_hands_on(host.source(i).name);
    if (is_unexplained && works && !below[i].communicated && !is_inside[i] && event.is_operator &&
        !calls[i].is_backward && !calls[i].communicates && calls[i].recorded.schema.empty()) {
      calls[i].is_kernel = true;
    }
  }
}

class CallsReader {
 public:
  CallsReader(const Profile& profile, const HostEvents& host,
              const et_schema::DeviceTimeline& device, et_schema::Arena arena,
              et_schema::Losses& losses)
      : profile_(profile),
        host_(host),
        losses_(losses),
        reader_{arena, losses, ranks_of(profile), tells_strides(profile),
                device.total() > 0 ? et_schema::DeviceType::kCuda : et_schema::DeviceType::kCpu},
        left_out_(host, device) {
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
      open_wrapper(i);
    }
    return std::move(calls_);
  }

 private:
  void read_call(HostIndex i, std::uint32_t thread) {
    Call& call = calls_[i];
    call.event = i;
    call.thread = thread;
    call.next_ns = next_ns(i, host_.threads[thread].end);
    const KinetoEvent& event = host_.source(i);
    call.is_backward = event.forward_thread > 0 || event.name.starts_with(kEvaluationLabel) ||
                       event.name == kKeepsGradient;
    if (!host_.events[i].is_operator) {
      return;
    }
    if (const auto comm = comms_.find(host_.events[i].source); comm != comms_.end()) {
      call.recorded = recorded_communication(
          *comm->second, rank_of(*comm->second, host_.events[i].parent),
          profile_.distributed ? profile_.distributed->rank : -1, reader_.arena);
      call.communicates = true;
      call.role_of.resize(call.recorded.tensors.size());
      return;
    }
    const LeftOut left_out = left_out_.find(i);
    call.recorded = reader_.read(event, left_out);
    if (left_out.indices && !left_out.indices->result_sizes.empty() &&
        !call.recorded.schema.empty() && event.name.find("_put") == std::string_view::npos) {
      call.told = selected_results(call.recorded, *left_out.indices);
    }
    call.is_kernel = !event.kernel_backend.empty();
    // The communication is below; its tensors are known here.
    const bool keeps_tensors = call.is_kernel || event.name.starts_with("c10d::");
    const bool is_named = event.name.find("::") != std::string_view::npos;
    if (call.recorded.schema.empty() && is_named && !call.is_backward) {
      losses_.add(event.arguments.empty() ? Loss::kUnshapedOperators : Loss::kOpenedOperators);
    }
    if (call.recorded.schema.empty() && !keeps_tensors && !call.is_backward) {
      open_call(call);
    }
    call.role_of = roles_of(call.recorded);
  }

  /// Returns the root or peer of a communication: from its own event or from the c10d operator
  /// around it; otherwise the peer in a ring, in which each rank sends to the next.
  [[nodiscard]] std::int64_t rank_of(const et_schema::KinetoComm& comm, HostIndex parent) const {
    const auto kind = et_schema::kind_of_recorded_name(comm.name);
    const bool has_rank =
        kind && (et_schema::traits(*kind).has_root || et_schema::is_message(*kind));
    if (!has_rank) {
      return 0;
    }
    if (comm.rank >= 0) {
      return comm.rank;
    }
    if (parent != kNoEvent && host_.source(parent).name.starts_with("c10d::")) {
      for (const et_schema::Value& value : calls_[parent].recorded.inputs) {
        if (value.is(ValueKind::kInt)) {
          return value.as_int();
        }
      }
    }
    losses_.add(Loss::kAssumedCommunication);
    const std::int64_t ranks = std::max<std::int64_t>(comm.ranks_in_group, 1);
    const std::int64_t own = profile_.distributed ? profile_.distributed->rank % ranks : 0;
    return *kind == et_schema::CommKind::kSend   ? (own + 1) % ranks
           : *kind == et_schema::CommKind::kRecv ? (own + ranks - 1) % ranks
                                                 : 0;
  }

  /// Profiles of PyTorch before 2.2 record no strides.
  [[nodiscard]] static bool tells_strides(const Profile& profile) {
    return std::ranges::any_of(profile.events, [](const KinetoEvent& event) {
      return std::ranges::any_of(event.arguments, [](const KinetoArgument& argument) {
        return std::ranges::any_of(argument.layouts, [](const et_schema::KinetoLayout& layout) {
          return !layout.strides.empty();
        });
      });
    });
  }

  [[nodiscard]] static std::int64_t ranks_of(const Profile& profile) {
    return profile.distributed
               ? std::clamp<std::int64_t>(profile.distributed->world_size, 1, kMostRanks)
               : 1;
  }

  /// Returns the begin of the first event after the call; the call's own end if there is none.
  [[nodiscard]] std::int64_t next_ns(HostIndex i, HostIndex end) const {
    const HostIndex next = host_.events[i].behind;
    return next < end ? host_.events[next].start_ns : host_.events[i].end_ns;
  }

  /// Decomposes a call whose arguments autocast casts, since the call with cast arguments is below
  /// it, and all operators around it, which a replay without autocast would run in other types.
  void open_cast(HostIndex i) {
    HostIndex around = host_.events[i].parent;
    if (around == kNoEvent || host_.events[i].name != host_.events[around].name ||
        !is_cast(host_.source(around), host_.source(i))) {
      return;
    }
    for (; around != kNoEvent; around = host_.events[around].parent) {
      if (!calls_[around].recorded.schema.empty()) {
        open_call(calls_[around]);
        losses_.add(Loss::kOpenedOperators);
      }
    }
  }

  /// Decomposes a call that a Python class (DTensor, a nested tensor) handles: its calls are below.
  void open_wrapper(HostIndex i) {
    const HostIndex parent = host_.events[i].parent;
    if (parent != kNoEvent && host_.source(i).name == kSubclassLabel) {
      open_call(calls_[parent]);
    }
  }

  const Profile& profile_;
  const HostEvents& host_;
  et_schema::Losses& losses_;
  CallReader reader_;
  LeftOutFinder left_out_;
  std::map<std::size_t, const et_schema::KinetoComm*> comms_;  ///< by event
  std::vector<Call> calls_;
};

/// Uses the result of the last child with tensors, for an operator that returns one tensor. Sparse
/// tensors are made without an operator.
bool take_from_children(std::vector<Call>& calls, const HostEvents& host, Call& call) {
  if (et_schema::returns_of(call.recorded.schema) != "Tensor" ||
      call.told.why_not == et_schema::kNestedResult ||
      et_schema::operator_name(call.recorded.schema).find("to_sparse") != std::string_view::npos) {
    return false;
  }
  const ResultTensor* last = nullptr;
  for (const HostIndex child : host.children_of(call.event)) {
    if (calls[child].told.tensors.size() == 1) {
      last = &calls[child].told.tensors.front();
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

/// Returns the type of a concatenation's result if its inputs are of several types, which are
/// copied into slices of the result. Inputs of one type are copied at once.
std::optional<et_schema::DType> promoted_type(const std::vector<Call>& calls,
                                              const HostEvents& host, const Call& call) {
  if (!call.recorded.schema.starts_with("aten::cat(") || call.told.tensors.size() != 1) {
    return {};
  }
  for (const HostIndex child : host.children_of(call.event)) {
    const std::vector<et_schema::Tensor*>& tensors = calls[child].recorded.tensors;
    if (host.source(child).name == "aten::narrow" && tensors.size() == 1 &&
        std::ranges::equal(tensors[0]->sizes, call.told.tensors[0].sizes)) {
      return tensors[0]->dtype;
    }
  }
  return {};
}

void ask_for_results(std::vector<Call>& calls, const AskResults& ask) {
  std::vector<AskedCall> asked;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Call& call = calls[i];
    if (!asks_for_results(call)) {
      continue;
    }
    if (std::optional<CallResults> written = written_results(call)) {
      call.told = std::move(*written);
      continue;
    }
    if (takes_sparse_apart(call)) {
      call.told.why_not = "its results depend on what its tensors hold";
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
                             const et_schema::DeviceTimeline& device, et_schema::Arena arena,
                             const AskResults& ask, et_schema::Losses& losses) {
  std::vector<Call> calls = CallsReader(profile, host, device, arena, losses).read();
  ask_for_results(calls, ask);
  // Children follow their parents.
  for (std::size_t i = calls.size(); i-- > 0;) {
    Call& call = calls[i];
    if (!call.told.why_not.empty() && !take_from_children(calls, host, call)) {
      losses.add(Loss::kOpenedOperators);
      open_call(call);
    }
    call.promoted = promoted_type(calls, host, call);
  }
  find_kernels(calls, host, device);
  return calls;
}

void ask_again(std::span<Call* const> calls, const AskResults& ask) {
  std::vector<AskedCall> asked;
  for (const Call* call : calls) {
    asked.push_back({call->recorded.schema, call->recorded.inputs});
  }
  std::vector<CallResults> answers = ask(asked);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (answers[i].why_not.empty() && answers[i].tensors.size() == calls[i]->told.tensors.size()) {
      calls[i]->told = std::move(answers[i]);
    }
  }
}

et_schema::DType dtype_of(const Call& call, const ResultTensor& result) {
  if (call.promoted) {
    return *call.promoted;
  }
  for (std::size_t i = 0; i < call.role_of.size(); ++i) {
    if (call.role_of[i].is_untyped && result.dtype == kAssumedListType) {
      return call.recorded.tensors[i]->dtype;
    }
  }
  return result.dtype;
}

}  // namespace understudy::generator
