#include "comm_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "et_schema/base/arena.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/model/comm_traits.h"
#include "recorded_call.h"

namespace understudy::generator {
namespace {

using et_schema::CommKind;
using et_schema::CommSizes;
using et_schema::KinetoCategory;
using et_schema::KinetoComm;
using et_schema::KinetoEvent;

constexpr std::string_view kRecorded = "record_param_comms";
constexpr std::string_view kOperator = "c10d::";
constexpr std::string_view kLabel = "nccl:";

/// Parts of the names of NCCL's and RCCL's kernels. Messages and all-to-alls share one kernel,
/// whose name shows neither.
struct KernelName {
  std::string_view part;
  CommKind kind;
};
constexpr auto kKernelNames =
    std::to_array<KernelName>({{"AllReduce", CommKind::kAllReduce},
                               {"ReduceScatter", CommKind::kReduceScatterBase},
                               {"AllGather", CommKind::kAllGatherBase},
                               {"Broadcast", CommKind::kBroadcast},
                               {"Reduce", CommKind::kReduce}});

/// Returns "allreduce" for "c10d::allreduce_" and "nccl:all_reduce", "send" for "nccl:send 0->1";
/// otherwise empty.
std::string_view recorded_name(std::string_view event) {
  if (!event.starts_with(kOperator) && !event.starts_with(kLabel)) {
    return {};
  }
  std::string_view word = event.substr(0, event.find(' '));
  word.remove_prefix(word.rfind(':') + 1);
  const auto known = et_schema::find_c10d_name(word);
  return known                                    ? known->name->recorded
         : et_schema::kind_of_recorded_name(word) ? word
                                                  : std::string_view();
}

class CommCompleter {
 public:
  CommCompleter(et_schema::Profile& profile, const HostEvents& host, et_schema::Losses& losses)
      : profile_(profile),
        host_(host),
        losses_(losses),
        ranks_(profile.distributed
                   ? std::clamp<std::int64_t>(profile.distributed->world_size, 1, kMostRanks)
                   : 1),
        reader_{et_schema::Arena(*profile.arena), unread_, ranks_},
        is_seen_(host.events.size()) {
    for (const KinetoComm& comm : profile.host_comms) {
      told_.insert(comm.event);
    }
  }

  bool complete() {
    for (HostIndex i = 0; i < host_.events.size();) {
      const std::string_view name = host_.source(i).name;
      const bool is_call = name == kRecorded || !recorded_name(name).empty();
      if (is_call) {
        complete_call(i);
      }
      i = is_call ? host_.events[i].behind : i + 1;
    }
    find_kernels();
    profile_.events.insert(profile_.events.end(), added_.begin(), added_.end());
    return !added_.empty();
  }

 private:
  /// `outer`: a c10d operator, a record_param_comms event or a label that is not inside another of
  /// these.
  void complete_call(HostIndex outer) {
    std::vector<HostIndex> recorded;
    HostIndex label = kNoEvent;
    bool is_told = false;
    for (HostIndex i = outer; i < host_.events[outer].behind; ++i) {
      const std::string_view name = host_.source(i).name;
      is_seen_[i] = true;
      is_told = is_told || told_.contains(host_.events[i].source);
      if (name == kRecorded) {
        recorded.push_back(i);
      } else if (label == kNoEvent && name.starts_with(kLabel)) {
        label = i;
      }
    }
    const bool is_alone = recorded.empty() && host_.source(outer).name.starts_with(kOperator);
    // Since 2.2, NCCL's communications are recorded in full; Gloo's c10d operators are read here.
    if (is_told ||
        (is_alone ? !reader_.read(host_.source(outer), {}).schema.empty() : !told_.empty())) {
      return;
    }
    if (recorded.empty()) {
      recorded.push_back(kNoEvent);
    }
    for (const HostIndex event : recorded) {
      const bool is_one = recorded.size() == 1;
      if (std::optional<KinetoComm> comm =
              comm_of({is_one ? outer : event, event, is_one ? label : kNoEvent})) {
        add(*comm, event, host_.source(outer));
      }
    }
  }

