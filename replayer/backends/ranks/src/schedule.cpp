#include "schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "et_schema/base/assert.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/ranks/reduce_local.h"

namespace understudy::backends {
namespace {

using et_schema::CommKind;

/// Reductions and broadcasts are direct if they have as many bytes, and each rank's part has.
constexpr std::int64_t kDirectBytes = std::int64_t{1} << 15U;
constexpr std::int64_t kDirectPartBytes = std::int64_t{1} << 11U;
/// What arrives for a direct reduction at once.
constexpr std::int64_t kRoomBytes = std::int64_t{1} << 23U;
/// Branches of a tree of ranks at each of its levels.
constexpr int kBranches = 4;

[[nodiscard]] Buffer slice(const Buffer& whole, std::int64_t first, std::int64_t count) {
  const std::int64_t bytes = first * et_schema::item_size(whole.dtype);
  return {bytes > 0 ? static_cast<std::byte*>(whole.data) + bytes : whole.data, count, whole.dtype};
}

/// Cuts a buffer into consecutive parts of these sizes.
[[nodiscard]] std::vector<Buffer> split(const Buffer& whole,
                                        const std::vector<std::int64_t>& counts) {
  std::vector<Buffer> parts;
  std::int64_t at = 0;
  for (const std::int64_t count : counts) {
    parts.push_back(slice(whole, std::exchange(at, at + count), count));
  }
  return parts;
}

/// Cuts each buffer into n parts whose sizes differ by one element at most, the larger ones first.
/// The parts of all buffers are one list.
[[nodiscard]] std::vector<Buffer> even_parts(const std::vector<Buffer>& wholes, int n) {
  std::vector<Buffer> parts;
  for (const Buffer& whole : wholes) {
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t count = whole.count / n + (i < whole.count % n ? 1 : 0);
      parts.push_back(slice(whole, std::exchange(at, at + count), count));
    }
  }
  return parts;
}

/// Copies all elements; the buffers must have the same size and may overlap.
void copy(const Buffer& from, const Buffer& to) {
  if (from.data != to.data && from.count > 0) {
    std::memmove(to.data, from.data, static_cast<std::size_t>(size_bytes(from)));
  }
}

[[nodiscard]] bool overlap(const Buffer& a, const Buffer& b) {
  const auto* a_begin = static_cast<const std::byte*>(a.data);
  const auto* b_begin = static_cast<const std::byte*>(b.data);
  return a.count > 0 && b.count > 0 && std::less<>()(a_begin, b_begin + size_bytes(b)) &&
         std::less<>()(b_begin, a_begin + size_bytes(a));
}

/// Small buffers go up and down a tree of ranks. Of large ones each rank owns a part: it receives
/// all versions of it, reduces them, and sends the result to those who get it. This is the least
/// possible traffic, and all ranks share the work. All ranks must make the same choice.
class CallSteps {
 public:
  CallSteps(const Call& call, const Group& group, Schedule& schedule)
      : call_(call),
        group_(group),
        schedule_(schedule),
        size_(static_cast<std::size_t>(group.size())),
        self_(static_cast<std::size_t>(group.rank)) {}

  void add() const {
    switch (call_.kind) {
      case CommKind::kAllReduce:
      case CommKind::kReduce:
        return reduce();
      case CommKind::kReduceScatter:
        return reduce_scatter(call_.inputs);
      case CommKind::kReduceScatterBase:
        return reduce_scatter(even_parts(call_.inputs, group_.size()));
      case CommKind::kBroadcast:
        return broadcast();
      case CommKind::kAllGather:
        return exchange(each_to_all(call_.inputs), call_.outputs);
      case CommKind::kAllGatherBase:
        return exchange(each_to_all(call_.inputs), even_parts(call_.outputs, group_.size()));
      case CommKind::kGather:
        return gather(call_.inputs[0], call_.outputs);
      case CommKind::kScatter:
        return scatter(call_.inputs, call_.outputs);
      case CommKind::kAllToAll:
      case CommKind::kAllToAllV:
        return all_to_all();
      case CommKind::kSend:
        return send_each(call_.inputs, call_.root_or_peer);
      case CommKind::kRecv:
        return receive_each(call_.outputs, call_.root_or_peer);
      case CommKind::kBarrier:
        return barrier();
      case CommKind::kWait:
      case CommKind::kInit:
        break;
    }
    UNDERSTUDY_ASSERT(false);
  }

