// Stands in for libnccl.so.2 between processes of one host, over sockets and on the streams of
// fake_cuda. Each call is done when its stream comes to it and all other ranks have come to theirs.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "backends/half.h"
#include "wires.h"

extern "C" int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data);

namespace {

using understudy::backends::BFloat16;
using understudy::backends::Float16;
using understudy::tests::Wires;
using Bytes = std::vector<std::byte>;

constexpr int kSuccess = 0;
constexpr int kRemoteError = 6;
constexpr int kInvalidArgument = 4;

enum Op { kSum, kProduct, kMax, kMin, kAvg };
enum DType {
  kInt8,
  kUInt8,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBFloat16
};

}  // namespace

struct ncclComm {
  Wires wires;
  int size;
  int rank;
  std::vector<double> factors;  ///< of premultiplied sums, whose numbers follow kAvg's
};

namespace {

std::size_t size_of(int dtype) {
  constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kSizes[dtype];
}

template <typename T>
T combined(T a, T b, int op) {
  switch (op) {
    case kProduct:
      return static_cast<T>(a * b);
    case kMax:
      return a > b ? a : b;
    case kMin:
      return a < b ? a : b;
    default:
      return static_cast<T>(a + b);
  }
}

template <typename T>
void reduce_numbers(const std::vector<Bytes>& inputs, std::byte* out, std::size_t count, int op,
                    double factor) {
  for (std::size_t i = 0; i < count; ++i) {
    T result{};
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      T number{};
      std::memcpy(&number, inputs[rank].data() + i * sizeof(T), sizeof(T));
      result = rank == 0 ? number : combined(result, number, op);
    }
    if (op == kAvg) {
      result = static_cast<T>(result / static_cast<T>(inputs.size()));
    } else if (factor != 1) {
      result = static_cast<T>(static_cast<double>(result) * factor);
    }
    std::memcpy(out + i * sizeof(T), &result, sizeof(T));
  }
}

template <typename Half>
void reduce_halves(const std::vector<Bytes>& inputs, std::byte* out, std::size_t count, int op,
                   double factor) {
  std::vector<Bytes> wide;
  for (const Bytes& input : inputs) {
    wide.emplace_back(count * sizeof(float));
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, input.data() + i * sizeof bits, sizeof bits);
      const float number = Half::to_float(bits);
      std::memcpy(wide.back().data() + i * sizeof number, &number, sizeof number);
    }
  }
  Bytes result(count * sizeof(float));
  reduce_numbers<float>(wide, result.data(), count, op, factor);
  for (std::size_t i = 0; i < count; ++i) {
    float number = 0;
    std::memcpy(&number, result.data() + i * sizeof number, sizeof number);
    const std::uint16_t bits = Half::from_float(number);
    std::memcpy(out + i * sizeof bits, &bits, sizeof bits);
  }
}

void reduce(const ncclComm* comm, const std::vector<Bytes>& inputs, std::byte* out,
            std::size_t count, int dtype, int op) {
  const double factor = op > kAvg ? comm->factors.at(static_cast<std::size_t>(op - kAvg - 1)) : 1;
  switch (dtype) {
    case kInt8:
      return reduce_numbers<std::int8_t>(inputs, out, count, op, factor);
    case kUInt8:
      return reduce_numbers<std::uint8_t>(inputs, out, count, op, factor);
    case kInt32:
      return reduce_numbers<std::int32_t>(inputs, out, count, op, factor);
    case kUInt32:
      return reduce_numbers<std::uint32_t>(inputs, out, count, op, factor);
    case kInt64:
      return reduce_numbers<std::int64_t>(inputs, out, count, op, factor);
    case kUInt64:
      return reduce_numbers<std::uint64_t>(inputs, out, count, op, factor);
    case kFloat16:
      return reduce_halves<Float16>(inputs, out, count, op, factor);
    case kFloat32:
      return reduce_numbers<float>(inputs, out, count, op, factor);
    case kFloat64:
      return reduce_numbers<double>(inputs, out, count, op, factor);
    case kBFloat16:
      return reduce_halves<BFloat16>(inputs, out, count, op, factor);
    default:
      return;
  }
}