  /// Returns the communication that the events describe; the first event with a value decides.
  std::optional<KinetoComm> comm_of(const std::vector<HostIndex>& events) {
    KinetoComm comm;
    bool is_wait = false;
    for (const HostIndex index : events) {
      if (index == kNoEvent) {
        continue;
      }
      const KinetoEvent& event = host_.source(index);
      const auto known =
          event.name.starts_with(kOperator) ? et_schema::find_c10d_name(event.name) : std::nullopt;
      const bool has_output = known && known->name->layout == et_schema::C10dLayout::kOutputInput;
      comm.name = comm.name.empty() ? recorded_name(event.name) : comm.name;
      is_wait = read_numbers(event, comm) || is_wait;
      note(event, has_output ? 1 : 0, comm.in_elements, comm);
      if (has_output) {
        note(event, 0, comm.out_elements, comm);
      }
    }
    if (is_wait && comm.name.empty()) {
      comm.name = to_string(CommKind::kWait);
    }
    return whole(comm);
  }

  /// Reads the sequence number. PyTorch 1.13 to 2.2 records [tensors,] this number, process group,
  /// rank, and a text that profiles lack. Returns true for an event with neither tensors nor a
  /// group: if no operator or label names a communication, it is a wait.
  static bool read_numbers(const KinetoEvent& event, KinetoComm& comm) {
    const auto first =
        std::ranges::find(event.arguments, "Scalar", &et_schema::KinetoArgument::type);
    if (event.name != kRecorded || event.arguments.end() - first < 2) {
      return false;
    }
    const std::vector<std::int64_t> sequence = integers_in(first->value);
    comm.sequence = sequence.empty() ? -1 : sequence.front();
    const et_schema::KinetoArgument& group = *std::next(first);
    return first == event.arguments.begin() && group.type == "Scalar" &&
           (group.value.empty() || group.value == "0");
  }

  /// Adds up the elements of an argument's tensors (a label's: of all tensors) if they are unknown.
  void note(const KinetoEvent& event, std::size_t argument, std::int64_t& elements,
            KinetoComm& comm) {
    const RecordedCall call = reader_.read(event, {});
    const std::size_t end = event.name.starts_with(kLabel) ? call.inputs.size() : argument + 1;
    const bool is_known = elements >= 0;
    for (std::size_t i = argument; i < std::min(end, call.inputs.size()); ++i) {
      const std::string_view type = event.arguments[i].type;
      comm.dtype = comm.dtype.empty() && et_schema::dtype_from_cpp_name(type) ? type : comm.dtype;
      et_schema::for_each_tensor(
          call.inputs.subspan(i, is_known ? 0 : 1), [&elements](const et_schema::Tensor& tensor) {
            elements = add_times(std::max<std::int64_t>(elements, 0), tensor.numel);
          });
    }
  }

  /// Adds what follows from the kind and the number of ranks. Empty if the kind is unknown.
  std::optional<KinetoComm> whole(KinetoComm comm) {
    const auto kind = et_schema::kind_of_recorded_name(comm.name);
    if (!kind) {
      return {};
    }
    const CommSizes sizes = et_schema::traits(*kind).sizes;
    const auto parts = [&](CommSizes per_rank, CommSizes of_all, CommSizes of_root) {
      return sizes == per_rank || sizes == of_all || sizes == of_root ? ranks_ : 1;
    };
    const std::int64_t ins =
        parts(CommSizes::kInputPerRank, CommSizes::kInputOfAll, CommSizes::kInputsOfRoot);
    const std::int64_t outs =
        parts(CommSizes::kOutputPerRank, CommSizes::kOutputOfAll, CommSizes::kOutputsOfRoot);
    const auto fill = [](std::int64_t& elements, std::int64_t count, std::int64_t other,
                         std::int64_t others) {
      if (elements < 0 && (other < 0 || __builtin_mul_overflow(other / others, count, &elements))) {
        elements = -1;
      }
    };
    if (sizes == CommSizes::kNone) {
      comm.in_elements = -1;  // a barrier's buffer is not the program's
    }
    fill(comm.out_elements, outs, comm.in_elements, ins);
    fill(comm.in_elements, ins, comm.out_elements, outs);
    comm.ranks_in_group = ranks_;
    if (*kind == CommKind::kAllToAll && comm.in_elements != comm.out_elements) {
      comm.name = et_schema::to_string(CommKind::kAllToAllV);  // only sums of splits are recorded
      comm.in_splits = reader_.arena.copy(fmt::format("[{}]", comm.in_elements));
      comm.out_splits = reader_.arena.copy(fmt::format("[{}]", comm.out_elements));
    }
    if (comm.dtype.empty() && comm.in_elements >= 0) {
      comm.dtype = et_schema::cpp_name(kAssumedListType);
      losses_.add(et_schema::Loss::kAssumedArguments);
    }
    return comm;
  }

