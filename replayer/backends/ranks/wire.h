#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replayer/backends/interface/backend.h"

namespace understudy::backends {

/// A space of tags among the ranks of a group: its messages never match those of another channel.
using Channel = std::uint32_t;

/// Number of tags, from 0 on, that MPI's standard guarantees.
inline constexpr std::uint32_t kTags = 32767;

/// Messages that complete together. Buffers must live until test() has returned true. Ranks are
/// those of the channel's group.
class Transfers {
 public:
  virtual ~Transfers() = default;

  virtual void send(const Buffer& buffer, int peer, int tag, Channel channel) = 0;
  /// Receives a message. test() throws if the message has another size.
  virtual void receive(const Buffer& buffer, int peer, int tag, Channel channel) = 0;

  /// Returns true once all messages are complete; the set is then empty. Throws Error (failed) if
  /// one failed or had another size.
  [[nodiscard]] virtual bool test() = 0;
};

/// A few bytes that another rank sent outside of all channels.
struct Letter {
  int from = 0;  ///< world rank
  std::vector<std::byte> bytes;
};
inline constexpr std::size_t kLargestLetter = 280;

/// A transport between the ranks of a job: MPI, sockets. Only one thread at a time may call it.
/// Failures throw Error with the transport's own text.
class Wire {
 public:
  virtual ~Wire() = default;
  [[nodiscard]] virtual std::string name() const = 0;     ///< Backend::name()
  [[nodiscard]] virtual std::string version() const = 0;  ///< Backend::version()
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;

  /// Opens a channel between the world ranks `ranks`. Each of these ranks must call it in the same
  /// order with the same `id`, which must be unique.
  [[nodiscard]] virtual Channel open(std::uint32_t id, std::span<const int> ranks) = 0;
  [[nodiscard]] virtual std::unique_ptr<Transfers> make_transfers() = 0;
  /// Continues transfers in progress; called before Transfers are tested.
  virtual void progress() {}

  /// Sends a letter of at most kLargestLetter bytes, which may be lost if the rank has ended.
  virtual void post(int world_rank, std::span<const std::byte> letter) = 0;
  [[nodiscard]] virtual std::optional<Letter> next_letter() = 0;
  /// Returns true if the transport knows that the rank has ended before the job did.
  [[nodiscard]] virtual bool is_lost(int world_rank) const = 0;

  /// Makes the destructor not wait for the other ranks, since they may never reach it.
  virtual void leave_unfinished() = 0;
  /// Requests that the launcher, or the other ranks, end all ranks with this status.
  virtual void abort_others(int status) = 0;
};

/// Makes the backend of several ranks over a wire: groups, a thread that continues transfers while
/// the program computes, and a watch that names the ranks that a late call waits for.
[[nodiscard]] std::unique_ptr<Backend> make_ranks_backend(std::unique_ptr<Wire> wire,
                                                          const BackendOptions& options);

}  // namespace understudy::backends
