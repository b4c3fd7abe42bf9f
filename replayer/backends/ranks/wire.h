#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "et_schema/base/assert.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::backends {

/// A space of tags among the ranks of a group: its messages never meet those of another channel.
using Channel = std::uint32_t;

/// Transfers that are complete together. Buffers must live until test() has returned true. Ranks
/// and roots are those of the channel's group.
class Transfers {
 public:
  virtual ~Transfers() = default;

  virtual void send(const void* data, std::int64_t bytes, int peer, int tag, Channel channel) = 0;
  /// If the message that arrives has another size, test() throws.
  virtual void receive(void* data, std::int64_t bytes, int peer, int tag, Channel channel) = 0;

  /// True once all are complete; the set is empty then. Throws Error (failed) if one failed, or if
  /// a message was of another size.
  [[nodiscard]] virtual bool test() = 0;

  // Collectives of the transport's own, for wires that have them. Each is in place: `buffer` holds
  // this rank's part before, and its part of the result afterwards. An average's sum is computed.
  virtual void all_reduce(const Buffer& /*buffer*/, ReduceOp /*op*/, Channel) { none(); }
  virtual void reduce(const Buffer& /*buffer*/, ReduceOp /*op*/, int /*root*/, Channel) { none(); }
  virtual void broadcast(const Buffer& /*buffer*/, int /*root*/, Channel) { none(); }
  /// `own_bytes` of each rank, at most kLargestPart.
  virtual void all_gather(const Buffer& /*buffer*/, std::int64_t /*own_bytes*/, Channel) { none(); }
  /// `part_bytes` for each rank, at most kLargestPart; not in place.
  virtual void all_to_all(const Buffer& /*from*/, const Buffer& /*to*/, std::int64_t /*part_bytes*/,
                          Channel) {
    none();
  }
  virtual void barrier(Channel) { none(); }

  static constexpr std::int64_t kLargestPart = 0x7fffffff;

 private:
  static void none() { UNDERSTUDY_ASSERT(false); }
};

/// A few bytes that another rank sent outside of all channels.
struct Letter {
  int from = 0;  ///< world rank
  std::vector<std::byte> bytes;
};
inline constexpr std::size_t kLargestLetter = 256;

/// A transport between the ranks of a job: MPI, sockets. One thread at a time calls it. Failures
/// throw Error with the transport's own text.
class Wire {
 public:
  virtual ~Wire() = default;
  [[nodiscard]] virtual std::string name() const = 0;     ///< Backend::name()
  [[nodiscard]] virtual std::string version() const = 0;  ///< Backend::version()
  [[nodiscard]] virtual std::string host() const = 0;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  /// Tags are smaller than this.
  [[nodiscard]] virtual int tag_limit() const = 0;
  /// Whether Transfers have collectives; the same on all ranks.
  [[nodiscard]] virtual bool has_collectives() const = 0;

  /// Opens a channel of the world ranks `ranks`, each of which calls it with the same `id`, which
  /// no other channel has, in the same order.
  [[nodiscard]] virtual Channel open(std::uint32_t id, std::span<const int> ranks) = 0;
  [[nodiscard]] virtual std::unique_ptr<Transfers> make_transfers() = 0;
  /// Moves what is under way on; called before Transfers are tested.
  virtual void progress() {}

  /// Sends a letter of at most kLargestLetter bytes; it may be lost if the rank has gone.
  virtual void post(int world_rank, std::span<const std::byte> letter) = 0;
  [[nodiscard]] virtual std::optional<Letter> next_letter() = 0;
  /// Whether the transport itself knows that the rank has ended before the job did.
  [[nodiscard]] virtual bool is_lost(int world_rank) const = 0;

  /// Destroying the wire will not wait for the other ranks, since they may never come to it.
  virtual void leave_unfinished() = 0;
  /// Asks the launcher, or the other ranks, to end them all with this status.
  virtual void abort_others(int status) = 0;
};

/// The backend of several ranks over a wire: groups, a thread that moves transfers on while the
/// program computes, and a watch that names the ranks that a late call waits for.
[[nodiscard]] std::unique_ptr<Backend> make_ranks_backend(std::unique_ptr<Wire> wire,
                                                          const BackendOptions& options);

}  // namespace understudy::backends
