#include "wires.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace understudy::tests {
namespace {

/// An abstract socket name of Linux: it is in no folder, and goes with the process.
sockaddr_un address_of(const std::string& name, int rank, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = name + "." + std::to_string(rank);
  std::memcpy(address.sun_path + 1, text.data(), text.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return address;
}

int checked(int result, const char* what) {
  if (result < 0) {
    throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
  }
  return result;
}

}  // namespace

Wires::Wires(std::string name, int size, int rank)
    : name_(std::move(name)), rank_(rank), ends_(static_cast<std::size_t>(size)) {}

bool Wires::connect() {
  constexpr int kLookMs = 50;
  const int size = static_cast<int>(ends_.size());
  const int listener = checked(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  socklen_t length = 0;
  sockaddr_un own = address_of(name_, rank_, length);
  checked(::bind(listener, reinterpret_cast<sockaddr*>(&own), length), "bind");
  checked(::listen(listener, size), "listen");
  for (int peer = 0; peer < size && !is_aborted_; ++peer) {
    const int out = checked(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    ends_[static_cast<std::size_t>(peer)].out = out;
    sockaddr_un theirs = address_of(name_, peer, length);
    while (::connect(out, reinterpret_cast<sockaddr*>(&theirs), length) != 0 && !is_aborted_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the peer has not created it yet
    }
    static_cast<void>(::send(out, &rank_, sizeof rank_, MSG_NOSIGNAL));
    checked(::fcntl(out, F_SETFL, O_NONBLOCK), "fcntl");
  }
  for (int accepted = 0; accepted < size && !is_aborted_;) {
    pollfd readable{listener, POLLIN, 0};
    if (::poll(&readable, 1, kLookMs) == 0) {
      continue;
    }
    const int in = checked(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), "accept");
    int peer = 0;
    if (::read(in, &peer, sizeof peer) != sizeof peer) {
      ::close(in);  // it was aborted there
      continue;
    }
    checked(::fcntl(in, F_SETFL, O_NONBLOCK), "fcntl");
    ends_[static_cast<std::size_t>(peer)].in = in;
    ++accepted;
  }
  ::close(listener);
  return !is_aborted_;
}

Wires::~Wires() {
  for (const Ends& ends : ends_) {
    ::close(ends.out);
    ::close(ends.in);
  }
}

bool Wires::move(const std::vector<Transfer>& transfers) {
  constexpr int kLookMs = 50;
  std::vector<Transfer> left = transfers;
  std::erase_if(left, [](const Transfer& transfer) { return transfer.bytes == 0; });
  while (!left.empty()) {
    std::vector<pollfd> polled;
    std::vector<std::size_t> heads;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const bool waits = std::any_of(
          left.begin(), left.begin() + static_cast<std::ptrdiff_t>(i), [&](const Transfer& before) {
            return before.peer == left[i].peer && before.is_send == left[i].is_send;
          });
      if (!waits) {
        const Ends& ends = ends_[static_cast<std::size_t>(left[i].peer)];
        polled.push_back({left[i].is_send ? ends.out : ends.in,
                          static_cast<short>(left[i].is_send ? POLLOUT : POLLIN), 0});
        heads.push_back(i);
      }
    }
    ::poll(polled.data(), polled.size(), kLookMs);
    for (std::size_t i = 0; i < heads.size(); ++i) {
      Transfer& transfer = left[heads[i]];
      if (polled[i].revents == 0) {
        continue;
      }
      const ssize_t moved = transfer.is_send
                                ? ::send(polled[i].fd, transfer.data, transfer.bytes, MSG_NOSIGNAL)
                                : ::read(polled[i].fd, transfer.data, transfer.bytes);
      if (moved > 0) {
        transfer.data += moved;
        transfer.bytes -= static_cast<std::size_t>(moved);
      } else if (moved == 0 || errno != EAGAIN) {
        has_lost_peer_ = true;
        return false;
      }
    }
    std::erase_if(left, [](const Transfer& transfer) { return transfer.bytes == 0; });
    if (is_aborted_) {
      return false;
    }
  }
  return true;
}

}  // namespace understudy::tests
