// Stands in for libnccl.so.2 between processes of one host, over sockets and on the streams of the
// played card. Each call is done when its stream comes to it and all other ranks have come to
// theirs. Rules of NCCL that a caller can break are kept: a communicator that does not block is in
// progress after it was started, split, and used for the first time, and takes no call until then;
// aborting one frees it, and waits for the device, on which another one may stand still; a call on
// one that was freed ends the process.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "replayer/backends/interface/half.h"
#include "replayer/backends/ranks/reduce_local.h"
#include "wires.h"

extern "C" int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data);
extern "C" int cudaDeviceSynchronize();

namespace {

using understudy::backends::BFloat16;
using understudy::backends::Buffer;
using understudy::backends::Float16;
using understudy::backends::ReduceOp;
using understudy::et_schema::DType;
using understudy::tests::Wires;
using Bytes = std::vector<std::byte>;

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 4;
constexpr int kRemoteError = 6;
constexpr int kInProgress = 7;

// In the order of ncclDataType_t and ncclRedOp_t.
constexpr std::array kDTypes = {DType::kInt8,    DType::kUInt8,   DType::kInt32,   DType::kUInt32,
                                DType::kInt64,   DType::kUInt64,  DType::kFloat16, DType::kFloat32,
                                DType::kFloat64, DType::kBFloat16};
constexpr std::array kOps = {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMax, ReduceOp::kMin,
                             ReduceOp::kAvg};

}  // namespace

struct ncclComm {
  std::shared_ptr<Wires> wires;
  int size;
  int rank;
  bool blocks = true;
  std::vector<double> factors = {};  ///< of premultiplied sums, whose numbers follow those of kOps
  std::set<void*> registered = {};
  bool is_used = false;  ///< some call has been launched
  std::atomic<bool> is_in_progress = false;
  std::thread background = {};

  /// Does `work` now, or in the background where the communicator does not block.
  int progress(std::function<void()> work) {
    if (blocks) {
      work();
      return kSuccess;
    }
    if (background.joinable()) {
      background.join();
    }
    is_in_progress = true;
    background = std::thread([this, work = std::move(work)] {
      work();
      is_in_progress = false;
    });
    return kInProgress;
  }
  int connect() {
    return progress([this] { static_cast<void>(wires->connect()); });
  }
};

namespace {

DType dtype_of(int dtype) {
  return kDTypes.at(static_cast<std::size_t>(dtype));
}

std::size_t size_of(int dtype) {
  return static_cast<std::size_t>(understudy::et_schema::item_size(dtype_of(dtype)));
}

/// With a factor it is a sum of elements that are multiplied by it.
void reduce(const std::vector<Bytes>& inputs, std::byte* out, std::size_t count, int dtype, int op,
            double factor) {
  const auto number = static_cast<std::size_t>(op);
  const ReduceOp how = number < kOps.size() ? kOps.at(number) : ReduceOp::kSum;
  const Buffer result{out, static_cast<std::int64_t>(count), dtype_of(dtype)};
  std::memcpy(out, inputs.front().data(), inputs.front().size());
  for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
    reduce_local(result, inputs[rank].data(), how);
  }
  scale(result, how == ReduceOp::kAvg ? static_cast<int>(inputs.size()) : 1, factor);
}

std::byte* writable(const void* data) {
  return static_cast<std::byte*>(const_cast<void*>(data));
}

std::mutex living_mutex;
std::set<const ncclComm*> living;
std::vector<std::string> log_lines;

void log(std::string line) {
  const std::lock_guard lock(living_mutex);
  log_lines.push_back(std::move(line));
}

ncclComm* born(std::string name, int size, int rank, bool blocks) {
  auto* const comm = new ncclComm{std::make_shared<Wires>(std::move(name), size, rank), size, rank};
  comm->blocks = blocks;
  const std::lock_guard lock(living_mutex);
  living.insert(comm);
  return comm;
}

/// Ends the process where NCCL would touch memory that it has freed.
void must_live(const ncclComm* comm) {
  const std::lock_guard lock(living_mutex);
  if (!living.contains(comm)) {
    std::fputs("fake NCCL: a call on a communicator that was freed\n", stderr);
    std::abort();
  }
}

double factor_of(const ncclComm* comm, int op) {
  must_live(comm);
  const auto number = static_cast<std::size_t>(op);
  return number < kOps.size() ? 1 : comm->factors.at(number - kOps.size());
}

