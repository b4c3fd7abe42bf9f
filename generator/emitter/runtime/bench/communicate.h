#pragma once

// The collectives and messages of a step.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comms.h"
#include "tensors.h"

namespace bench {

enum class Kind {
  kAllReduce,
  kBroadcast,
  kReduce,
  kAllGather,
  kAllGatherBase,
  kReduceScatter,
  kReduceScatterBase,
  kGather,
  kScatter,
  kAllToAll,
  kAllToAllV,
  kSend,
  kRecv,
  kBarrier
};

struct Call {
  Kind kind = Kind::kBarrier;
  std::size_t group = 0;  ///< of the job's process groups
  std::vector<Tensor> inputs = {};
  std::vector<Tensor> outputs = {};
  int root_or_peer = 0;                       ///< rank in the group
  std::vector<std::int64_t> in_splits = {};   ///< elements to each rank
  std::vector<std::int64_t> out_splits = {};  ///< elements from each rank
  std::string reduce = "sum";
};

inline char* bytes_of(const Tensor& tensor) {
  return static_cast<char*>(tensor.data_ptr());
}
inline std::size_t size_of(const Tensor& tensor) {
  return tensor.nbytes();
}

/// Copies what fits.
inline void copy_bytes(const char* from, std::size_t from_bytes, char* to, std::size_t to_bytes) {
  const std::size_t bytes = std::min(from_bytes, to_bytes);
  if (bytes > 0 && from != to)
    std::memmove(to, from, bytes);
}
inline void copy_bytes(const Tensor& from, const Tensor& to) {
  copy_bytes(bytes_of(from), size_of(from), bytes_of(to), size_of(to));
}
/// From the start again where the input ends; zeros if it is empty.
inline void copy_again(const Tensor& from, const Tensor& to) {
  for (std::size_t at = 0; at < size_of(to);) {
    if (size_of(from) == 0) {
      std::memset(bytes_of(to), 0, size_of(to));
      return;
    }
    const std::size_t piece = std::min(size_of(from), size_of(to) - at);
    copy_bytes(bytes_of(from), piece, bytes_of(to) + at, piece);
    at += piece;
  }
}

/// One rank alone: what a peer would send is taken from its own buffers. Tensors are contiguous.
inline void move_locally(const Call& call, int rank, int size) {
  const auto self = static_cast<std::size_t>(rank);
  const auto ranks = static_cast<std::size_t>(size);
  switch (call.kind) {
    case Kind::kAllReduce:
    case Kind::kBroadcast:
    case Kind::kReduce:
      for (std::size_t i = 0; i < call.inputs.size(); ++i)
        copy_bytes(call.inputs[i], call.outputs[i]);
      return;
    case Kind::kAllGather:
      for (std::size_t i = 0; i < call.outputs.size(); ++i)
        copy_again(call.inputs[i / ranks], call.outputs[i]);
      return;
    case Kind::kAllGatherBase:
      for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        const std::size_t part = size_of(call.inputs[i]);
        for (std::size_t k = 0; k < ranks; ++k) {
          copy_bytes(bytes_of(call.inputs[i]), part, bytes_of(call.outputs[i]) + k * part, part);
        }
      }
      return;
    case Kind::kReduceScatter:
      for (std::size_t i = 0; i < call.outputs.size(); ++i)
        copy_bytes(call.inputs[i * ranks + self], call.outputs[i]);
      return;
    case Kind::kReduceScatterBase:
      for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        const std::size_t part = size_of(call.outputs[i]);
        copy_bytes(bytes_of(call.inputs[i]) + self * part, part, bytes_of(call.outputs[i]), part);
      }
      return;
    case Kind::kGather:
      for (const Tensor& output : call.outputs)
        copy_again(call.inputs[0], output);
      return;
    case Kind::kScatter:
      if (call.root_or_peer == rank) {
        copy_bytes(call.inputs[self], call.outputs[0]);
      } else {
        std::memset(bytes_of(call.outputs[0]), 0, size_of(call.outputs[0]));
      }
      return;
    case Kind::kAllToAll:
    case Kind::kAllToAllV:
      for (std::size_t i = 0; i < call.outputs.size(); ++i)
        copy_again(call.inputs[i], call.outputs[i]);
      return;
    case Kind::kRecv:
      for (const Tensor& output : call.outputs)
        std::memset(bytes_of(output), 0, size_of(output));
      return;
    case Kind::kSend:
    case Kind::kBarrier:
      return;
  }
}

/// A communication under way. What it works on stays alive until it is done.
class Work {
 public:
  Work() = default;
  /// After it the outputs hold what was communicated.
  void wait() {
    const at::RecordFunctionGuard unobserved(false);  // copies of its own are no operators
    if (finish_)
      finish_();
    finish_ = nullptr;
    for (auto& [to, from] : copies_)
      to.copy_(from);
    copies_.clear();
    call_.reset();
  }

 private:
  friend Work communicate(Call call);
  std::shared_ptr<Call> call_;
  std::vector<std::pair<Tensor, Tensor>> copies_;
  std::function<void()> finish_;
};

/// Starts a communication.
inline Work communicate(Call call) {
  const at::RecordFunctionGuard unobserved(false);
  Work work;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    Tensor& output = call.outputs[i];
    const Tensor flat = output.cpu().contiguous();
    if (flat.is_same(output))
      continue;
    for (Tensor& input : call.inputs) {
      if (input.is_same(output))
        input = flat;
    }
    work.copies_.emplace_back(output, flat);
    output = flat;
  }
  for (Tensor& input : call.inputs)
    input = input.cpu().contiguous();
  work.call_ = std::make_shared<Call>(std::move(call));
  const Comms& comms = *Comms::current();
  const auto [rank, size] = comms.place(work.call_->group);
#ifdef BENCH_MPI
  if (!comms.is_alone()) {
    work.finish_ = start_mpi(comms, *work.call_);
    return work;
  }
#endif
  move_locally(*work.call_, rank, size);
  return work;
}

}  // namespace bench

#ifdef BENCH_MPI
#include "communicate_mpi.h"
#endif
