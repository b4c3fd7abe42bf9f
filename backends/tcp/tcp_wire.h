#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "backends/launcher.h"
#include "backends/wire.h"
#include "socket.h"

namespace understudy::backends {

/// Stands before each message on a connection.
struct Header {
  enum class Kind : std::uint32_t { kMessage, kLetter, kAbort, kGoodbye };
  Kind kind = Kind::kMessage;
  std::uint32_t channel = 0;  ///< its id, which all ranks know it by
  std::int32_t tag = 0;       ///< of kAbort: the status
  std::uint32_t reserved = 0;
  std::int64_t bytes = 0;  ///< that follow
};

/// A send or receive that has been asked for.
struct Transfer {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  int peer = 0;  ///< rank in the channel's group
  bool is_done = false;
  std::int64_t arrived_bytes = 0;  ///< of a receive that is done: the message's size
};

/// Sockets between each two ranks, which met at a store. A message goes out as it is asked for; one
/// that comes before its receive is kept in memory of its own.
class TcpWire : public Wire {
 public:
  /// Returns when all ranks are connected. Throws as meet_ranks() does.
  TcpWire(const Launch& launch, double time_limit_s);
  TcpWire(const TcpWire&) = delete;
  TcpWire& operator=(const TcpWire&) = delete;
  /// Waits for the other ranks to come to their ends, unless left unfinished.
  ~TcpWire() override;

  [[nodiscard]] std::string name() const override { return "tcp"; }
  [[nodiscard]] std::string version() const override { return "sockets, met at c10d's store"; }
  [[nodiscard]] std::string host() const override;
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return static_cast<int>(peers_.size()); }
  [[nodiscard]] int tag_limit() const override;
  [[nodiscard]] bool has_collectives() const override { return false; }

  [[nodiscard]] Channel open(std::uint32_t id, std::span<const int> ranks) override;
  [[nodiscard]] std::unique_ptr<Transfers> make_transfers() override;
  void progress() override;
  void post(int world_rank, std::span<const std::byte> letter) override;
  [[nodiscard]] std::optional<Letter> next_letter() override;
  [[nodiscard]] bool is_lost(int world_rank) const override { return peer(world_rank).is_lost; }
  void leave_unfinished() override { is_unfinished_ = true; }
  void abort_others(int status) override;

  void send(const std::shared_ptr<Transfer>& transfer, int tag, Channel channel);
  void receive(const std::shared_ptr<Transfer>& transfer, int tag, Channel channel);

 private:
  struct OpenChannel {
    std::uint32_t id = 0;
    std::vector<int> ranks;  ///< world ranks in group order
  };
  /// A message on its way out. It has memory of its own, or belongs to a transfer.
  struct Outgoing {
    Header header;
    std::vector<std::byte> own;
    std::shared_ptr<Transfer> transfer;
    std::size_t sent_bytes = 0;  ///< header and content
    [[nodiscard]] const std::byte* content() const {
      return transfer == nullptr ? own.data() : transfer->data;
    }
  };
  /// A message on its way in, or one that is kept.
  struct Incoming {
    Header header;
    std::vector<std::byte> own;          ///< where it goes if nothing of its size waits for it
    std::shared_ptr<Transfer> transfer;  ///< that waits for it
    std::size_t got_bytes = 0;           ///< header and content
    [[nodiscard]] bool is_whole() const {
      return got_bytes == sizeof(Header) + static_cast<std::size_t>(header.bytes);
    }
  };
  struct Peer {
    Socket socket;
    std::deque<Outgoing> outgoing;
    std::shared_ptr<Incoming> incoming;
    bool waits_for_room = false;  ///< the socket's own memory is full
    bool has_said_goodbye = false;
    bool is_lost = false;
  };
  /// Sender's world rank, channel's id, tag.
  using Key = std::tuple<int, std::uint32_t, std::int32_t>;

  [[nodiscard]] Peer& peer(int world_rank) { return peers_[static_cast<std::size_t>(world_rank)]; }
  [[nodiscard]] const Peer& peer(int world_rank) const {
    return peers_[static_cast<std::size_t>(world_rank)];
  }
  void put(int world_rank, Outgoing&& message);
  void deliver_here(Outgoing& message);
  void write_to(int world_rank);
  void read_from(int world_rank);
  /// Reads into the rest of the header, or of the content. False: there is no more for now.
  [[nodiscard]] bool read_more(int world_rank, Incoming& incoming);
  void begin_content(int world_rank, const std::shared_ptr<Incoming>& incoming);
  void end_content(int world_rank, const std::shared_ptr<Incoming>& incoming);
  static void hand_over(Incoming& incoming);
  void listen_to(int world_rank, bool for_room, bool is_new);
  void lose(int world_rank);
  void say_goodbye();

  int rank_ = 0;
  bool is_unfinished_ = false;
  double time_limit_s_ = 0;
  std::vector<Peer> peers_;  ///< by world rank; the own one is not connected
  Socket events_;
  std::vector<OpenChannel> channels_;
  std::map<Key, std::deque<std::shared_ptr<Transfer>>> awaited_;
  std::map<Key, std::deque<std::shared_ptr<Incoming>>> kept_;
  std::deque<Letter> letters_;
};

}  // namespace understudy::backends
