#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace understudy::backends {

using Deadline = std::chrono::steady_clock::time_point;

/// A file descriptor, closed at the end.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  /// Leaves the descriptor to whoever called.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// An address of this host, or of another, as numbers: "10.0.0.7" and 40123.
struct Address {
  std::string host;
  int port = 0;
};

// All throw Error (failed) with the system's text.

/// The address by which this host reaches `host`, without a port.
[[nodiscard]] std::string own_address_towards(const std::string& host, int port);
/// Listens there and on no other interface. Port 0: on one that the system chooses; `address`
/// becomes it.
[[nodiscard]] Socket listen_on(Address& address);
/// Connects, and tries again until the deadline where nothing listens yet.
[[nodiscard]] Socket connect_to(const Address& address, Deadline deadline);
/// Waits until one of the sockets has something to read, or the deadline has come.
void wait_for_any(const std::vector<const Socket*>& sockets, Deadline deadline);
/// A connection that waits; a closed socket if none does.
[[nodiscard]] Socket accept_from(const Socket& listener);
/// Reads what is there; nothing: the other side has closed.
[[nodiscard]] std::optional<std::size_t> read_some(const Socket& socket,
                                                   std::span<std::byte> bytes);
/// All bytes, or false: the other side has closed, or the deadline has come.
[[nodiscard]] bool read_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline);
[[nodiscard]] bool write_all(const Socket& socket, std::span<const std::byte> bytes,
                             Deadline deadline);
/// From now on calls return at once, and small messages leave at once.
void make_quick(const Socket& socket);

}  // namespace understudy::backends