std::byte* writable(const void* data) {
  return static_cast<std::byte*>(const_cast<void*>(data));
}

/// The work of a group or of a single call on its stream.
struct Launch {
  ncclComm* comm = nullptr;
  void* stream = nullptr;
  std::vector<std::function<void()>> collectives;
  std::vector<Wires::Transfer> transfers;
};

struct Groups {
  int depth = 0;
  std::vector<Launch> launches;

  Launch& launch(ncclComm* comm, void* stream) {
    for (Launch& each : launches) {
      if (each.comm == comm && each.stream == stream) {
        return each;
      }
    }
    launches.push_back({comm, stream, {}, {}});
    return launches.back();
  }
  void end_if_outermost() {
    if (depth > 0) {
      return;
    }
    for (Launch& each : launches) {
      cuLaunchHostFunc(
          each.stream,
          [](void* data) {
            const std::unique_ptr<Launch> own(static_cast<Launch*>(data));
            for (const auto& collective : own->collectives) {
              collective();
            }
            static_cast<void>(own->comm->wires.move(own->transfers));
          },
          std::make_unique<Launch>(std::move(each)).release());
    }
    launches.clear();
  }
};
thread_local Groups groups;

/// Sends part r of `inputs` to rank r; returns what came from each. Empty: it was ended.
std::vector<Bytes> exchange(ncclComm* comm, const std::vector<Wires::Transfer>& inputs,
                            const std::vector<std::size_t>& expected) {
  std::vector<Bytes> got;
  std::vector<Wires::Transfer> transfers = inputs;
  for (int rank = 0; rank < comm->size; ++rank) {
    got.emplace_back(expected[static_cast<std::size_t>(rank)]);
    transfers.push_back({rank, got.back().data(), got.back().size(), false});
  }
  if (!comm->wires.move(transfers)) {
    got.clear();
  }
  return got;
}

std::vector<Wires::Transfer> to_all(ncclComm* comm, const void* from, std::size_t bytes) {
  std::vector<Wires::Transfer> sends;
  for (int rank = 0; rank < comm->size; ++rank) {
    sends.push_back({rank, writable(from), bytes, true});
  }
  return sends;
}

