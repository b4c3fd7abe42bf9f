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

/// Owns a file descriptor.
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
  /// Releases the descriptor to the caller.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// A numeric address of this host or of another: "10.0.0.7" and 40123.
struct Address {
  std::string host;
  int port = 0;
};

// All functions throw Error (failed) with the system's text.

/// Returns the address by which this host reaches `host`, without a port.
[[nodiscard]] std::string own_address_towards(const std::string& host, int port);
/// Listens on this address and on no other interface. If the port is 0, the system chooses one,
/// which is stored in `address`.
[[nodiscard]] Socket listen_on(Address& address);
/// Connects; retries until the deadline if nothing listens yet.
[[nodiscard]] Socket connect_to(const Address& address, Deadline deadline);
/// Waits until one of the sockets is readable, or until the deadline.
void wait_for_any(const std::vector<const Socket*>& sockets, Deadline deadline);
/// Accepts a waiting connection; returns a closed socket if there is none.
[[nodiscard]] Socket accept_from(const Socket& listener);
/// Reads the available bytes; returns nothing if the other side has closed.
[[nodiscard]] std::optional<std::size_t> read_some(const Socket& socket,
                                                   std::span<std::byte> bytes);
/// Reads all bytes. Returns false if the other side has closed, or the deadline has passed.
[[nodiscard]] bool read_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline);
/// Writes the first bytes on a new connection: so few that they fit in the system's memory. Returns
/// false if the other side has closed.
[[nodiscard]] bool write_first(const Socket& socket, std::span<const std::byte> bytes);
/// Makes the socket non-blocking, and sends small messages without delay.
void make_quick(const Socket& socket);

}  // namespace understudy::backends
