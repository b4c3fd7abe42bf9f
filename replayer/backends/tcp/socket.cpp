#include "socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>

#include "et_schema/base/error.h"

namespace understudy::backends {
namespace {

constexpr std::chrono::milliseconds kRetry{50};

[[nodiscard]] et_schema::Error socket_failed(const std::string& doing, const std::string& what) {
  return et_schema::run_failed(fmt::format("a socket failed in {}", doing), {.got = what});
}

[[nodiscard]] std::string text_of(int error) {
  return std::generic_category().message(error);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

[[nodiscard]] Addresses look_up(const std::string& host, int port, int type) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = type;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (code != 0) {
    throw socket_failed("looking up " + host, gai_strerror(code));
  }
  return {found, &freeaddrinfo};
}

/// Returns the numeric address of a socket's own end.
[[nodiscard]] Address own_end(const Socket& socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof(own);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&own), &length) != 0 ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&own), length, host.data(), host.size(),
                  port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    throw socket_failed("getsockname", text_of(errno));
  }
  return {host.data(), std::stoi(port.data())};
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

// Connecting a datagram socket sends nothing: the system only chooses the interface.
std::string own_address_towards(const std::string& host, int port) {
  const Addresses addresses = look_up(host, port, SOCK_DGRAM);
  const Socket socket(::socket(addresses->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (connect(socket.fd(), addresses->ai_addr, addresses->ai_addrlen) != 0) {
    throw socket_failed("connecting to " + host, text_of(errno));
  }
  return own_end(socket).host;
}

Socket listen_on(Address& address) {
  const Addresses addresses = look_up(address.host, address.port, SOCK_STREAM);
  Socket listener(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      bind(listener.fd(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      listen(listener.fd(), SOMAXCONN) != 0) {
    throw socket_failed("listening on " + address.host, text_of(errno));
  }
  address.port = own_end(listener).port;
  return listener;
}

Socket connect_to(const Address& address, Deadline deadline) {
  const Addresses addresses = look_up(address.host, address.port, SOCK_STREAM);
  while (true) {
    Socket socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(socket.fd(), addresses->ai_addr, addresses->ai_addrlen) == 0) {
      return socket;
    }
    const int error = errno;
    if (std::chrono::steady_clock::now() + kRetry > deadline ||
        (error != ECONNREFUSED && error != ETIMEDOUT && error != EINTR)) {
      throw socket_failed(fmt::format("connecting to {} port {}", address.host, address.port),
                          text_of(error));
    }
    std::this_thread::sleep_for(kRetry);
  }
}

void wait_for_any(const std::vector<const Socket*>& sockets, Deadline deadline) {
  std::vector<pollfd> ready;
  for (const Socket* socket : sockets) {
    ready.push_back({socket->fd(), POLLIN, 0});
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  poll(ready.data(), ready.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
}

Socket accept_from(const Socket& listener) {
  return Socket(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
}

std::optional<std::size_t> read_some(const Socket& socket, std::span<std::byte> bytes) {
  const ssize_t got = recv(socket.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  const bool is_open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  return is_open ? std::optional(static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
                 : std::nullopt;
}

bool read_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty() && std::chrono::steady_clock::now() < deadline) {
    wait_for_any({&socket}, deadline);
    const std::optional<std::size_t> got = read_some(socket, bytes);
    if (!got) {
      return false;
    }
    bytes = bytes.subspan(*got);
  }
  return bytes.empty();
}

bool write_first(const Socket& socket, std::span<const std::byte> bytes) {
  return send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

void make_quick(const Socket& socket) {
  const int yes = 1;
  if (setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) != 0 ||
      fcntl(socket.fd(), F_SETFL, O_NONBLOCK) != 0) {
    throw socket_failed("setting its options", text_of(errno));
  }
}

}  // namespace understudy::backends