 private:
  // What only moves: each part goes from one rank to another in a single step.

  /// Sends sends[i·n + r] to rank r, and receives receives[i·n + r] from it.
  void exchange(const std::vector<Buffer>& sends, const std::vector<Buffer>& receives) const {
    for (std::size_t list = 0; list < receives.size(); list += size_) {
      // Each rank begins with its neighbour, so that they do not all begin with the same rank.
      for (std::size_t step = 1; step < size_; ++step) {
        const std::size_t peer = (self_ + size_ - step) % size_;
        schedule_.receive(receives[list + peer], static_cast<int>(peer));
      }
      for (std::size_t step = 1; step < size_; ++step) {
        const std::size_t peer = (self_ + step) % size_;
        schedule_.send(sends[list + peer], static_cast<int>(peer));
      }
      copy(sends[list + self_], receives[list + self_]);
    }
  }

  /// Gathers each rank's `own` in the root's `parts`.
  void gather(const Buffer& own, const std::vector<Buffer>& parts) const {
    if (!is_root()) {
      return schedule_.send(own, call_.root_or_peer);
    }
    for (std::size_t peer = 0; peer < size_; ++peer) {
      if (peer != self_) {
        schedule_.receive(parts[peer], static_cast<int>(peer));
      }
    }
    copy(own, parts[self_]);
  }

  /// Sends the root's parts[i·n + r] to own[i] of rank r.
  void scatter(const std::vector<Buffer>& parts, const std::vector<Buffer>& own) const {
    if (!is_root()) {
      return receive_each(own, call_.root_or_peer);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t peer = i % size_;
      if (peer == self_) {
        copy(parts[i], own[i / size_]);
      } else {
        schedule_.send(parts[i], static_cast<int>(peer));
      }
    }
  }

  /// After each step this rank knows of twice as many ranks that they have come.
  void barrier() const {
    for (int stride = 1; stride < group_.size(); stride *= 2) {
      schedule_.receive({}, (group_.rank + group_.size() - stride) % group_.size());
      schedule_.send({}, (group_.rank + stride) % group_.size());
      schedule_.then();
    }
  }

  void all_to_all() const {
    std::vector<Buffer> inputs;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      inputs.push_back(unaliased(call_.inputs[i], call_.outputs[i]));
    }
    if (call_.kind == CommKind::kAllToAllV) {
      exchange(split(inputs[0], call_.in_splits), split(call_.outputs[0], call_.out_splits));
    } else if (inputs.size() == 1) {
      exchange(even_parts(inputs, group_.size()), even_parts(call_.outputs, group_.size()));
    } else {
      exchange(inputs, call_.outputs);
    }
  }

