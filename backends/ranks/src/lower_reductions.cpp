// Lowers reductions. Large ones among few ranks are direct: each rank receives all versions of its
// own part, reduces it, and passes the result on. That is the least possible traffic, and every
// rank takes part in the reduction; Open MPI's non-blocking ones take up to twice as long in place.
// The other reductions are the wire's own, where it has any.

#include "backends/check_call.h"
#include "backends/reduce_local.h"
#include "lower.h"
#include "parts.h"

namespace understudy::backends {

namespace {

constexpr std::int64_t kDirectBytes = std::int64_t{1} << 15U;
constexpr int kDirectRanks = 16;

}  // namespace

// The decision must be the same on all ranks.
bool Lowering::is_direct(const Buffer& buffer) const {
  return !has_collectives_ || (size_bytes(buffer) >= kDirectBytes && group_.size() <= kDirectRanks);
}

void Lowering::all_reduce(Schedule& schedule) const {
  std::vector<std::vector<Buffer>> direct;
  std::vector<Buffer> by_wire;
  std::vector<std::byte*> arrived;
  for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
    const Buffer& buffer = call_.outputs[i];
    copy(call_.inputs[i], buffer);
    if (size_ == 1) {
      finish(buffer);
      continue;
    }
    if (is_direct(buffer)) {
      direct.push_back(even_parts(buffer, group_.size()));
      arrived.push_back(room_for_arrivals(direct.back()[self_], schedule));
    } else {
      by_wire.push_back(buffer);
    }
  }
  schedule.add([this_ = *this, direct, by_wire, arrived](Transfers& transfers) {
    for (const Buffer& buffer : by_wire) {
      transfers.all_reduce(buffer, this_.call_.op, this_.group_.collectives);
    }
    for (std::size_t i = 0; i < direct.size(); ++i) {
      this_.post_parts_to_owners(direct[i], arrived[i], transfers);
    }
  });
  schedule.add([this_ = *this, direct, by_wire, arrived](Transfers& transfers) {
    for (const Buffer& buffer : by_wire) {
      this_.finish(buffer);
    }
    for (std::size_t i = 0; i < direct.size(); ++i) {
      this_.reduce_arrived(direct[i][this_.self_], arrived[i]);
      this_.post_own_to_all(direct[i], transfers);
    }
  });
}

void Lowering::reduce(Schedule& schedule) const {
  struct Direct {
    std::vector<Buffer> parts;
    Buffer own;  // the root's part lies in its output, another rank's in scratch memory
    std::byte* arrived = nullptr;
  };
  std::vector<Direct> direct;
  std::vector<Buffer> by_wire;
  for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
    if (is_root()) {
      copy(call_.inputs[i], call_.outputs[i]);
    }
    const Buffer& buffer = is_root() ? call_.outputs[i] : call_.inputs[i];
    if (size_ == 1) {
      finish(buffer);
      continue;
    }
    if (!is_direct(buffer)) {
      by_wire.push_back(buffer);
      continue;
    }
    Direct entry;
    entry.parts = even_parts(buffer, group_.size());
    entry.own = entry.parts[self_];
    if (!is_root()) {
      entry.own.data = schedule.scratch(size_bytes(entry.own));
    }
    entry.arrived = room_for_arrivals(entry.own, schedule);
    direct.push_back(std::move(entry));
  }
  schedule.add([this_ = *this, direct, by_wire](Transfers& transfers) {
    for (const Buffer& buffer : by_wire) {
      transfers.reduce(buffer, this_.call_.op, this_.call_.root_or_peer, this_.group_.collectives);
    }
    for (const Direct& entry : direct) {
      this_.post_parts_to_owners(entry.parts, entry.arrived, transfers);
    }
  });
  schedule.add([this_ = *this, direct, by_wire](Transfers& transfers) {
    if (this_.is_root()) {
      for (const Buffer& buffer : by_wire) {
        this_.finish(buffer);
      }
    }
    for (const Direct& entry : direct) {
      copy(entry.parts[this_.self_], entry.own);
      this_.reduce_arrived(entry.own, entry.arrived);
      this_.post_parts_to_root(entry.parts, entry.own, transfers);
    }
  });
}

/// `inputs`: for each output, one input per rank.
void Lowering::reduce_scatter(const std::vector<Buffer>& inputs, Schedule& schedule) const {
  std::vector<std::vector<Buffer>> parts;
  std::vector<std::byte*> arrived;
  for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
    const auto begin = inputs.begin() + static_cast<std::ptrdiff_t>(i * size_);
    parts.emplace_back(begin, begin + group_.size());
    arrived.push_back(room_for_arrivals(call_.outputs[i], schedule));
  }
  schedule.add([this_ = *this, parts, arrived](Transfers& transfers) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      this_.post_parts_to_owners(parts[i], arrived[i], transfers);
    }
  });
  schedule.add([this_ = *this, parts, arrived](Transfers&) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      copy(parts[i][this_.self_], this_.call_.outputs[i]);
      this_.reduce_arrived(this_.call_.outputs[i], arrived[i]);
    }
  });
}

std::byte* Lowering::room_for_arrivals(const Buffer& own, Schedule& schedule) const {
  return schedule.scratch(size_bytes(own) * (group_.size() - 1));
}

/// Sends each rank its part, and receives this rank's part from all others, one after the other.
void Lowering::post_parts_to_owners(const std::vector<Buffer>& parts, std::byte* arrived,
                                    Transfers& transfers) const {
  const Buffer& own = parts[self_];
  for (std::size_t step = 1; step < size_; ++step) {
    std::byte* room = arrived + static_cast<std::int64_t>(step - 1) * size_bytes(own);
    receive({room, own.count, own.dtype}, from(step), tag_, transfers);
  }
  for (std::size_t step = 1; step < size_; ++step) {
    send(parts[static_cast<std::size_t>(to(step))], to(step), tag_, transfers);
  }
}

void Lowering::post_own_to_all(const std::vector<Buffer>& parts, Transfers& transfers) const {
  for (std::size_t step = 1; step < size_; ++step) {
    receive(parts[static_cast<std::size_t>(from(step))], from(step), tag_ + 1, transfers);
  }
  for (std::size_t step = 1; step < size_; ++step) {
    send(parts[self_], to(step), tag_ + 1, transfers);
  }
}

void Lowering::post_parts_to_root(const std::vector<Buffer>& parts, const Buffer& own,
                                  Transfers& transfers) const {
  if (!is_root()) {
    send(own, call_.root_or_peer, tag_ + 1, transfers);
    return;
  }
  for (std::size_t step = 1; step < size_; ++step) {
    receive(parts[static_cast<std::size_t>(from(step))], from(step), tag_ + 1, transfers);
  }
}

void Lowering::reduce_arrived(const Buffer& own, const std::byte* arrived) const {
  for (std::size_t step = 1; step < size_; ++step) {
    reduce_local(own, arrived + static_cast<std::int64_t>(step - 1) * size_bytes(own), call_.op);
  }
  finish(own);
}

void Lowering::finish(const Buffer& buffer) const {
  if (call_.op == ReduceOp::kAvg) {
    divide(buffer, group_.size());
  }
  if (call_.factor != 1) {
    multiply(buffer, call_.factor);
  }
}

}  // namespace understudy::backends
