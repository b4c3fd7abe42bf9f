#include "lower.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "et_schema/base/assert.h"
#include "parts.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/ranks/reduce_local.h"

namespace understudy::backends {
namespace {

using et_schema::CommKind;

constexpr std::int64_t kDirectBytes = std::int64_t{1} << 15U;
constexpr int kDirectRanks = 16;

class Lowering {
 public:
  /// Among the group's calls in progress, only this one may use `tag`.
  Lowering(const Call& call, const Group& group, bool has_collectives, int tag, Schedule& schedule)
      : call_(call),
        group_(group),
        has_collectives_(has_collectives),
        tag_(tag),
        schedule_(schedule),
        size_(static_cast<std::size_t>(group.size())),
        self_(static_cast<std::size_t>(group.rank)) {}

  void lower() const {
    switch (call_.kind) {
      case CommKind::kAllReduce:
        return reduce(/*to_all=*/true);
      case CommKind::kReduce:
        return reduce(/*to_all=*/false);
      case CommKind::kReduceScatter:
        return reduce_scatter(call_.inputs);
      case CommKind::kReduceScatterBase:
        return reduce_scatter(equal_parts(call_.inputs, group_.size()));
      case CommKind::kBroadcast:
        return broadcast();
      case CommKind::kAllGather:
        return exchange(each_to_all(call_.inputs), call_.outputs);
      case CommKind::kAllGatherBase:
        return all_gather_base();
      case CommKind::kGather:
        return rooted(call_.inputs[0], call_.outputs, /*to_root=*/true);
      case CommKind::kScatter:
        return rooted(call_.outputs[0], call_.inputs, /*to_root=*/false);
      case CommKind::kAllToAll:
        return all_to_all();
      case CommKind::kAllToAllV:
        return all_to_allv();
      case CommKind::kSend:
      case CommKind::kRecv:
        return message();
      case CommKind::kBarrier:
        return barrier();
      case CommKind::kWait:
      case CommKind::kInit:
        break;
    }
    UNDERSTUDY_ASSERT(false);
  }

 private:
  // Reductions. Large ones among few ranks are direct: each rank receives all versions of its own
  // part, reduces it, and sends the result to the others. This is the least possible traffic, and
  // all ranks share the work; Open MPI's non-blocking reductions in place take up to twice as long.
  // Other reductions use the wire's own collectives, if it has any.

  /// Adds the steps of all_reduce (`to_all`) or of reduce, whose result only the root gets.
  void reduce(bool to_all) const {
    struct Direct {
      std::vector<Buffer> parts;
      Buffer own;  // a rank without a result reduces its part in scratch memory
      std::byte* arrived = nullptr;
    };
    const bool gets_result = to_all || is_root();
    std::vector<Direct> direct;
    std::vector<Buffer> by_wire;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      if (gets_result) {
        copy(call_.inputs[i], call_.outputs[i]);
      }
      const Buffer& buffer = gets_result ? call_.outputs[i] : call_.inputs[i];
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
      if (!gets_result) {
        entry.own.data = schedule_.scratch(size_bytes(entry.own));
      }
      entry.arrived = room_for_arrivals(entry.own);
      direct.push_back(std::move(entry));
    }
    schedule_.add([this_ = *this, direct, by_wire, to_all](Transfers& transfers) {
      const Call& call = this_.call_;
      for (const Buffer& buffer : by_wire) {
        to_all ? transfers.all_reduce(buffer, call.op, this_.group_.collectives)
               : transfers.reduce(buffer, call.op, call.root_or_peer, this_.group_.collectives);
      }
      for (const Direct& entry : direct) {
        this_.post_parts_to_owners(entry.parts, entry.arrived, transfers);
      }
    });
    schedule_.add([this_ = *this, direct, by_wire, to_all, gets_result](Transfers& transfers) {
      if (gets_result) {
        for (const Buffer& buffer : by_wire) {
          this_.finish(buffer);
        }
      }
      for (const Direct& entry : direct) {
        copy(entry.parts[this_.self_], entry.own);
        this_.reduce_arrived(entry.own, entry.arrived);
        to_all ? this_.post_own_to_all(entry.parts, transfers)
               : this_.post_parts_to_root(entry.parts, entry.own, transfers);
      }
    });
  }

