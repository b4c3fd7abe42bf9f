#include "lower.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
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
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 23U;

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
  //
  // Direct ones go in pieces, because fresh memory for all that arrives costs more than the
  // reduction (a page fault for each page).

  /// A piece of a buffer that is reduced directly.
  struct Piece {
    std::vector<Buffer> parts;  ///< by rank
    Buffer own;                 ///< where this rank's part is reduced
    std::byte* arrived = nullptr;
  };
  /// Pieces that are reduced together: kPieceBytes at most, or a single one.
  struct Batch {
    std::vector<Piece> pieces = {};
    std::int64_t bytes = 0;
    std::int64_t own_bytes = 0;
  };
  using Batches = std::vector<Batch>;
  enum class ResultTo : std::uint8_t { kOwner, kRoot, kAll };

  /// Adds a buffer of these parts, whose own one is reduced into `own`.
  static void add(const std::vector<Buffer>& parts, const Buffer& own, Batches& batches) {
    std::int64_t bytes = 0;
    std::int64_t most = 0;
    for (const Buffer& part : parts) {
      bytes += size_bytes(part);
      most = std::max(most, part.count);
    }
    const std::int64_t pieces = bytes / kPieceBytes + 1;
    const std::int64_t count = (most + pieces - 1) / pieces;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const auto cut = [&](const Buffer& whole) {
        const std::int64_t first = std::min(piece * count, whole.count);
        return slice(whole, first, std::min(count, whole.count - first));
      };
      if (batches.empty() || batches.back().bytes + bytes / pieces > kPieceBytes) {
        batches.emplace_back();
      }
      Batch& batch = batches.back();
      Piece& added = batch.pieces.emplace_back(Piece{.parts = {}, .own = cut(own)});
      std::ranges::transform(parts, std::back_inserter(added.parts), cut);
      batch.bytes += bytes / pieces;
      batch.own_bytes += size_bytes(added.own);
    }
  }

  /// Adds the steps of direct reductions. Each step ends a batch and begins the next.
  void reduce_directly(Batches batches, ResultTo to) const {
    std::int64_t own_bytes = 0;
    for (const Batch& batch : batches) {
      own_bytes = std::max(own_bytes, batch.own_bytes);
    }
    // A rank that gets no result reduces its part in scratch memory. Two batches need it at a
    // time: the results of one are being sent while the next one is reduced.
    const bool gets_result = to != ResultTo::kRoot || is_root();
    const std::int64_t room = own_bytes * (group_.size() - 1);
    std::byte* const memory = schedule_.scratch(room + (gets_result ? 0 : 2 * own_bytes));
    for (std::size_t i = 0; i < batches.size(); ++i) {
      std::byte* arrived = memory;
      std::byte* result = memory + room + (i % 2 == 0 ? 0 : own_bytes);
      for (Piece& piece : batches[i].pieces) {
        piece.arrived =
            std::exchange(arrived, arrived + size_bytes(piece.own) * (group_.size() - 1));
        if (!gets_result) {
          piece.own.data = std::exchange(result, result + size_bytes(piece.own));
        }
      }
    }
    const auto shared = std::make_shared<const Batches>(std::move(batches));
    for (std::size_t i = 0; i <= shared->size(); ++i) {
      schedule_.add([this_ = *this, shared, i, to](Transfers& transfers) {
        if (i > 0) {
          this_.end((*shared)[i - 1], to, transfers);
        }
        if (i < shared->size()) {
          for (const Piece& piece : (*shared)[i].pieces) {
            this_.post_parts_to_owners(piece, transfers);
          }
        }
      });
    }
  }

  void end(const Batch& batch, ResultTo to, Transfers& transfers) const {
    for (const Piece& piece : batch.pieces) {
      copy(piece.parts[self_], piece.own);
      for (std::size_t step = 1; step < size_; ++step) {
        reduce_local(piece.own,
                     piece.arrived + static_cast<std::int64_t>(step - 1) * size_bytes(piece.own),
                     call_.op);
      }
      finish(piece.own);
      if (to != ResultTo::kOwner) {
        post_result(piece, to, transfers);
      }
    }
  }

  /// Adds the steps of all_reduce (`to_all`) or of reduce, whose result only the root gets.
  void reduce(bool to_all) const {
    const bool gets_result = to_all || is_root();
    Batches batches;
    std::vector<Buffer> by_wire;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      if (gets_result) {
        copy(call_.inputs[i], call_.outputs[i]);
      }
      const Buffer& buffer = gets_result ? call_.outputs[i] : call_.inputs[i];
      if (size_ == 1) {
        finish(buffer);
      } else if (is_direct(buffer)) {
        const std::vector<Buffer> parts = even_parts(buffer, group_.size());
        add(parts, parts[self_], batches);
      } else {
        by_wire.push_back(buffer);
      }
    }
    if (!by_wire.empty()) {
      schedule_.add([this_ = *this, by_wire, to_all](Transfers& transfers) {
        const Call& call = this_.call_;
        for (const Buffer& buffer : by_wire) {
          to_all ? transfers.all_reduce(buffer, call.op, this_.group_.collectives)
                 : transfers.reduce(buffer, call.op, call.root_or_peer, this_.group_.collectives);
        }
      });
      schedule_.add([this_ = *this, by_wire, gets_result](Transfers&) {
        if (gets_result) {
          std::ranges::for_each(by_wire, [&](const Buffer& buffer) { this_.finish(buffer); });
        }
      });
    }
    if (!batches.empty()) {
      reduce_directly(std::move(batches), to_all ? ResultTo::kAll : ResultTo::kRoot);
    }
  }

  /// `inputs` holds one input per rank for each output.
  void reduce_scatter(const std::vector<Buffer>& inputs) const {
    Batches batches;
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      const auto begin = inputs.begin() + static_cast<std::ptrdiff_t>(i * size_);
      const Buffer& output = call_.outputs[i];
      std::vector<Buffer> parts(begin, begin + group_.size());
      for (Buffer& part : parts) {
        part = part.data == output.data ? part : unaliased(part, output);
      }
      add(parts, output, batches);
    }
    reduce_directly(std::move(batches), ResultTo::kOwner);
  }

  // Must return the same on all ranks.
  [[nodiscard]] bool is_direct(const Buffer& buffer) const {
    return !has_collectives_ ||
           (size_bytes(buffer) >= kDirectBytes && group_.size() <= kDirectRanks);
  }

  /// Sends each rank its part, and receives this rank's part from all others into consecutive
  /// memory.
  void post_parts_to_owners(const Piece& piece, Transfers& transfers) const {
    for (std::size_t step = 1; step < size_; ++step) {
      std::byte* room = piece.arrived + static_cast<std::int64_t>(step - 1) * size_bytes(piece.own);
      receive({room, piece.own.count, piece.own.dtype}, from(step), tag_, transfers);
    }
    for (std::size_t step = 1; step < size_; ++step) {
      send(piece.parts[static_cast<std::size_t>(to(step))], to(step), tag_, transfers);
    }
  }

  void post_result(const Piece& piece, ResultTo to_whom, Transfers& transfers) const {
    const bool to_all = to_whom == ResultTo::kAll;
    if (to_all || is_root()) {
      for (std::size_t step = 1; step < size_; ++step) {
        receive(piece.parts[static_cast<std::size_t>(from(step))], from(step), tag_ + 1, transfers);
      }
    } else {
      send(piece.own, call_.root_or_peer, tag_ + 1, transfers);
    }
    for (std::size_t step = 1; to_all && step < size_; ++step) {
      send(piece.own, to(step), tag_ + 1, transfers);
    }
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
