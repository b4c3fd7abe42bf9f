#pragma once

#include <cstddef>
#include <vector>

#include "backends/communicator.h"
#include "group.h"
#include "schedule.h"

namespace understudy::backends {

/// Tags that one call may use: its own and the next.
inline constexpr int kTagsOfCall = 2;

/// A checked call on its way to a schedule. The steps keep copies of it, so call and group must
/// outlive the schedule. A wire without collectives gets messages in their place.
class Lowering {
 public:
  /// Among the calls under way in the group, only this one may use `tag`.
  Lowering(const Call& call, const Group& group, bool has_collectives, int tag)
      : call_(call),
        group_(group),
        has_collectives_(has_collectives),
        tag_(tag),
        size_(static_cast<std::size_t>(group.size())),
        self_(static_cast<std::size_t>(group.rank)) {}

  /// Adds the call's steps.
  void lower(Schedule& schedule) const;

 private:
  // lower_reductions.cpp
  void all_reduce(Schedule& schedule) const;
  void reduce(Schedule& schedule) const;
  void reduce_scatter(const std::vector<Buffer>& inputs, Schedule& schedule) const;
  [[nodiscard]] bool is_direct(const Buffer& buffer) const;
  void post_parts_to_owners(const std::vector<Buffer>& parts, std::byte* arrived,
                            Transfers& transfers) const;
  void post_own_to_all(const std::vector<Buffer>& parts, Transfers& transfers) const;
  void post_parts_to_root(const std::vector<Buffer>& parts, const Buffer& own,
                          Transfers& transfers) const;
  [[nodiscard]] std::byte* room_for_arrivals(const Buffer& own, Schedule& schedule) const;
  void reduce_arrived(const Buffer& own, const std::byte* arrived) const;
  void finish(const Buffer& buffer) const;

  // lower_moves.cpp
  void broadcast(Schedule& schedule) const;
  void all_gather_base(Schedule& schedule) const;
  void gather(Schedule& schedule) const;
  void scatter(Schedule& schedule) const;
  void all_to_all(Schedule& schedule) const;
  void all_to_allv(Schedule& schedule) const;
  void message(Schedule& schedule) const;
  void barrier(Schedule& schedule) const;
  void exchange(const std::vector<Buffer>& sends, const std::vector<Buffer>& receives,
                Schedule& schedule) const;
  void rooted_exchange(const std::vector<Buffer>& sends, const std::vector<Buffer>& receives,
                       bool to_root, Schedule& schedule) const;
  [[nodiscard]] std::vector<Buffer> each_to_all(const std::vector<Buffer>& buffers) const;
  [[nodiscard]] static Buffer unaliased(const Buffer& input, const Buffer& output,
                                        Schedule& schedule);

  // Each rank begins with its neighbour, so that not all ranks begin with the same one.
  [[nodiscard]] int to(std::size_t step) const { return static_cast<int>((self_ + step) % size_); }
  [[nodiscard]] int from(std::size_t step) const {
    return static_cast<int>((self_ + size_ - step) % size_);
  }
  [[nodiscard]] bool is_root() const { return group_.rank == call_.root_or_peer; }
  void send(const Buffer& buffer, int peer, int tag, Transfers& transfers) const;
  void receive(const Buffer& buffer, int peer, int tag, Transfers& transfers) const;

  const Call& call_;
  const Group& group_;
  bool has_collectives_;
  int tag_;
  std::size_t size_;
  std::size_t self_;
};

}  // namespace understudy::backends