  /// `inputs` holds one input per rank for each output.
  void reduce_scatter(const std::vector<Buffer>& inputs) const {
    std::vector<std::vector<Buffer>> parts;
    std::vector<std::byte*> arrived;
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      const auto begin = inputs.begin() + static_cast<std::ptrdiff_t>(i * size_);
      parts.emplace_back(begin, begin + group_.size());
      arrived.push_back(room_for_arrivals(call_.outputs[i]));
    }
    schedule_.add([this_ = *this, parts, arrived](Transfers& transfers) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        this_.post_parts_to_owners(parts[i], arrived[i], transfers);
      }
    });
    schedule_.add([this_ = *this, parts, arrived](Transfers&) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        copy(parts[i][this_.self_], this_.call_.outputs[i]);
        this_.reduce_arrived(this_.call_.outputs[i], arrived[i]);
      }
    });
  }

  // Must return the same on all ranks.
  [[nodiscard]] bool is_direct(const Buffer& buffer) const {
    return !has_collectives_ ||
           (size_bytes(buffer) >= kDirectBytes && group_.size() <= kDirectRanks);
  }

  /// Sends each rank its part, and receives this rank's part from all others into consecutive
  /// memory.
  void post_parts_to_owners(const std::vector<Buffer>& parts, std::byte* arrived,
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

  void post_own_to_all(const std::vector<Buffer>& parts, Transfers& transfers) const {
    for (std::size_t step = 1; step < size_; ++step) {
      receive(parts[static_cast<std::size_t>(from(step))], from(step), tag_ + 1, transfers);
    }
    for (std::size_t step = 1; step < size_; ++step) {
      send(parts[self_], to(step), tag_ + 1, transfers);
    }
  }

  void post_parts_to_root(const std::vector<Buffer>& parts, const Buffer& own,
                          Transfers& transfers) const {
    if (!is_root()) {
      send(own, call_.root_or_peer, tag_ + 1, transfers);
      return;
    }
    for (std::size_t step = 1; step < size_; ++step) {
      receive(parts[static_cast<std::size_t>(from(step))], from(step), tag_ + 1, transfers);
    }
  }

  [[nodiscard]] std::byte* room_for_arrivals(const Buffer& own) const {
    return schedule_.scratch(size_bytes(own) * (group_.size() - 1));
  }

  void reduce_arrived(const Buffer& own, const std::byte* arrived) const {
    for (std::size_t step = 1; step < size_; ++step) {
      reduce_local(own, arrived + static_cast<std::int64_t>(step - 1) * size_bytes(own), call_.op);
    }
    finish(own);
  }

  void finish(const Buffer& buffer) const {
    if (call_.op == ReduceOp::kAvg) {
      divide(buffer, group_.size());
    }
    if (call_.factor != 1) {
      multiply(buffer, call_.factor);
    }
  }

  // Collectives that only move bytes. If the wire has its own and each rank has one buffer of equal
  // parts, they are used. Messages between each pair of ranks are used if sizes differ, buffers are
  // lists, or a part is too large. All ranks must make the same choice.

  void broadcast() const {
    if (is_root()) {
      for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
        copy(call_.inputs[i], call_.outputs[i]);
      }
    }
    if (!has_collectives_) {
      for (const Buffer& buffer : call_.outputs) {
        rooted_exchange(std::vector<Buffer>(size_, buffer), std::vector<Buffer>(size_, buffer),
                        /*to_root=*/false);
      }
      return;
    }
    schedule_.add([this_ = *this](Transfers& transfers) {
      for (const Buffer& buffer : this_.call_.outputs) {
        transfers.broadcast(buffer, this_.call_.root_or_peer, this_.group_.collectives);
      }
    });
  }

  void all_gather_base() const {
    const bool is_small = std::ranges::all_of(
        call_.inputs, [](const Buffer& b) { return size_bytes(b) <= Transfers::kLargestPart; });
    if (!has_collectives_ || !is_small) {
      exchange(each_to_all(call_.inputs), equal_parts(call_.outputs, group_.size()));
      return;
    }
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const Buffer& input = call_.inputs[i];
      copy(input, slice(call_.outputs[i], group_.rank * input.count, input.count));
    }
    schedule_.add([this_ = *this](Transfers& transfers) {
      for (std::size_t i = 0; i < this_.call_.inputs.size(); ++i) {
        transfers.all_gather(this_.call_.outputs[i], size_bytes(this_.call_.inputs[i]),
                             this_.group_.collectives);
      }
    });
  }

  /// Adds a gather (`to_root`) or a scatter: `own` is each rank's buffer, `parts` are the root's.
  void rooted(const Buffer& own, const std::vector<Buffer>& parts, bool to_root) const {
    std::vector<Buffer> others(size_);
    others[static_cast<std::size_t>(call_.root_or_peer)] = own;
    const std::vector<Buffer> of_root = is_root() ? parts : std::vector<Buffer>(size_);
    rooted_exchange(to_root ? others : of_root, to_root ? of_root : others, to_root);
  }

  void all_to_all() const {
    std::vector<Buffer> inputs;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      inputs.push_back(unaliased(call_.inputs[i], call_.outputs[i]));
    }
    if (inputs.size() != 1 || size_ == 1) {
      exchange(inputs, call_.outputs);
      return;
    }
    const std::int64_t bytes = size_bytes(inputs[0]) / group_.size();
    if (!has_collectives_ || bytes > Transfers::kLargestPart) {
      exchange(equal_parts(inputs, group_.size()), equal_parts(call_.outputs, group_.size()));
      return;
    }
    schedule_.add([this_ = *this, input = inputs[0], bytes](Transfers& transfers) {
      transfers.all_to_all(input, this_.call_.outputs[0], bytes, this_.group_.collectives);
    });
  }

  void all_to_allv() const {
    const Buffer input = unaliased(call_.inputs[0], call_.outputs[0]);
    exchange(split(input, call_.in_splits), split(call_.outputs[0], call_.out_splits));
  }

  void message() const {
    schedule_.add([this_ = *this](Transfers& transfers) {
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

  void barrier() const {
    if (!has_collectives_) {
      exchange(std::vector<Buffer>(size_), std::vector<Buffer>(size_));
      return;
    }
    schedule_.add(
        [channel = group_.collectives](Transfers& transfers) { transfers.barrier(channel); });
  }

  /// Sends sends[i·n + r] to rank r, and receives receives[i·n + r] from it.
  void exchange(const std::vector<Buffer>& sends, const std::vector<Buffer>& receives) const {
    schedule_.add([this_ = *this, sends, receives](Transfers& transfers) {
      for (std::size_t list = 0; list < receives.size(); list += this_.size_) {
        for (std::size_t step = 1; step < this_.size_; ++step) {
          const int peer = this_.from(step);
          this_.receive(receives[list + static_cast<std::size_t>(peer)], peer, this_.tag_,
                        transfers);
        }
        for (std::size_t step = 1; step < this_.size_; ++step) {
          const int peer = this_.to(step);
          this_.send(sends[list + static_cast<std::size_t>(peer)], peer, this_.tag_, transfers);
        }
        copy(sends[list + this_.self_], receives[list + this_.self_]);
      }
    });
  }

  /// Adds an exchange in which only the root receives (`to_root`) or sends.
  void rooted_exchange(const std::vector<Buffer>& sends, const std::vector<Buffer>& receives,
                       bool to_root) const {
    schedule_.add([this_ = *this, sends, receives, to_root](Transfers& transfers) {
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

  /// Returns a list with each buffer once per rank.
  [[nodiscard]] std::vector<Buffer> each_to_all(const std::vector<Buffer>& buffers) const {
    std::vector<Buffer> sends;
    for (const Buffer& buffer : buffers) {
      sends.insert(sends.end(), size_, buffer);
    }
    return sends;
  }

  /// Returns the input, or a copy of it if the output overlaps it.
  [[nodiscard]] Buffer unaliased(const Buffer& input, const Buffer& output) const {
    if (!overlap(input, output)) {
      return input;
    }
    const Buffer twin{schedule_.scratch(size_bytes(input)), input.count, input.dtype};
    copy(input, twin);
    return twin;
  }

  // Each rank begins with its neighbour, so that the ranks do not all begin with the same rank.
  [[nodiscard]] int to(std::size_t step) const { return static_cast<int>((self_ + step) % size_); }
  [[nodiscard]] int from(std::size_t step) const {
    return static_cast<int>((self_ + size_ - step) % size_);
  }

  [[nodiscard]] bool is_root() const { return group_.rank == call_.root_or_peer; }
  void send(const Buffer& buffer, int peer, int tag, Transfers& transfers) const {
    transfers.send(buffer.data, size_bytes(buffer), peer, tag, group_.collectives);
  }

  void receive(const Buffer& buffer, int peer, int tag, Transfers& transfers) const {
    transfers.receive(buffer.data, size_bytes(buffer), peer, tag, group_.collectives);
  }

  const Call& call_;
  const Group& group_;
  bool has_collectives_;
  int tag_;
  Schedule& schedule_;
  std::size_t size_;
  std::size_t self_;
};

}  // namespace

void lower(const Call& call, const Group& group, bool has_collectives, int tag,
           Schedule& schedule) {
  Lowering(call, group, has_collectives, tag, schedule).lower();
}

}  // namespace understudy::backends
