// Lowers collectives that only move bytes. They are the wire's own if it has any and each rank has
// one buffer of equal parts; they are messages between each two ranks if sizes differ, if buffers
// are lists, or if a part is too large. This choice must not depend on anything in which ranks may
// differ.
#include <algorithm>

#include "backends/check_call.h"
#include "et_schema/support/assert.h"
#include "lower.h"
#include "parts.h"

namespace understudy::backends {

using et_schema::CommKind;

void Lowering::lower(Schedule& schedule) const {
  switch (call_.kind) {
    case CommKind::kAllReduce:
      return all_reduce(schedule);
    case CommKind::kReduce:
      return reduce(schedule);
    case CommKind::kReduceScatter:
      return reduce_scatter(call_.inputs, schedule);
    case CommKind::kReduceScatterBase:
      return reduce_scatter(equal_parts(call_.inputs, group_.size()), schedule);
    case CommKind::kBroadcast:
      return broadcast(schedule);
    case CommKind::kAllGather:
      return exchange(each_to_all(call_.inputs), call_.outputs, schedule);
    case CommKind::kAllGatherBase:
      return all_gather_base(schedule);
    case CommKind::kGather:
      return gather(schedule);
    case CommKind::kScatter:
      return scatter(schedule);
    case CommKind::kAllToAll:
      return all_to_all(schedule);
    case CommKind::kAllToAllV:
      return all_to_allv(schedule);
    case CommKind::kSend:
    case CommKind::kRecv:
      return message(schedule);
    case CommKind::kBarrier:
      return barrier(schedule);
    case CommKind::kWait:
    case CommKind::kInit:
      break;
  }
  UNDERSTUDY_ASSERT(false);
}

void Lowering::broadcast(Schedule& schedule) const {
  if (is_root()) {
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      copy(call_.inputs[i], call_.outputs[i]);
    }
  }
  if (!has_collectives_) {
    for (const Buffer& buffer : call_.outputs) {
      rooted_exchange(std::vector<Buffer>(size_, buffer), std::vector<Buffer>(size_, buffer),
                      /*to_root=*/false, schedule);
    }
    return;
  }
  schedule.add([this_ = *this](Transfers& transfers) {
    for (const Buffer& buffer : this_.call_.outputs) {
      transfers.broadcast(buffer, this_.call_.root_or_peer, this_.group_.collectives);
    }
  });
}

void Lowering::all_gather_base(Schedule& schedule) const {
  const bool is_small = std::ranges::all_of(
      call_.inputs, [](const Buffer& b) { return size_bytes(b) <= Transfers::kLargestPart; });
  if (!has_collectives_ || !is_small) {
    exchange(each_to_all(call_.inputs), equal_parts(call_.outputs, group_.size()), schedule);
    return;
  }
  for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
    const Buffer& input = call_.inputs[i];
    copy(input, slice(call_.outputs[i], group_.rank * input.count, input.count));
  }
  schedule.add([this_ = *this](Transfers& transfers) {
    for (std::size_t i = 0; i < this_.call_.inputs.size(); ++i) {
      transfers.all_gather(this_.call_.outputs[i], size_bytes(this_.call_.inputs[i]),
                           this_.group_.collectives);
    }
  });
}

void Lowering::gather(Schedule& schedule) const {
  std::vector<Buffer> sends(size_);
  sends[static_cast<std::size_t>(call_.root_or_peer)] = call_.inputs[0];
  rooted_exchange(sends, is_root() ? call_.outputs : std::vector<Buffer>(size_), /*to_root=*/true,
                  schedule);
}

void Lowering::scatter(Schedule& schedule) const {
  std::vector<Buffer> receives(size_);
  receives[static_cast<std::size_t>(call_.root_or_peer)] = call_.outputs[0];
  rooted_exchange(is_root() ? call_.inputs : std::vector<Buffer>(size_), receives,
                  /*to_root=*/false, schedule);
}

void Lowering::all_to_all(Schedule& schedule) const {
  std::vector<Buffer> inputs;
  for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
    inputs.push_back(unaliased(call_.inputs[i], call_.outputs[i], schedule));
  }
  if (inputs.size() != 1 || size_ == 1) {
    exchange(inputs, call_.outputs, schedule);
    return;
  }
  const std::int64_t bytes = size_bytes(inputs[0]) / group_.size();
  if (!has_collectives_ || bytes > Transfers::kLargestPart) {
    exchange(equal_parts(inputs, group_.size()), equal_parts(call_.outputs, group_.size()),
             schedule);
    return;
  }
  schedule.add([this_ = *this, input = inputs[0], bytes](Transfers& transfers) {
    transfers.all_to_all(input, this_.call_.outputs[0], bytes, this_.group_.collectives);
  });
}

