#include "meet.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "et_schema/base/digest.h"
#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"

namespace understudy::backends {
namespace {

/// A 256-bit number as hexadecimal digits.
using Digits = std::array<char, 64>;

/// The first bytes that a rank writes on a connection that it opens.
struct Hello {
  std::int64_t rank = 0;  ///< of the rank that opens the connection
  Digits number{};        ///< random, so that it cannot be guessed
  Digits proof{};         ///< proof of knowing the job's key
};

/// An accepted connection, possibly from outside of the job.
struct Caller {
  Socket socket;
  Deadline patience;
  Hello hello = {};
  std::size_t got_bytes = 0;
};

constexpr std::chrono::seconds kPatience{5};

[[nodiscard]] std::optional<Address> address_of(const std::string& text) {
  std::istringstream words(text);
  Address address;
  const bool is_whole(words >> address.host >> address.port);
  return is_whole ? std::optional(address) : std::nullopt;
}

[[nodiscard]] Digits digits_of(const std::string& text) {
  Digits digits{};
  std::ranges::copy(text, digits.begin());
  return digits;
}

[[nodiscard]] std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// Returns true if torchrun's agent runs a store on the address.
[[nodiscard]] bool has_agent_store() {
  return variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
}

/// Returns c10d's message without the stack trace that follows it.
[[nodiscard]] std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

class Meeting {
 public:
  Meeting(const Launch& launch, double time_limit_s)
      : launch_(launch),
        time_limit_s_(time_limit_s),
        deadline_(std::chrono::steady_clock::now() +
                  std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                      std::chrono::duration<double>(time_limit_s))) {}

  [[nodiscard]] std::vector<Socket> hold() {
    std::vector<Socket> peers(static_cast<std::size_t>(launch_.world_size));
    if (launch_.world_size == 1) {
      return peers;
    }
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(launch_.port);
    options.isServer = launch_.rank == 0 && !has_agent_store();
    options.waitWorkers = false;
    options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(time_limit_s_ * 1000));
    if (options.isServer) {
      Address address{launch_.address, launch_.port};
      options.masterListenFd = listen_for_store(address).release();
      options.port = static_cast<std::uint16_t>(address.port);
    }
    // Other ranks may query rank 0's store later, so it exists until the process ends.
    static c10::intrusive_ptr<c10d::TCPStore> store;
    store = c10::make_intrusive<c10d::TCPStore>(launch_.address, options);
    // A script under one torchrun may start several programs in succession; the count of starts
    // separates them.
    run_ = fmt::format("understudy/{}/{}", variable("TORCHELASTIC_RUN_ID"),
                       store->add(fmt::format("understudy/{}/{}/starts",
                                              variable("TORCHELASTIC_RUN_ID"), launch_.rank),
                                  1));
    Address own{own_address_towards(launch_.address, launch_.port), 0};
    const Socket listener = listen_on(own);
    const auto key = [&](int rank) { return fmt::format("{}/{}", run_, rank); };
    own_address_ = fmt::format("{} {}", own.host, own.port);
    store->set(key(launch_.rank), {own_address_.begin(), own_address_.end()});
    for (int rank = 0; rank < launch_.rank; ++rank) {
      const std::vector<std::uint8_t> told = store->get(key(rank));
      peers[static_cast<std::size_t>(rank)] = call(rank, {told.begin(), told.end()});
    }
    take_callers(listener, peers);
    return peers;
  }

  [[nodiscard]] et_schema::Error not_met(const std::string& got) const {
    return et_schema::run_failed(
        "the ranks did not find each other",
        {.rank = launch_.rank,
         .field = fmt::format("{} port {}", launch_.address, launch_.port),
         .expected = fmt::format("{} ranks within {} s", launch_.world_size, time_limit_s_),
         .got = got,
         .hint = "MASTER_ADDR must be the host of rank 0 as all hosts see it, MASTER_PORT free "
                 "there, WORLD_SIZE the number of processes that are started"});
  }

 private:
  /// Listens on the address that the other ranks use, and on no other interface. An address that is
  /// translated on the way (Kubernetes' services) does not belong to this host. In that case
  /// listens on the interface that leads there.
  [[nodiscard]] Socket listen_for_store(Address& address) const {
    try {
      return listen_on(address);
    } catch (const et_schema::Error&) {
      address.host = own_address_towards(launch_.address, launch_.port);
      return listen_on(address);
    }
  }

  /// Returns a digest that only a process with the job's key can compute. It includes the called
  /// address: the store is open to all, so it may hold the address of a process that forwards
  /// messages.
  [[nodiscard]] Digits proof(std::string_view word, std::string_view called,
                             const Hello& hello) const {
    const std::string_view number(hello.number.data(), hello.number.size());
    return digits_of(et_schema::keyed_digest(
        variable(kJobKey), fmt::format("{} {} {} {} {}", word, called, hello.rank, number, run_)));
  }

