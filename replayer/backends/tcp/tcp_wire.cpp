#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "header.h"
#include "meet.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/interface/launcher.h"
#include "replayer/backends/ranks/wire.h"
#include "socket.h"

namespace understudy::backends {
namespace {

/// Most bytes read from one rank before other ranks are read.
constexpr std::size_t kTurnBytes = std::size_t{4} << 20U;
constexpr std::size_t kMostEvents = 64;

/// A posted send or receive.
struct Transfer {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  int peer = 0;  ///< rank in the channel's group
  bool is_done = false;
  std::int64_t arrived_bytes = 0;  ///< of a completed receive: the message's size
};

/// Sockets between each pair of ranks, which connect through a store. A message is sent when it is
/// posted. A message that arrives before its receive is kept in separate memory.
class TcpWire : public Wire {
 public:
  /// Returns when all ranks are connected. Throws as meet_ranks() does.
  TcpWire(const Launch& launch, double time_limit_s)
      : rank_(launch.rank), time_limit_s_(time_limit_s), events_(epoll_create1(EPOLL_CLOEXEC)) {
    for (Socket& socket : meet_ranks(launch, time_limit_s)) {
      peers_.emplace_back().socket = std::move(socket);
    }
    for (int rank = 0; rank < world_size(); ++rank) {
      if (rank != rank_) {
        make_quick(peer(rank).socket);
        listen_to(rank, /*for_room=*/false, /*is_new=*/true);
      }
    }
  }

  TcpWire(const TcpWire&) = delete;
  TcpWire& operator=(const TcpWire&) = delete;
  /// Waits for the other ranks to end, unless left unfinished.
  ~TcpWire() override {
    if (!is_unfinished_) {
      try {
        say_goodbye();
      } catch (const et_schema::Error&) {
        // The job has succeeded. If a rank sends an invalid message now, the wait just ends.
      }
    }
  }

  [[nodiscard]] std::string name() const override { return "tcp"; }
  [[nodiscard]] std::string version() const override {
    return fmt::format("sockets, met at c10d's store with{} {}",
                       std::getenv(kJobKey) == nullptr ? "out" : "", kJobKey);
  }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return static_cast<int>(peers_.size()); }

  [[nodiscard]] Channel open(std::uint32_t id, std::span<const int> ranks) override {
    channels_.push_back({id, {ranks.begin(), ranks.end()}});
    return static_cast<Channel>(channels_.size() - 1);
  }

  [[nodiscard]] std::unique_ptr<Transfers> make_transfers() override;

