#include "meet.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "et_schema/support/error.h"

namespace understudy::backends {
namespace {

/// What a rank writes first on a connection that it makes, so that a stranger's is not taken.
struct Hello {
  std::uint64_t secret = 0;  ///< of the rank that is called
  std::int64_t rank = 0;     ///< that calls
};

/// Where a rank listens.
struct Door {
  Address address;
  std::uint64_t secret = 0;
};

[[nodiscard]] std::string text_of(const Door& door) {
  return fmt::format("{} {} {}", door.address.host, door.address.port, door.secret);
}

[[nodiscard]] std::optional<Door> door_of(const std::string& text) {
  std::istringstream words(text);
  Door door;
  const bool is_whole(words >> door.address.host >> door.address.port >> door.secret);
  return is_whole ? std::optional(door) : std::nullopt;
}

[[nodiscard]] std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// torchrun's agent holds a store on the address itself, unless it says that it does not.
[[nodiscard]] bool has_agent_store() {
  return variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
}

/// c10d's text without the stack that follows it.
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
    // A store of rank 0 must outlive the others' questions: it stays until the process ends.
    static c10::intrusive_ptr<c10d::TCPStore> store;
    store = c10::make_intrusive<c10d::TCPStore>(launch_.address, options);
    // A script under one torchrun may start several programs, one after the other.
    const std::string run = fmt::format(
        "understudy/{}/{}", variable("TORCHELASTIC_RUN_ID"),
        store->add(
            fmt::format("understudy/{}/{}/starts", variable("TORCHELASTIC_RUN_ID"), launch_.rank),
            1));
    Door own{{own_address_towards(launch_.address, launch_.port), 0}, std::random_device{}()};
    own.secret = (own.secret << 32U) | std::random_device{}();
    const Socket listener = listen_on(own.address);
    const auto key = [&](int rank) { return fmt::format("{}/{}", run, rank); };
    const std::string text = text_of(own);
    store->set(key(launch_.rank), {text.begin(), text.end()});
    for (int rank = 0; rank < launch_.rank; ++rank) {
      const std::vector<std::uint8_t> told = store->get(key(rank));
      peers[static_cast<std::size_t>(rank)] = call(rank, {told.begin(), told.end()});
    }
    for (int missing = launch_.world_size - 1 - launch_.rank; missing > 0;) {
      missing -= take_caller(listener, own.secret, peers) ? 1 : 0;
    }
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
  [[nodiscard]] Socket call(int rank, const std::string& told) const {
    const std::optional<Door> door = door_of(told);
    if (!door) {
      throw not_met(fmt::format("rank {} listens at '{}'", rank, told));
    }
    Socket socket = connect_to(door->address, deadline_);
    const Hello hello{door->secret, launch_.rank};
    if (!write_all(socket, std::as_bytes(std::span(&hello, 1)), deadline_)) {
      throw not_met(fmt::format("rank {} hung up", rank));
    }
    return socket;
  }

  /// Whether it was a rank's call; a stranger's is hung up.
  [[nodiscard]] bool take_caller(const Socket& listener, std::uint64_t secret,
                                 std::vector<Socket>& peers) const {
    Socket socket = accept_from(listener, deadline_);
    if (!socket.is_open()) {
      std::string missing;
      for (int rank = launch_.rank + 1; rank < launch_.world_size; ++rank) {
        if (!peers[static_cast<std::size_t>(rank)].is_open()) {
          missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
        }
      }
      throw not_met(fmt::format("none from rank {}", missing));
    }
    constexpr std::chrono::seconds kPatience{5};
    Hello hello;
    if (!read_all(socket, std::as_writable_bytes(std::span(&hello, 1)),
                  std::min(deadline_, std::chrono::steady_clock::now() + kPatience)) ||
        hello.secret != secret || hello.rank <= launch_.rank || hello.rank >= launch_.world_size) {
      return false;
    }
    Socket& place = peers[static_cast<std::size_t>(hello.rank)];
    if (place.is_open()) {
      throw not_met(fmt::format("rank {} twice", hello.rank));
    }
    place = std::move(socket);
    return true;
  }

  const Launch& launch_;
  double time_limit_s_;
  Deadline deadline_;
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
