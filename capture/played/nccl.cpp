// NCCL of a rank alone: it has as many others as it says, and they have what it has. Each group of
// calls is a kernel; small messages that are known stay known on their way.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "capture/played/issue.h"

namespace {

/// What a ncclComm_t points to.
struct Communicator {
  int ranks;
  int rank;
};

Communicator& of(ncclComm_t comm) {
  return *reinterpret_cast<Communicator*>(comm);
}

ncclComm_t make(int ranks, int rank) {
  return reinterpret_cast<ncclComm_t>(new Communicator{ranks, rank});
}

constexpr std::size_t kMostBytes = 1U << 20;  // of a message that is really copied

enum Form {
  kAllReduce,
  kReduceScatter,
  kReduce,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kGather,
  kSend,
  kRecv
};

struct Call {
  Form form;
  const void* from;
  void* to;  ///< null if nothing arrives here
  std::size_t count;
  ncclDataType_t type;
  ncclComm_t comm;
  cudaStream_t stream;
  int peer = 0;  ///< or the root
  ncclRedOp_t reduction = ncclSum;
};

/// As kernels name it: whole numbers of both signs have one.
struct Type {
  const char* name;
  std::size_t bytes;
};
constexpr Type kTypes[ncclNumTypes] = {{"u8", 1},  {"u8", 1},   {"u32", 4},    {"u32", 4},
                                       {"u64", 8}, {"u64", 8},  {"f16", 2},    {"f32", 4},
                                       {"f64", 8}, {"bf16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1}};

std::size_t bytes_of(const Call& call) {
  return call.count * kTypes[call.type].bytes;
}

/// As NCCL names its kernels, without algorithm and protocol, which depend on the machine. A gather
/// to one rank and an all-to-all are messages.
std::string kernel_of(const Call& call) {
  static constexpr const char* kForms[] = {"AllReduce", "ReduceScatter", "Reduce", "AllGather",
                                           "Broadcast"};
  static constexpr const char* kReductions[] = {"Sum", "Prod", "MinMax", "MinMax", "PreMulSum"};
  std::string name = "ncclDevKernel_";
  name += call.form <= kBroadcast ? kForms[call.form] : "SendRecv";
  if (call.form <= kReduce) {
    name += fmt::format("_{}_{}", kReductions[std::min<int>(call.reduction, ncclAvg)],
                        kTypes[call.type].name);
  }
  return name;
}

struct Arrival {
  const void* from;  ///< of this rank
  void* to;
  std::size_t bytes;
};

/// What another rank sends to `call` is what this one sends likewise in the same group, if it does.
std::vector<Arrival> find_partner(std::span<const Call> group, const Call& call) {
  for (const Call& other : group) {
    const bool matches = call.form == kRecv
                             ? other.form == kSend && other.peer == call.peer
                             : other.form == call.form && other.peer == of(other.comm).rank;
    if (matches && other.comm == call.comm && bytes_of(other) == bytes_of(call)) {
      return {{other.from, call.to, bytes_of(call)}};
    }
  }
  return {};
}

std::vector<Arrival> find_arrivals(std::span<const Call> group, const Call& call) {
  const auto* from = static_cast<const char*>(call.from);
  const auto bytes = bytes_of(call);
  const auto ranks = static_cast<std::size_t>(of(call.comm).ranks);
  const bool is_of_all = call.form == kAllGather || call.form == kGather || call.form == kAllToAll;
  if (call.to == nullptr || bytes * (is_of_all ? ranks : 1) > kMostBytes) {
    return {};
  }
  std::vector<Arrival> arrivals;
  switch (call.form) {
    case kAllReduce:
    case kReduce:
      return {{from, call.to, bytes}};
    case kAllToAll:
      return {{from, call.to, bytes * ranks}};
    case kReduceScatter:
      return {{from + static_cast<std::size_t>(of(call.comm).rank) * bytes, call.to, bytes}};
    case kAllGather:
    case kGather:
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        arrivals.push_back({from, static_cast<char*>(call.to) + rank * bytes, bytes});
      }
      return arrivals;
    default:
      return find_partner(group, call);
  }
}

template <typename T>
bool multiply(const Arrival& sums, int ranks) {
  auto* numbers = static_cast<T*>(sums.to);
  std::for_each(numbers, numbers + sums.bytes / sizeof(T),
                [ranks](T& number) { number *= static_cast<T>(ranks); });
  return true;
}

/// Reduces what all ranks have alike; false if the result is not known.
bool reduce(const Call& call, const Arrival& sums) {
  const bool is_same = call.reduction >= ncclMax && call.reduction <= ncclAvg;
  if (call.form > kReduce || is_same) {
    return true;
  }
  if (call.reduction != ncclSum) {
    return false;
  }
  switch (call.type) {
    case ncclInt32:
      return multiply<std::uint32_t>(sums, of(call.comm).ranks);
    case ncclInt64:
      return multiply<std::uint64_t>(sums, of(call.comm).ranks);
    case ncclFloat32:
      return multiply<float>(sums, of(call.comm).ranks);
    default:
      return false;
  }
}

/// One kernel for the calls of a group that are of a communicator, named by its first collective.
void issue(std::span<const Call> calls) {
  const auto named =
      std::find_if(calls.begin(), calls.end(), [](const Call& call) { return call.form < kSend; });
  const Call& first = named == calls.end() ? calls.front() : *named;
  std::size_t bytes = 0;
  std::vector<const void*> written;
  for (const Call& call : calls) {
    bytes += bytes_of(call);
    written.push_back(call.to);
  }
  const auto label = fmt::format("{}({} bytes, {} calls, {} ranks)", kernel_of(first), bytes,
                                 calls.size(), of(first.comm).ranks);
  played::issue(label, first.stream, written.data(), written.size());
}

void run(std::vector<Call> group) {
  std::vector<std::pair<Call, Arrival>> known;
  for (const Call& call : group) {
    for (const Arrival& arrival : find_arrivals(group, call)) {
      if (played_is_capturing() == 0 && played_is_assumed(arrival.from, arrival.bytes) == 0) {
        known.emplace_back(call, arrival);
      }
    }
  }
  std::ranges::stable_sort(group, {}, &Call::comm);
  for (auto begin = group.begin(); begin != group.end();) {
    const auto end = std::find_if(begin, group.end(),
                                  [&](const Call& call) { return call.comm != begin->comm; });
    issue({begin, end});
    begin = end;
  }
  for (const auto& [call, arrival] : known) {
    std::memmove(arrival.to, arrival.from, arrival.bytes);
    if (reduce(call, arrival)) {
      played_know(arrival.to, arrival.bytes);
    }
  }
}

thread_local int depth = 0;
thread_local std::vector<Call> open_group;

/// Calls of a group run at its end.
void add(const Call& call) {
  if (depth > 0) {
    open_group.push_back(call);
  } else {
    run({call});
  }
}

void end_group() {
  if (--depth == 0 && !open_group.empty()) {
    run(std::exchange(open_group, {}));
  }
}

}  // namespace

#define PLAYED_NCCL(name, parameters, ...) \
  PLAYED_DONE(ncclResult_t, nccl##name, parameters, __VA_ARGS__)

extern "C" {

PLAYED_NCCL(GetVersion, (int* version), *version = NCCL_VERSION_CODE)
PLAYED_NCCL(GetUniqueId, (ncclUniqueId * id), *id = {})
PLAYED_NCCL(CommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId, int rank),
            *comm = make(ranks, rank))
PLAYED_NCCL(CommInitRankConfig,
            (ncclComm_t * comm, int ranks, ncclUniqueId, int rank, ncclConfig_t*),
            *comm = make(ranks, rank))
PLAYED_NCCL(CommInitRankScalable,
            (ncclComm_t * comm, int ranks, int rank, int, ncclUniqueId*, ncclConfig_t*),
            *comm = make(ranks, rank))
PLAYED_NCCL(CommInitAll, (ncclComm_t * comms, int ranks, const int*),
            for (int rank = 0; rank < ranks; ++rank) comms[rank] = make(ranks, rank))
PLAYED_NCCL(CommDestroy, (ncclComm_t comm), delete &of(comm))
PLAYED_NCCL(CommAbort, (ncclComm_t comm), delete &of(comm))
PLAYED_NCCL(CommGetAsyncError, (ncclComm_t, ncclResult_t* error), *error = ncclSuccess)
PLAYED_NCCL(CommCount, (const ncclComm_t comm, int* ranks), *ranks = of(comm).ranks)
PLAYED_NCCL(CommUserRank, (const ncclComm_t comm, int* rank), *rank = of(comm).rank)
PLAYED_NCCL(CommRegister, (const ncclComm_t, void* buffer, std::size_t, void** handle),
            *handle = buffer)
PLAYED_CALL(ncclResult_t, ncclMemAlloc, (void** at, std::size_t bytes),
            cudaMalloc(at, bytes) == cudaSuccess ? ncclSuccess : ncclSystemError)
PLAYED_NCCL(MemFree, (void* at), cudaFree(at))
PLAYED_NCCL(RedOpCreatePreMulSum,
            (ncclRedOp_t * reduction, void*, ncclDataType_t, ncclScalarResidence_t, ncclComm_t),
            *reduction = ncclNumOps)
PLAYED_NCCL(GroupStart, (), ++depth)
PLAYED_NCCL(GroupEnd, (), end_group())
PLAYED_NCCL(AllReduce,
            (const void* from, void* to, std::size_t count, ncclDataType_t type,
             ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream),
            add({kAllReduce, from, to, count, type, comm, stream, 0, reduction}))
PLAYED_NCCL(ReduceScatter,
            (const void* from, void* to, std::size_t count, ncclDataType_t type,
             ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream),
            add({kReduceScatter, from, to, count, type, comm, stream, 0, reduction}))
PLAYED_NCCL(Reduce,
            (const void* from, void* to, std::size_t count, ncclDataType_t type,
             ncclRedOp_t reduction, int root, ncclComm_t comm, cudaStream_t stream),
            add({kReduce, from, root == of(comm).rank ? to : nullptr, count, type, comm, stream,
                 root, reduction}))
PLAYED_NCCL(AllGather,
            (const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
             cudaStream_t stream),
            add({kAllGather, from, to, count, type, comm, stream}))
PLAYED_NCCL(AlltoAll,
            (const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
             cudaStream_t stream),
            add({kAllToAll, from, to, count, type, comm, stream}))
PLAYED_NCCL(Broadcast,
            (const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
             ncclComm_t comm, cudaStream_t stream),
            add({kBroadcast, from, to, count, type, comm, stream, root}))
PLAYED_NCCL(Bcast,
            (void* at, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
             cudaStream_t stream),
            add({kBroadcast, at, at, count, type, comm, stream, root}))
PLAYED_NCCL(Gather,
            (const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
             ncclComm_t comm, cudaStream_t stream),
            add({kGather, from, root == of(comm).rank ? to : nullptr, count, type, comm, stream,
                 root}))
PLAYED_NCCL(Send,
            (const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
             cudaStream_t stream),
            add({kSend, from, nullptr, count, type, comm, stream, peer}))
PLAYED_NCCL(Recv,
            (void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
             cudaStream_t stream),
            add({kRecv, nullptr, to, count, type, comm, stream, peer}))
}