int add(ncclComm* comm, void* stream, std::function<void()> collective) {
  groups.launch(comm, stream).collectives.push_back(std::move(collective));
  groups.end_if_outermost();
  return kSuccess;
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
int ncclCommInitRank(ncclComm** comm, int size, UniqueId id, int rank) {
  if (rank < 0 || rank >= size) {
    return kInvalidArgument;
  }
  *comm = new ncclComm{Wires(id.bytes, size, rank), size, rank, {}};
  return kSuccess;
}
int ncclCommDestroy(ncclComm* comm) {
  delete comm;
  return kSuccess;
}
int ncclCommAbort(ncclComm* comm) {
  comm->wires.abort();  // a stream may still use it: it is never freed
  return kSuccess;
}
int ncclCommGetAsyncError(ncclComm* comm, int* status) {
  *status = comm->wires.has_lost_peer() ? kRemoteError : kSuccess;
  return kSuccess;
}
int ncclRedOpCreatePreMulSum(int* op, void* scalar, int dtype, int residence, ncclComm* comm) {
  constexpr int kHostImmediate = 1;
  if (residence != kHostImmediate) {
    return kInvalidArgument;
  }
  std::uint16_t half = 0;
  float single = 0;
  double factor = 0;
  switch (dtype) {
    case kBFloat16:
      std::memcpy(&half, scalar, sizeof half);
      factor = static_cast<double>(BFloat16::to_float(half));
      break;
    case kFloat32:
      std::memcpy(&single, scalar, sizeof single);
      factor = static_cast<double>(single);
      break;
    case kFloat64:
      std::memcpy(&factor, scalar, sizeof factor);
      break;
    default:
      return kInvalidArgument;
  }
  comm->factors.push_back(factor);
  *op = kAvg + static_cast<int>(comm->factors.size());
  return kSuccess;
}
int ncclGroupStart() {
  ++groups.depth;
  return kSuccess;
}
int ncclGroupEnd() {
  --groups.depth;
  groups.end_if_outermost();
  return kSuccess;
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int dtype, int op, ncclComm* comm,
                  void* stream) {
  return add(comm, stream, [=] {
    const std::size_t bytes = count * size_of(dtype);
    const auto got = exchange(comm, to_all(comm, from, bytes), repeated(bytes, comm->size));
    if (!got.empty()) {
      reduce(comm, got, static_cast<std::byte*>(to), count, dtype, op);
    }
  });
}

int ncclReduce(const void* from, void* to, std::size_t count, int dtype, int op, int root,
               ncclComm* comm, void* stream) {
  return add(comm, stream, [=] {
    const std::size_t bytes = count * size_of(dtype);
    const auto got = exchange(comm, {{root, writable(from), bytes, true}},
                              repeated(comm->rank == root ? bytes : 0, comm->size));
    if (!got.empty() && comm->rank == root) {
      reduce(comm, got, static_cast<std::byte*>(to), count, dtype, op);
    }
  });
}

int ncclReduceScatter(const void* from, void* to, std::size_t count, int dtype, int op,
                      ncclComm* comm, void* stream) {
  return add(comm, stream, [=] {
    const std::size_t bytes = count * size_of(dtype);
    std::vector<Wires::Transfer> sends;
    for (int rank = 0; rank < comm->size; ++rank) {
      sends.push_back({rank, writable(from) + static_cast<std::size_t>(rank) * bytes, bytes, true});
    }
    const auto got = exchange(comm, sends, repeated(bytes, comm->size));
    if (!got.empty()) {
      reduce(comm, got, static_cast<std::byte*>(to), count, dtype, op);
    }
  });
}

int ncclBroadcast(const void* from, void* to, std::size_t count, int dtype, int root,
                  ncclComm* comm, void* stream) {
  return add(comm, stream, [=] {
    const std::size_t bytes = count * size_of(dtype);
    const bool is_root = comm->rank == root;
    std::vector<std::size_t> expected = repeated(0, comm->size);
    expected[static_cast<std::size_t>(root)] = bytes;
    const auto got = exchange(
        comm, is_root ? to_all(comm, from, bytes) : std::vector<Wires::Transfer>(), expected);
    if (!got.empty()) {
      std::memcpy(to, got[static_cast<std::size_t>(root)].data(), bytes);
    }
  });
}

int ncclAllGather(const void* from, void* to, std::size_t count, int dtype, ncclComm* comm,
                  void* stream) {
  return add(comm, stream, [=] {
    const std::size_t bytes = count * size_of(dtype);
    const auto got = exchange(comm, to_all(comm, from, bytes), repeated(bytes, comm->size));
    for (std::size_t rank = 0; rank < got.size(); ++rank) {
      std::memcpy(static_cast<std::byte*>(to) + rank * bytes, got[rank].data(), bytes);
    }
  });
}

int ncclSend(const void* from, std::size_t count, int dtype, int peer, ncclComm* comm,
             void* stream) {
  groups.launch(comm, stream)
      .transfers.push_back({peer, writable(from), count * size_of(dtype), true});
  groups.end_if_outermost();
  return kSuccess;
}

int ncclRecv(void* to, std::size_t count, int dtype, int peer, ncclComm* comm, void* stream) {
  groups.launch(comm, stream)
      .transfers.push_back({peer, static_cast<std::byte*>(to), count * size_of(dtype), false});
  groups.end_if_outermost();
  return kSuccess;
}

}  // extern "C"
