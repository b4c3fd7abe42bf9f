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

/// Copies min(from_bytes, to_bytes) bytes.
inline void copy_bytes(const char* from, std::size_t from_bytes, char* to, std::size_t to_bytes) {
  const std::size_t bytes = std::min(from_bytes, to_bytes);
  if (bytes > 0 && from != to)
    std::memmove(to, from, bytes);
}
inline void copy_bytes(const Tensor& from, const Tensor& to) {
  copy_bytes(bytes_of(from), size_of(from), bytes_of(to), size_of(to));
}
/// A pending communication. Keeps its tensors alive until it is complete.
class Work {
 public:
  Work() = default;
  /// Waits until the outputs hold the result.
  void wait() {
    const at::RecordFunctionGuard unobserved(false);  // copies of its own are not operators
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
  work.finish_ = start_mpi(*Comms::current(), *work.call_);
  return work;
}

}  // namespace bench

#include "communicate_mpi.h"