  void broadcast() const {
    std::vector<Buffer> small;
    std::vector<Buffer> large;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const Buffer& buffer = call_.outputs[i];
      if (is_root()) {
        copy(call_.inputs[i], buffer);
      }
      if (group_.size() > kBranches && is_direct(buffer)) {
        large.push_back(buffer);
      } else {
        small.push_back(buffer);
      }
    }
    broadcast_by_tree(small, call_.root_or_peer);
    if (!large.empty()) {
      const std::vector<Buffer> parts = even_parts(large, group_.size());
      std::vector<Buffer> own;
      for (std::size_t i = self_; i < parts.size(); i += size_) {
        own.push_back(parts[i]);
      }
      schedule_.then();
      scatter(parts, own);
      schedule_.then();
      exchange(each_to_all(own), parts);
    }
  }

  // Trees of ranks.

  /// A rank's place in a tree.
  struct Place {
    int parent = -1;  ///< -1: this rank is the root
    std::vector<int> children = {};
  };

  [[nodiscard]] Place place_below(int root) const {
    const int size = group_.size();
    const int self = (group_.rank - root + size) % size;
    Place place;
    for (int stride = 1; stride < size; stride *= kBranches) {
      if (const int above = self % (stride * kBranches); above != 0) {
        place.parent = (self - above + root) % size;
        break;
      }
      for (int branch = 1; branch < kBranches && self + branch * stride < size; ++branch) {
        place.children.push_back((self + branch * stride + root) % size);
      }
    }
    return place;
  }

  /// Reduces the buffers of all ranks in those of the root.
  void reduce_by_tree(const std::vector<Buffer>& buffers, int root) const {
    const Place place = place_below(root);
    std::vector<Buffer> arrived;
    for (const int child : place.children) {
      for (const Buffer& buffer : buffers) {
        arrived.push_back({schedule_.scratch(size_bytes(buffer)), buffer.count, buffer.dtype});
        schedule_.receive(arrived.back(), child);
      }
    }
    const bool is_top = place.parent < 0;
    schedule_.then([this_ = *this, buffers, arrived, is_top] {
      for (std::size_t i = 0; i < arrived.size(); ++i) {
        reduce_local(buffers[i % buffers.size()], arrived[i].data, this_.call_.op);
      }
      for (std::size_t i = 0; is_top && i < buffers.size(); ++i) {
        this_.finish(buffers[i]);
      }
    });
    if (!is_top) {
      send_each(buffers, place.parent);
    }
  }

  void broadcast_by_tree(const std::vector<Buffer>& buffers, int root) const {
    const Place place = place_below(root);
    if (place.parent >= 0) {
      receive_each(buffers, place.parent);
      schedule_.then();
    }
    // The last one has the most ranks below it.
    std::for_each(place.children.rbegin(), place.children.rend(),
                  [&](int child) { send_each(buffers, child); });
  }

  // Reductions.

  /// Adds the steps of all_reduce or of reduce, whose result only the root gets.
  void reduce() const {
    const bool to_all = call_.kind == CommKind::kAllReduce;
    std::vector<Buffer> small;
    Batches batches;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const Buffer& input = call_.inputs[i];
      if (gets_result()) {
        copy(input, call_.outputs[i]);
      }
      const Buffer& buffer = gets_result() ? call_.outputs[i] : input;
      if (is_direct(buffer)) {
        const std::vector<Buffer> parts = even_parts({buffer}, group_.size());
        add(parts, parts[self_], batches);
      } else {
        small.push_back(gets_result() ? buffer : twin(input));
      }
    }
    if (!small.empty()) {
      reduce_by_tree(small, to_all ? 0 : call_.root_or_peer);
    }
    if (!small.empty() && to_all) {
      if (group_.rank != 0) {
        schedule_.then();  // the buffers are being sent until now
      }
      broadcast_by_tree(small, 0);
    }
    reduce_directly(std::move(batches));
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
    reduce_directly(std::move(batches));
  }

  /// A piece of a buffer that is reduced directly.
  struct Piece {
    std::vector<Buffer> parts;  ///< by rank
    Buffer own;                 ///< where this rank's part is reduced
    std::int64_t room_at = 0;
    std::byte* room = nullptr;  ///< for each rank's version of this rank's part
    [[nodiscard]] Buffer version(std::size_t rank) const {
      return {room + static_cast<std::int64_t>(rank) * size_bytes(own), own.count, own.dtype};
    }
  };
  /// Pieces that are reduced together. They have the room of the batch before: fresh memory for all
  /// that arrives would cost more than the reduction (a page fault for each page).
  struct Batch {
    std::vector<Piece> pieces = {};
    std::int64_t room_bytes = 0;  ///< kRoomBytes at most
  };
  using Batches = std::vector<Batch>;

  /// Adds a buffer of these parts, whose own one is reduced into `own`.
  void add(const std::vector<Buffer>& parts, const Buffer& own, Batches& batches) const {
    const Buffer& largest = *std::ranges::max_element(parts, {}, &Buffer::count);
    const std::int64_t pieces = size_bytes(largest) * group_.size() / kRoomBytes + 1;
    const std::int64_t count = (largest.count + pieces - 1) / pieces;
    const std::int64_t bytes = count * et_schema::item_size(own.dtype) * group_.size();
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const auto cut = [&](const Buffer& whole) {
        const std::int64_t first = std::min(piece * count, whole.count);
        return slice(whole, first, std::min(count, whole.count - first));
      };
      if (batches.empty() || batches.back().room_bytes + bytes > kRoomBytes) {
        batches.emplace_back();
      }
      Batch& batch = batches.back();
      Piece& added = batch.pieces.emplace_back(
          Piece{.parts = {}, .own = cut(own), .room_at = batch.room_bytes});
      std::ranges::transform(parts, std::back_inserter(added.parts), cut);
      batch.room_bytes += bytes;
    }
  }

  /// The results of a batch are sent while the parts of the next one arrive.
  void reduce_directly(Batches batches) const {
    std::int64_t room_bytes = 0;
    for (const Batch& batch : batches) {
      room_bytes = std::max(room_bytes, batch.room_bytes);
    }
    // A rank that gets no result reduces its part in the room, so it has two, in turn.
    std::byte* room = schedule_.scratch(gets_result() ? room_bytes : 2 * room_bytes);
    std::byte* other = gets_result() ? room : room + room_bytes;
    for (Batch& batch : batches) {
      for (Piece& piece : batch.pieces) {
        piece.room = room + piece.room_at;
        piece.own = gets_result() ? piece.own : piece.version(self_);
        send_parts(piece);
      }
      schedule_.then([this_ = *this, pieces = batch.pieces] {
        std::ranges::for_each(pieces, [&](const Piece& piece) { this_.reduce(piece); });
      });
      std::ranges::for_each(batch.pieces, [&](const Piece& piece) { send_result(piece); });
      std::swap(room, other);
    }
  }

  /// Sends each rank its part, and receives all versions of this rank's.
  void send_parts(const Piece& piece) const {
    std::vector<Buffer> versions;
    for (std::size_t rank = 0; rank < size_; ++rank) {
      versions.push_back(rank == self_ ? piece.parts[self_] : piece.version(rank));
    }
    exchange(piece.parts, versions);
  }

  void reduce(const Piece& piece) const {
    copy(piece.parts[self_], piece.own);
    for (std::size_t rank = 0; rank < size_; ++rank) {
      if (rank != self_) {
        reduce_local(piece.own, piece.version(rank).data, call_.op);
      }
    }
    finish(piece.own);
  }

  void send_result(const Piece& piece) const {
    if (call_.kind == CommKind::kAllReduce) {
      exchange(each_to_all({piece.own}), piece.parts);
    } else if (call_.kind == CommKind::kReduce) {
      gather(piece.own, piece.parts);
    }
  }

  void finish(const Buffer& buffer) const {
    scale(buffer, call_.op == ReduceOp::kAvg ? group_.size() : 1, call_.factor);
  }

  [[nodiscard]] bool gets_result() const { return call_.kind != CommKind::kReduce || is_root(); }
  [[nodiscard]] bool is_direct(const Buffer& buffer) const {
    return size_bytes(buffer) >= std::max(kDirectBytes, kDirectPartBytes * group_.size());
  }

  [[nodiscard]] bool is_root() const { return group_.rank == call_.root_or_peer; }

  void send_each(const std::vector<Buffer>& buffers, int peer) const {
    std::ranges::for_each(buffers, [&](const Buffer& buffer) { schedule_.send(buffer, peer); });
  }
  void receive_each(const std::vector<Buffer>& buffers, int peer) const {
    std::ranges::for_each(buffers, [&](const Buffer& buffer) { schedule_.receive(buffer, peer); });
  }

  /// Returns a list with each buffer once per rank.
  [[nodiscard]] std::vector<Buffer> each_to_all(const std::vector<Buffer>& buffers) const {
    std::vector<Buffer> sends;
    for (const Buffer& buffer : buffers) {
      sends.insert(sends.end(), size_, buffer);
    }
    return sends;
  }

  /// Returns a copy that lives as long as the schedule.
  [[nodiscard]] Buffer twin(const Buffer& buffer) const {
    const Buffer copied{schedule_.scratch(size_bytes(buffer)), buffer.count, buffer.dtype};
    copy(buffer, copied);
    return copied;
  }

  /// Returns the input, or a copy of it if the output overlaps it.
  [[nodiscard]] Buffer unaliased(const Buffer& input, const Buffer& output) const {
    return overlap(input, output) ? twin(input) : input;
  }

  const Call& call_;
  const Group& group_;
  Schedule& schedule_;
  std::size_t size_;
  std::size_t self_;
};

}  // namespace

void add_steps(const Call& call, const Group& group, Schedule& schedule) {
  CallSteps(call, group, schedule).add();
}

}  // namespace understudy::backends