void bury(ncclComm* comm) {
  {
    const std::lock_guard lock(living_mutex);
    living.erase(comm);
  }
  if (comm->background.joinable()) {
    comm->background.join();
  }
  delete comm;
}

/// What the calls on the device need of a communicator; it may be freed before they end.
struct Ranks {
  std::shared_ptr<Wires> wires;
  int size;
  int rank;
  explicit Ranks(const ncclComm* comm) : wires(comm->wires), size(comm->size), rank(comm->rank) {}
};

/// The work of a group or of a single call on its stream.
struct Launch {
  ncclComm* comm = nullptr;
  void* stream = nullptr;
  std::vector<std::function<void()>> collectives;
  std::vector<Wires::Transfer> transfers;
  std::string names;  ///< of its calls, for the log
  std::shared_ptr<Wires> wires;

  void start() {
    cudaLaunchHostFunc(
        stream,
        [](void* data) {
          const std::unique_ptr<Launch> own(static_cast<Launch*>(data));
          for (const auto& collective : own->collectives) {
            collective();
          }
          static_cast<void>(own->wires->move(own->transfers));
        },
        std::make_unique<Launch>(*this).release());
  }
};

struct Groups {
  int depth = 0;
  std::vector<Launch> launches;
  std::vector<ncclComm*> aborted;

  Launch& launch(ncclComm* comm, void* stream) {
    for (Launch& each : launches) {
      if (each.comm == comm && each.stream == stream) {
        return each;
      }
    }
    launches.push_back({comm, stream, {}, {}, {}, comm->wires});
    return launches.back();
  }
  int end_if_outermost() {
    if (depth > 0) {
      return kSuccess;
    }
    int status = kSuccess;
    for (Launch& each : launches) {
      std::this_thread::sleep_for(std::chrono::microseconds(1));  // others have a turn meanwhile
      must_live(each.comm);
      log(std::to_string(each.comm->rank) + " of " + std::to_string(each.comm->size) + ":" +
          each.names);
      if (std::exchange(each.comm->is_used, true)) {
        each.start();
      } else {
        status = std::max(status, each.comm->progress([launch = each]() mutable {
          // Connections are made at first use.
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          launch.start();
        }));
      }
    }
    launches.clear();
    for (ncclComm* const comm : aborted) {
      comm->wires->abort();
    }
    if (!aborted.empty()) {
      cudaDeviceSynchronize();  // freeing memory of the device waits for it
    }
    for (ncclComm* const comm : aborted) {
      bury(comm);
    }
    aborted.clear();
    return status;
  }
};
thread_local Groups groups;

/// Sends part r of `inputs` to rank r; returns what came from each. Empty: it was ended.
std::vector<Bytes> exchange(const Ranks& comm, const std::vector<Wires::Transfer>& inputs,
                            const std::vector<std::size_t>& expected) {
  std::vector<Bytes> got;
  std::vector<Wires::Transfer> transfers = inputs;
  for (int rank = 0; rank < comm.size; ++rank) {
    got.emplace_back(expected[static_cast<std::size_t>(rank)]);
    transfers.push_back({rank, got.back().data(), got.back().size(), false});
  }
  if (!comm.wires->move(transfers)) {
    got.clear();
  }
  return got;
}

std::vector<Wires::Transfer> to_all(const Ranks& comm, const void* from, std::size_t bytes) {
  std::vector<Wires::Transfer> sends;
  for (int rank = 0; rank < comm.size; ++rank) {
    sends.push_back({rank, writable(from), bytes, true});
  }
  return sends;
}

/// Adds a call to the group that is open, or launches it.
int add(ncclComm* comm, void* stream, std::function<void()> collective) {
  must_live(comm);
  if (comm->is_in_progress) {
    return kInvalidArgument;
  }
  Launch& launch = groups.launch(comm, stream);
  launch.collectives.push_back(std::move(collective));
  launch.names += " collective";
  return groups.end_if_outermost();
}

int add(ncclComm* comm, void* stream, Wires::Transfer transfer) {
  must_live(comm);
  if (comm->is_in_progress) {
    return kInvalidArgument;
  }
  Launch& launch = groups.launch(comm, stream);
  launch.transfers.push_back(transfer);
  launch.names += (transfer.is_send ? " send " : " recv ") + std::to_string(transfer.peer);
  return groups.end_if_outermost();
}