void Lowering::all_to_allv(Schedule& schedule) const {
  const Buffer input = unaliased(call_.inputs[0], call_.outputs[0], schedule);
  exchange(split(input, call_.in_splits), split(call_.outputs[0], call_.out_splits), schedule);
}

void Lowering::message(Schedule& schedule) const {
  schedule.add([this_ = *this](Transfers& transfers) {
    const Call& call = this_.call_;
    for (const Buffer& buffer : call.kind == CommKind::kSend ? call.inputs : call.outputs) {
      if (call.kind == CommKind::kSend) {
        transfers.send(buffer.data, size_bytes(buffer), call.root_or_peer, call.tag,
                       this_.group_.messages);
      } else {
        transfers.receive(buffer.data, size_bytes(buffer), call.root_or_peer, call.tag,
                          this_.group_.messages);
      }
    }
  });
}

void Lowering::barrier(Schedule& schedule) const {
  if (!has_collectives_) {
    exchange(std::vector<Buffer>(size_), std::vector<Buffer>(size_), schedule);
    return;
  }
  schedule.add(
      [channel = group_.collectives](Transfers& transfers) { transfers.barrier(channel); });
}

/// Sends sends[i·n + r] to rank r, and receives receives[i·n + r] from it.
void Lowering::exchange(const std::vector<Buffer>& sends, const std::vector<Buffer>& receives,
                        Schedule& schedule) const {
  schedule.add([this_ = *this, sends, receives](Transfers& transfers) {
    for (std::size_t list = 0; list < receives.size(); list += this_.size_) {
      for (std::size_t step = 1; step < this_.size_; ++step) {
        const int peer = this_.from(step);
        this_.receive(receives[list + static_cast<std::size_t>(peer)], peer, this_.tag_, transfers);
      }
      for (std::size_t step = 1; step < this_.size_; ++step) {
        const int peer = this_.to(step);
        this_.send(sends[list + static_cast<std::size_t>(peer)], peer, this_.tag_, transfers);
      }
      copy(sends[list + this_.self_], receives[list + this_.self_]);
    }
  });
}

/// An exchange in which only the root receives (to_root) or sends.
void Lowering::rooted_exchange(const std::vector<Buffer>& sends,
                               const std::vector<Buffer>& receives, bool to_root,
                               Schedule& schedule) const {
  schedule.add([this_ = *this, sends, receives, to_root](Transfers& transfers) {
    const auto post = [&](int peer, bool receives_here) {
      const auto index = static_cast<std::size_t>(peer);
      if (receives_here) {
        this_.receive(receives[index], peer, this_.tag_, transfers);
      } else {
        this_.send(sends[index], peer, this_.tag_, transfers);
      }
    };
    if (!this_.is_root()) {
      post(this_.call_.root_or_peer, !to_root);
      return;
    }
    for (std::size_t step = 1; step < this_.size_; ++step) {
      post(this_.to(step), to_root);
    }
    copy(sends[this_.self_], receives[this_.self_]);
  });
}

/// A list with each buffer once for every rank.
std::vector<Buffer> Lowering::each_to_all(const std::vector<Buffer>& buffers) const {
  std::vector<Buffer> sends;
  for (const Buffer& buffer : buffers) {
    sends.insert(sends.end(), size_, buffer);
  }
  return sends;
}

/// The input itself, or a copy of it if the output overwrites it.
Buffer Lowering::unaliased(const Buffer& input, const Buffer& output, Schedule& schedule) {
  if (!overlap(input, output)) {
    return input;
  }
  const Buffer twin{schedule.scratch(size_bytes(input)), input.count, input.dtype};
  copy(input, twin);
  return twin;
}

void Lowering::send(const Buffer& buffer, int peer, int tag, Transfers& transfers) const {
  transfers.send(buffer.data, size_bytes(buffer), peer, tag, group_.collectives);
}

void Lowering::receive(const Buffer& buffer, int peer, int tag, Transfers& transfers) const {
  transfers.receive(buffer.data, size_bytes(buffer), peer, tag, group_.collectives);
}

}  // namespace understudy::backends