  [[nodiscard]] Socket call(int rank, const std::string& told) const {
    const std::optional<Address> address = address_of(told);
    if (!address) {
      throw not_met(fmt::format("rank {} listens at '{}'", rank, et_schema::quote(told)));
    }
    Socket socket = connect_to(*address, deadline_);
    Hello hello{launch_.rank, digits_of(et_schema::random_digits()), {}};
    hello.proof = proof("call", told, hello);
    Digits answer{};
    if (!write_first(socket, std::as_bytes(std::span(&hello, 1))) ||
        !read_all(socket, std::as_writable_bytes(std::span(answer)), deadline_) ||
        answer != proof("answer", told, hello)) {
      throw not_met(fmt::format("rank {} hung up, or has another {}", rank, kJobKey));
    }
    return socket;
  }

  /// Accepts the connections of the ranks above this one. Other connections are closed: at once if
  /// they send something else, after a while if they send nothing. They do not delay the ranks.
  void take_callers(const Socket& listener, std::vector<Socket>& peers) const {
    std::vector<Caller> callers;
    for (int missing = launch_.world_size - 1 - launch_.rank; missing > 0;) {
      Deadline next = deadline_;
      std::vector<const Socket*> sockets{&listener};
      for (const Caller& caller : callers) {
        sockets.push_back(&caller.socket);
        next = std::min(next, caller.patience);
      }
      wait_for_any(sockets, next);
      const Deadline now = std::chrono::steady_clock::now();
      if (now >= deadline_) {
        throw not_met(missing_text(peers));
      }
      if (Socket socket = accept_from(listener); socket.is_open()) {
        callers.push_back({std::move(socket), now + kPatience});
      }
      std::erase_if(callers, [&](Caller& caller) {
        const bool is_open = hear(caller);
        const bool is_rank = is_open && caller.got_bytes == sizeof(Hello) && take(caller, peers);
        missing -= is_rank ? 1 : 0;
        return !is_open || caller.got_bytes == sizeof(Hello) || now >= caller.patience;
      });
    }
  }

  /// Reads the available bytes of the caller's hello. Returns false if the caller has closed the
  /// connection.
  [[nodiscard]] static bool hear(Caller& caller) {
    const auto rest = std::as_writable_bytes(std::span(&caller.hello, 1)).subspan(caller.got_bytes);
    const std::optional<std::size_t> got = read_some(caller.socket, rest);
    caller.got_bytes += got.value_or(0);
    return got.has_value();
  }

  /// Returns true if the caller is a rank, whose connection is then added to `peers`.
  [[nodiscard]] bool take(Caller& caller, std::vector<Socket>& peers) const {
    const Hello& hello = caller.hello;
    if (hello.rank <= launch_.rank || hello.rank >= launch_.world_size ||
        hello.proof != proof("call", own_address_, hello)) {
      return false;
    }
    Socket& place = peers[static_cast<std::size_t>(hello.rank)];
    if (place.is_open()) {
      throw not_met(fmt::format("rank {} twice", hello.rank));
    }
    const Digits answer = proof("answer", own_address_, hello);
    place = std::move(caller.socket);
    return write_first(place, std::as_bytes(std::span(answer)));
  }

  [[nodiscard]] std::string missing_text(const std::vector<Socket>& peers) const {
    std::string missing;
    for (int rank = launch_.rank + 1; rank < launch_.world_size; ++rank) {
      if (!peers[static_cast<std::size_t>(rank)].is_open()) {
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
      }
    }
    return fmt::format("none from rank {}", missing);
  }

  const Launch& launch_;
  double time_limit_s_;
  Deadline deadline_;
  std::string run_;          ///< the same for all ranks of this start
  std::string own_address_;  ///< as stored in the store
};

}  // namespace

std::vector<Socket> meet_ranks(const Launch& launch, double time_limit_s) {
  if (launch.address.empty()) {
    throw et_schema::usage_error(
        "a launcher has started several ranks, but does not say where they meet",
        {.rank = launch.rank,
         .field = "MASTER_ADDR and MASTER_PORT",
         .expected = "the address of rank 0 and a free port there, as torchrun sets them",
         .got = "not both are set",
         .hint = "start with torchrun or mpirun, or set both; unset RANK and WORLD_SIZE for one "
                 "process"});
  }
  if (std::getenv(kJobKey) != nullptr && variable(kJobKey).empty()) {
    throw et_schema::usage_error("the job's key is empty, which anybody knows",
                                 {.rank = launch.rank,
                                  .field = kJobKey,
                                  .expected = "a secret of the job's ranks",
                                  .got = "an empty text",
                                  .hint = "set it to $(openssl rand -hex 32), equal on all hosts, "
                                          "or unset it"});
  }
  Meeting meeting(launch, time_limit_s);
  try {
    return meeting.hold();
  } catch (const et_schema::Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw meeting.not_met(first_line(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    throw meeting.not_met(first_line(error.what()));
  }
}

}  // namespace understudy::backends