  void progress() override {
    std::array<epoll_event, kMostEvents> ready{};
    const int count = epoll_wait(events_.fd(), ready.data(), static_cast<int>(ready.size()), 0);
    if (count <= 0) {
      std::this_thread::yield();
    }
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = ready[static_cast<std::size_t>(i)];
      const int rank = static_cast<int>(event.data.u32);
      if ((event.events & EPOLLOUT) != 0) {
        write_to(rank);
      }
      if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        read_from(rank);
      }
    }
  }

  void post(int world_rank, std::span<const std::byte> letter) override {
    UNDERSTUDY_ASSERT(letter.size() <= kLargestLetter);
    put(world_rank, {.header = {.kind = Header::Kind::kLetter,
                                .bytes = static_cast<std::int64_t>(letter.size())},
                     .own = {letter.begin(), letter.end()}});
  }

  [[nodiscard]] std::optional<Letter> next_letter() override {
    if (letters_.empty()) {
      return std::nullopt;
    }
    Letter letter = std::move(letters_.front());
    letters_.pop_front();
    return letter;
  }

  [[nodiscard]] bool is_lost(int world_rank) const override { return peer(world_rank).is_lost; }
  void leave_unfinished() override { is_unfinished_ = true; }
  void abort_others(int status) override {
    for (int rank = 0; rank < world_size(); ++rank) {
      // No message can follow one that is not fully sent: its memory may be freed. The rank sees
      // that the connection is closed instead.
      if (rank != rank_ && peer(rank).outgoing.empty()) {
        put(rank, {.header = {.kind = Header::Kind::kAbort, .tag = status}});
      }
    }
  }

  void send(const std::shared_ptr<Transfer>& transfer, int tag, Channel channel) {
    const OpenChannel& open = channels_[channel];
    put(open.ranks[static_cast<std::size_t>(transfer->peer)],
        {.header = {.channel = open.id, .tag = tag, .bytes = transfer->bytes},
         .transfer = transfer});
  }

  void receive(const std::shared_ptr<Transfer>& transfer, int tag, Channel channel) {
    const OpenChannel& open = channels_[channel];
    const Key key{open.ranks[static_cast<std::size_t>(transfer->peer)], open.id, tag};
    const std::shared_ptr<Incoming> message = take_first(kept_, key);
    if (message == nullptr) {
      awaited_.emplace(key, transfer);
      return;
    }
    message->transfer = transfer;
    if (message->is_whole()) {
      hand_over(*message);
    }
  }

 private:
  struct OpenChannel {
    std::uint32_t id = 0;
    std::vector<int> ranks;  ///< world ranks in group order
  };
  /// An outgoing message. Its content is its own memory, or belongs to a transfer.
  struct Outgoing {
    Header header;
    std::vector<std::byte> own = {};
    std::shared_ptr<Transfer> transfer = nullptr;
    std::size_t sent_bytes = 0;  ///< bytes of header and content
    [[nodiscard]] const std::byte* content() const {
      return transfer == nullptr ? own.data() : transfer->data;
    }
  };
  /// An incoming message, or one that is kept.
  struct Incoming {
    Header header;
    bool is_own = false;                 ///< no receive of its size is posted: read into `own`
    std::vector<std::byte> own;          ///< grows as bytes arrive, since the header may be wrong
    std::shared_ptr<Transfer> transfer;  ///< the receive posted for it
    std::size_t got_bytes = 0;           ///< bytes of header and content
    [[nodiscard]] bool is_whole() const {
      return got_bytes == sizeof(Header) + static_cast<std::size_t>(header.bytes);
    }
  };
  struct Peer {
    Socket socket;
    std::deque<Outgoing> outgoing;
    std::shared_ptr<Incoming> incoming;
    bool waits_for_room = false;  ///< the socket's buffer is full
    bool has_said_goodbye = false;
    bool is_lost = false;
  };
  /// Sender's world rank, channel's id, tag.
  using Key = std::tuple<int, std::uint32_t, std::int32_t>;
  /// Items of one key stay in their order.
  template <typename Item>
  using Queues = std::multimap<Key, std::shared_ptr<Item>>;

  /// Removes and returns the first item of a key; null if there is none.
  template <typename Item>
  static std::shared_ptr<Item> take_first(Queues<Item>& queues, const Key& key) {
    const auto first = queues.lower_bound(key);
    if (first == queues.end() || first->first != key) {
      return nullptr;
    }
    return queues.extract(first).mapped();
  }

  [[nodiscard]] Peer& peer(int world_rank) { return peers_[static_cast<std::size_t>(world_rank)]; }
  [[nodiscard]] const Peer& peer(int world_rank) const {
    return peers_[static_cast<std::size_t>(world_rank)];
  }

  void put(int world_rank, Outgoing&& message) {
    Peer& to = peer(world_rank);
    if (world_rank == rank_) {
      return deliver_here(message);
    }
    if (to.is_lost) {
      return;  // the watch reports it to ranks that wait
    }
    to.outgoing.push_back(std::move(message));
    if (!to.waits_for_room) {
      write_to(world_rank);
    }
  }

  void deliver_here(Outgoing& message) {
    const auto incoming = std::make_shared<Incoming>();
    incoming->header = message.header;
    incoming->got_bytes = sizeof(Header) + static_cast<std::size_t>(message.header.bytes);
    incoming->own.assign(message.content(), message.content() + message.header.bytes);
    begin_content(rank_, incoming);
    end_content(rank_, incoming);
    if (message.transfer != nullptr) {
      message.transfer->is_done = true;
    }
  }

  void write_to(int world_rank) {
    Peer& to = peer(world_rank);
    while (!to.outgoing.empty()) {
      Outgoing& message = to.outgoing.front();
      const std::size_t whole = sizeof(Header) + static_cast<std::size_t>(message.header.bytes);
      const std::size_t head = std::min(message.sent_bytes, sizeof(Header));
      const std::size_t body = message.sent_bytes - head;
      std::array<iovec, 2> parts = {
          iovec{reinterpret_cast<std::byte*>(&message.header) + head, sizeof(Header) - head},
          iovec{const_cast<std::byte*>(message.content()) + body, whole - sizeof(Header) - body}};
      msghdr both{};
      both.msg_iov = parts.data();
      both.msg_iovlen = parts.size();
      const ssize_t sent = sendmsg(to.socket.fd(), &both, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) {
        continue;
      }
      if (sent < 0 && errno != EAGAIN) {
        return lose(world_rank);
      }
      message.sent_bytes += static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
      if (message.sent_bytes < whole) {
        break;
      }
      if (message.transfer != nullptr) {
        message.transfer->is_done = true;
      }
      to.outgoing.pop_front();
    }
    if (to.waits_for_room == to.outgoing.empty()) {
      to.waits_for_room = !to.outgoing.empty();
      listen_to(world_rank, to.waits_for_room, /*is_new=*/false);
    }
  }

  void read_from(int world_rank) {
    Peer& from = peer(world_rank);
    std::size_t turn_bytes = 0;
    while (turn_bytes < kTurnBytes && !from.is_lost) {
      if (from.incoming == nullptr) {
        from.incoming = std::make_shared<Incoming>();
      }
      const std::shared_ptr<Incoming> incoming = from.incoming;
      const std::size_t before = incoming->got_bytes;
      if (!read_more(world_rank, *incoming)) {
        return;
      }
      turn_bytes += incoming->got_bytes - before;
      if (before < sizeof(Header) && incoming->got_bytes == sizeof(Header)) {
        if (const auto fault = fault_of(incoming->header, world_rank)) {
          lose(world_rank);
          throw *fault;
        }
        begin_content(world_rank, incoming);
      }
      if (incoming->got_bytes >= sizeof(Header) && incoming->is_whole()) {
        from.incoming = nullptr;
        end_content(world_rank, incoming);
      }
    }
  }

  /// Reads available bytes of the header, or of the content after it. Returns false if there are
  /// none.
  [[nodiscard]] bool read_more(int world_rank, Incoming& incoming) {
    std::byte* into = nullptr;
    std::size_t most = 0;
    if (incoming.got_bytes < sizeof(Header)) {
      into = reinterpret_cast<std::byte*>(&incoming.header) + incoming.got_bytes;
      most = sizeof(Header) - incoming.got_bytes;
    } else {
      const std::size_t at = incoming.got_bytes - sizeof(Header);
      most = static_cast<std::size_t>(incoming.header.bytes) - at;
      // A message that began in `own` stays there, even if a receive is posted meanwhile.
      if (incoming.is_own) {
        most = std::min(most, std::max(at, kTurnBytes));
        incoming.own.resize(at + most);
      }
      into = (incoming.is_own ? incoming.own.data() : incoming.transfer->data) + at;
    }
    const ssize_t got = recv(peer(world_rank).socket.fd(), into, most, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return false;
    }
    if (got <= 0) {
      lose(world_rank);
      return false;
    }
    incoming.got_bytes += static_cast<std::size_t>(got);
    return true;
  }

  /// Decides where to store a message whose header is complete.
  void begin_content(int world_rank, const std::shared_ptr<Incoming>& incoming) {
    const Header& header = incoming->header;
    if (header.kind == Header::Kind::kMessage) {
      const Key key{world_rank, header.channel, header.tag};
      incoming->transfer = take_first(awaited_, key);
      if (incoming->transfer == nullptr) {
        kept_.emplace(key, incoming);
      }
    }
    incoming->is_own = incoming->transfer == nullptr || incoming->transfer->bytes != header.bytes;
  }

  void end_content(int world_rank, const std::shared_ptr<Incoming>& incoming) {
    switch (incoming->header.kind) {
      case Header::Kind::kMessage:
        if (incoming->transfer != nullptr) {
          hand_over(*incoming);
        }
        return;
      case Header::Kind::kLetter:
        letters_.push_back({world_rank, std::move(incoming->own)});
        return;
      case Header::Kind::kAbort: {
        // Never exits with success, like MPI's launcher if a rank aborts the job.
        const int status = incoming->header.tag & 0xff;
        std::_Exit(status == 0 ? 1 : status);
      }
      case Header::Kind::kGoodbye:
        peer(world_rank).has_said_goodbye = true;
        return;
    }
    UNDERSTUDY_ASSERT(false);
  }

  /// Completes the transfer that waits for a whole message.
  static void hand_over(Incoming& incoming) {
    Transfer& transfer = *incoming.transfer;
    transfer.arrived_bytes = incoming.header.bytes;
    if (!incoming.own.empty() && transfer.arrived_bytes == transfer.bytes) {
      std::memcpy(transfer.data, incoming.own.data(), incoming.own.size());
    }
    transfer.is_done = true;
  }

  void listen_to(int world_rank, bool for_room, bool is_new) {
    epoll_event event{};
    event.events = EPOLLIN | (for_room ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
    event.data.u32 = static_cast<std::uint32_t>(world_rank);
    if (epoll_ctl(events_.fd(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD,
                  peer(world_rank).socket.fd(), &event) != 0) {
      throw et_schema::run_failed("a socket failed in epoll_ctl",
                                  {.got = std::generic_category().message(errno)});
    }
  }

  /// Marks a rank as lost. If it said goodbye before, it has ended normally.
  void lose(int world_rank) {
    Peer& gone = peer(world_rank);
    epoll_ctl(events_.fd(), EPOLL_CTL_DEL, gone.socket.fd(), nullptr);
    gone.is_lost = true;
    gone.outgoing.clear();
  }

  /// Other ranks may still need data that this rank has sent, so it waits until all have reached
  /// the end.
  void say_goodbye() {
    for (int rank = 0; rank < world_size(); ++rank) {
      if (rank != rank_) {
        put(rank, {.header = {.kind = Header::Kind::kGoodbye}});
      }
    }
    const auto is_through = [](const Peer& other) {
      return !other.socket.is_open() || other.is_lost ||
             (other.has_said_goodbye && other.outgoing.empty());
    };
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(time_limit_s_);
    while (!std::ranges::all_of(peers_, is_through) &&
           std::chrono::steady_clock::now() < deadline) {
      progress();
    }
  }

  int rank_ = 0;
  bool is_unfinished_ = false;
  double time_limit_s_ = 0;
  std::vector<Peer> peers_;  ///< by world rank; this rank's own is not connected
  Socket events_;
  std::vector<OpenChannel> channels_;
  Queues<Transfer> awaited_;
  Queues<Incoming> kept_;
  std::deque<Letter> letters_;
};

class TcpTransfers : public Transfers {
 public:
  explicit TcpTransfers(TcpWire& wire) : wire_(wire) {}

  void send(const Buffer& buffer, int peer, int tag, Channel channel) override {
    wire_.send(add(buffer, peer, size_bytes(buffer)), tag, channel);
  }
  void receive(const Buffer& buffer, int peer, int tag, Channel channel) override {
    wire_.receive(add(buffer, peer, 0), tag, channel);
  }

  [[nodiscard]] bool test() override {
    if (!std::ranges::all_of(all_, [](const auto& transfer) { return transfer->is_done; })) {
      return false;
    }
    for (const std::shared_ptr<Transfer>& transfer : all_) {
      if (transfer->arrived_bytes != transfer->bytes) {
        throw et_schema::run_failed("a message of another size",
                                    {.expected = fmt::format("{} bytes from rank {} of the group",
                                                             transfer->bytes, transfer->peer),
                                     .got = fmt::format("{}", transfer->arrived_bytes)});
      }
    }
    all_.clear();
    return true;
  }

 private:
  std::shared_ptr<Transfer> add(const Buffer& buffer, int peer, std::int64_t arrived_bytes) {
    return all_.emplace_back(std::make_shared<Transfer>(Transfer{
        static_cast<std::byte*>(buffer.data), size_bytes(buffer), peer, false, arrived_bytes}));
  }

  TcpWire& wire_;
  std::vector<std::shared_ptr<Transfer>> all_;
};

std::unique_ptr<Transfers> TcpWire::make_transfers() {
  return std::make_unique<TcpTransfers>(*this);
}

}  // namespace
}  // namespace understudy::backends

extern "C" understudy::backends::Backend* understudy_make_backend(
    const understudy::backends::BackendOptions& options) {
  namespace backends = understudy::backends;
  const std::optional<backends::Launch> launch = backends::launched();
  UNDERSTUDY_ASSERT(launch.has_value());
  return backends::make_ranks_backend(
             std::make_unique<backends::TcpWire>(*launch, options.time_limit_s), options)
      .release();
}