  /// `recorded`: the communication's event. If kNoEvent, adds an event of the duration of `around`.
  void add(KinetoComm comm, HostIndex recorded, const KinetoEvent& around) {
    comm.event = profile_.events.size() + added_.size();
    if (recorded != kNoEvent) {
      comm.event = host_.events[recorded].source;
    } else {
      KinetoEvent& event = added_.emplace_back(around);
      event.name = kRecorded;
      event.category_text = "cpu_op";
      event.category = KinetoCategory::kCpuOp;
      event.correlation = event.sequence = -1;
      event.arguments = {};
    }
    profile_.host_comms.push_back(comm);
  }

  /// Finds kernels of a library's operator that communicate without a c10d call.
  void find_kernels() {
    std::map<std::int64_t, std::string_view> kernels;  // recorded names by correlation
    for (const KinetoEvent& event : profile_.events) {
      if (event.category == KinetoCategory::kKernel && event.name.starts_with("nccl")) {
        const auto* const known = std::ranges::find_if(kKernelNames, [&](const KernelName& row) {
          return event.name.find(row.part) != std::string_view::npos;
        });
        kernels.emplace(event.correlation,
                        known == kKernelNames.end() ? "" : to_string(known->kind));
      }
    }
    for (std::size_t i = 0; i < profile_.events.size() && !kernels.empty(); ++i) {
      const KinetoEvent& launch = profile_.events[i];
      const auto kernel = kernels.find(launch.correlation);
      if (launch.category != KinetoCategory::kRuntime || kernel == kernels.end() ||
          is_graph_launch(launch)) {
        continue;
      }
      KinetoComm comm;
      comm.name = kernel->second;
      const HostIndex op = library_operator_around(launch);
      if (op != kNoEvent) {
        note(host_.source(op), 0, comm.in_elements, comm);
      }
      if (comm.in_elements >= 0 && !comm.name.empty()) {
        add(*whole(comm), kNoEvent, launch);
      }
    }
  }

  /// Returns kNoEvent for PyTorch's own operators, and in calls that were already seen.
  [[nodiscard]] HostIndex library_operator_around(const KinetoEvent& launch) const {
    const HostThread* const thread = host_.find_thread(launch.pid, launch.tid);
    const std::int64_t time_ns = host_.relative(launch.ts_ns);
    HostIndex index = thread == nullptr ? kNoEvent : host_.last_started(*thread, time_ns);
    while (index != kNoEvent &&
           (host_.events[index].end_ns < time_ns || !host_.events[index].is_operator)) {
      index = host_.events[index].parent;
    }
    const std::string_view name = index == kNoEvent ? "" : host_.source(index).name;
    const bool is_library = name.find("::") != std::string_view::npos && !is_seen_[index] &&
                            !name.starts_with("torch::") &&
                            et_schema::public_operators(name).empty();
    return is_library ? index : kNoEvent;
  }

  et_schema::Profile& profile_;
  const HostEvents& host_;
  et_schema::Losses& losses_;
  std::int64_t ranks_;
  et_schema::Losses unread_;  ///< losses of calls read only for sizes: counted once
  CallReader reader_;
  std::set<std::size_t> told_;  ///< events of Profile::host_comms
  std::vector<bool> is_seen_;   ///< by host event: it is in a known call
  std::vector<KinetoEvent> added_;
};

}  // namespace

bool complete_communication(et_schema::Profile& profile, const HostEvents& host,
                            et_schema::Losses& losses) {
  return CommCompleter(profile, host, losses).complete();
}

}  // namespace understudy::generator