std::vector<std::size_t> repeated(std::size_t number, int times) {
  return std::vector<std::size_t>(static_cast<std::size_t>(times), number);
}

}  // namespace

extern "C" {

struct UniqueId {
  char bytes[128];
};

int ncclGetVersion(int* version) {
  *version = 22809;
  return kSuccess;
}
const char* ncclGetErrorString(int status) {
  return status == kRemoteError ? "remote process exited or there was a network error"
                                : "invalid argument";
}
const char* ncclGetLastError(ncclComm*) {
  return "";
}
int ncclGetUniqueId(UniqueId* id) {
  static std::atomic<int> number = 0;
  *id = {};
  std::snprintf(id->bytes, sizeof id->bytes, "understudy-nccl-%d-%d", static_cast<int>(getpid()),
                ++number);
  return kSuccess;
}
struct Config {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

int ncclCommInitRankConfig(ncclComm** comm, int size, UniqueId id, int rank, const Config* config) {
  if (rank < 0 || rank >= size || config->size < sizeof(Config) || config->magic != 0xcafebeef) {
    return kInvalidArgument;
  }
  log("init " + std::to_string(rank) + " of " + std::to_string(size));
  *comm = born(id.bytes, size, rank, config->blocking != 0);
  return (*comm)->connect();
}
int ncclCommRegister(ncclComm* comm, void* data, std::size_t bytes, void** handle) {
  must_live(comm);
  log("register " + std::to_string(bytes));
  comm->registered.insert(data);
  *handle = data;
  return kSuccess;
}
int ncclCommDeregister(ncclComm* comm, void* handle) {
  must_live(comm);
  return comm->registered.erase(handle) == 1 ? kSuccess : kInvalidArgument;
}
int ncclCommCount(const ncclComm* comm, int* size) {
  must_live(comm);
  *size = comm->size;
  return kSuccess;
}
int ncclCommUserRank(const ncclComm* comm, int* rank) {
  must_live(comm);
  *rank = comm->rank;
  return kSuccess;
}
int ncclCommFinalize(ncclComm* comm) {
  must_live(comm);
  return comm->is_in_progress ? kInvalidArgument : kSuccess;
}
int ncclCommDestroy(ncclComm* comm) {
  must_live(comm);
  bury(comm);
  return kSuccess;
}
int ncclCommAbort(ncclComm* comm) {
  must_live(comm);
  groups.aborted.push_back(comm);
  return groups.end_if_outermost();
}
int ncclCommGetAsyncError(ncclComm* comm, int* status) {
  must_live(comm);
  *status = comm->wires->has_lost_peer() ? kRemoteError
            : comm->is_in_progress       ? kInProgress
                                         : kSuccess;
  return kSuccess;
}
/// What this process did since it last asked, a line each.
const char* fake_nccl_log() {
  static std::string text;
  const std::lock_guard lock(living_mutex);
  text.clear();
  for (const std::string& line : std::exchange(log_lines, {})) {
    text += line + "\n";
  }
  return text.c_str();
}
int ncclRedOpCreatePreMulSum(int* op, void* scalar, int dtype, int residence, ncclComm* comm) {
  constexpr int kHostImmediate = 1;
  if (residence != kHostImmediate) {
    return kInvalidArgument;
  }
  std::uint16_t half = 0;
  float single = 0;
  double factor = 0;
  switch (dtype_of(dtype)) {
    case DType::kBFloat16:
      std::memcpy(&half, scalar, sizeof half);
      factor = static_cast<double>(BFloat16::to_float(half));
      break;
    case DType::kFloat16:
      std::memcpy(&half, scalar, sizeof half);
      factor = static_cast<double>(Float16::to_float(half));
      break;
    case DType::kFloat32:
      std::memcpy(&single, scalar, sizeof single);
      factor = static_cast<double>(single);
      break;
    case DType::kFloat64:
      std::memcpy(&factor, scalar, sizeof factor);
      break;
    default:
      return kInvalidArgument;
  }
  comm->factors.push_back(factor);
  *op = static_cast<int>(kOps.size() + comm->factors.size() - 1);
  return kSuccess;
}
int ncclGroupStart() {
  ++groups.depth;
  return kSuccess;
}
int ncclGroupEnd() {
  --groups.depth;
  return groups.end_if_outermost();
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int dtype, int op, ncclComm* comm,
                  void* stream) {
  return add(comm, stream, [=, ranks = Ranks(comm), factor = factor_of(comm, op)] {
    const std::size_t bytes = count * size_of(dtype);
    const auto got = exchange(ranks, to_all(ranks, from, bytes), repeated(bytes, ranks.size));
    if (!got.empty()) {
      reduce(got, static_cast<std::byte*>(to), count, dtype, op, factor);
    }
  });
}

int ncclReduce(const void* from, void* to, std::size_t count, int dtype, int op, int root,
               ncclComm* comm, void* stream) {
  return add(comm, stream, [=, ranks = Ranks(comm), factor = factor_of(comm, op)] {
    const std::size_t bytes = count * size_of(dtype);
    const auto got = exchange(ranks, {{root, writable(from), bytes, true}},
                              repeated(ranks.rank == root ? bytes : 0, ranks.size));
    if (!got.empty() && ranks.rank == root) {
      reduce(got, static_cast<std::byte*>(to), count, dtype, op, factor);
    }
  });
}

int ncclReduceScatter(const void* from, void* to, std::size_t count, int dtype, int op,
                      ncclComm* comm, void* stream) {
  return add(comm, stream, [=, ranks = Ranks(comm), factor = factor_of(comm, op)] {
    const std::size_t bytes = count * size_of(dtype);
    std::vector<Wires::Transfer> sends;
    for (int rank = 0; rank < ranks.size; ++rank) {
      sends.push_back({rank, writable(from) + static_cast<std::size_t>(rank) * bytes, bytes, true});
    }
    const auto got = exchange(ranks, sends, repeated(bytes, ranks.size));
    if (!got.empty()) {
      reduce(got, static_cast<std::byte*>(to), count, dtype, op, factor);
    }
  });
}

int ncclBroadcast(const void* from, void* to, std::size_t count, int dtype, int root,
                  ncclComm* comm, void* stream) {
  return add(comm, stream, [=, ranks = Ranks(comm)] {
    const std::size_t bytes = count * size_of(dtype);
    const bool is_root = ranks.rank == root;
    std::vector<std::size_t> expected = repeated(0, ranks.size);
    expected[static_cast<std::size_t>(root)] = bytes;
    const auto got = exchange(
        ranks, is_root ? to_all(ranks, from, bytes) : std::vector<Wires::Transfer>(), expected);
    if (!got.empty()) {
      std::memcpy(to, got[static_cast<std::size_t>(root)].data(), bytes);
    }
  });
}

int ncclBcast(void* data, std::size_t count, int dtype, int root, ncclComm* comm, void* stream) {
  return ncclBroadcast(data, data, count, dtype, root, comm, stream);
}

int ncclAllGather(const void* from, void* to, std::size_t count, int dtype, ncclComm* comm,
                  void* stream) {
  return add(comm, stream, [=, ranks = Ranks(comm)] {
    const std::size_t bytes = count * size_of(dtype);
    const auto got = exchange(ranks, to_all(ranks, from, bytes), repeated(bytes, ranks.size));
    for (std::size_t rank = 0; rank < got.size(); ++rank) {
      std::memcpy(static_cast<std::byte*>(to) + rank * bytes, got[rank].data(), bytes);
    }
  });
}

int ncclSend(const void* from, std::size_t count, int dtype, int peer, ncclComm* comm,
             void* stream) {
  return add(comm, stream, {peer, writable(from), count * size_of(dtype), true});
}

int ncclRecv(void* to, std::size_t count, int dtype, int peer, ncclComm* comm, void* stream) {
  return add(comm, stream, {peer, static_cast<std::byte*>(to), count * size_of(dtype), false});
}

int ncclAlltoAll(const void* from, void* to, std::size_t count, int dtype, ncclComm* comm,
                 void* stream) {
  const std::size_t bytes = count * size_of(dtype);
  ncclGroupStart();
  for (int rank = 0; rank < comm->size; ++rank) {
    const std::size_t offset = static_cast<std::size_t>(rank) * bytes;
    ncclSend(writable(from) + offset, count, dtype, rank, comm, stream);
    ncclRecv(static_cast<std::byte*>(to) + offset, count, dtype, rank, comm, stream);
  }
  return ncclGroupEnd();
}

int ncclRedOpDestroy(int, ncclComm*) {
  return kSuccess;
}

}  // extern "C"
