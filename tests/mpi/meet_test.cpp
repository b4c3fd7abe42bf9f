// Ranks that meet over sockets, and strangers who call them.
#include "meet.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "et_schema/base/error.h"
#include "header.h"
#include "replayer/backends/interface/backend.h"

extern "C" understudy::backends::Backend* understudy_make_backend(
    const understudy::backends::BackendOptions& options);

namespace understudy::backends {
namespace {

constexpr double kLimitS = 20;

/// A process of its own, whose text and status are waited for.
class Process {
 public:
  explicit Process(const std::function<std::string()>& run) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      std::string text;
      try {
        text = run();
      } catch (const et_schema::Error& error) {
        text = et_schema::to_text(error);
      }
      const ssize_t written = write(ends[1], text.data(), text.size());
      _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 9);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { close(output_); }

  struct Ended {
    int status = 0;
    std::string text;
  };
  [[nodiscard]] Ended end() const {
    Ended ended;
    std::array<char, 4096> block{};
    for (ssize_t got = 0; (got = read(output_, block.data(), block.size())) > 0;) {
      ended.text.append(block.data(), static_cast<std::size_t>(got));
    }
    waitpid(pid_, &ended.status, 0);
    ended.status = WIFEXITED(ended.status) ? WEXITSTATUS(ended.status) : 128;
    return ended;
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

/// A socket of loopback; `address` is 127.0.0.1 or another one that it has.
int stranger(const char* address, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, address, &to.sin_addr);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(own);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&own), length), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length), 0);
  close(fd);
  return ntohs(own.sin_port);
}

class Meetings : public ::testing::Test {
 protected:
  [[nodiscard]] Launch launch(int rank) const {
    return {Launch::Meeting::kStore, 2, rank, "127.0.0.1", port_};
  }

  /// A rank that says "met" when it has.
  [[nodiscard]] std::unique_ptr<Process> rank(int rank, const std::string& key,
                                              double limit_s = kLimitS) const {
    return std::make_unique<Process>([this, rank, key, limit_s] {
      setenv("UNDERSTUDY_JOB_KEY", key.c_str(), 1);
      const std::vector<Socket> peers = meet_ranks(launch(rank), limit_s);
      sleep(1);  // the other may still need the store of rank 0
      return std::string("met");
    });
  }

  /// What rank 0 tells all who ask its store.
  [[nodiscard]] std::string told_by_store() const {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(port_);
    options.waitWorkers = false;
    options.timeout = std::chrono::seconds(10);
    c10d::TCPStore store("127.0.0.1", options);
    const std::vector<std::uint8_t> told = store.get("understudy//1/0");
    return {told.begin(), told.end()};
  }
  [[nodiscard]] int port_of_rank_0() const {
    std::istringstream words(told_by_store());
    std::string host;
    int port = 0;
    words >> host >> port;
    return port;
  }

  /// Rank 0 of a whole backend, and a rank 1 that writes these bytes once they have met.
  [[nodiscard]] Process::Ended backend_that_reads(const std::string& bytes) const {
    const Process first([this] {
      setenv("RANK", "0", 1);
      setenv("WORLD_SIZE", "2", 1);
      setenv("MASTER_ADDR", "127.0.0.1", 1);
      setenv("MASTER_PORT", std::to_string(port_).c_str(), 1);
      BackendOptions options;
      options.time_limit_s = 5;
      const std::unique_ptr<Backend> backend(understudy_make_backend(options));
      return std::string("made");
    });
    const Process second([this, &bytes] {
      const std::vector<Socket> peers = meet_ranks(launch(1), kLimitS);
      EXPECT_TRUE(write_first(peers[0], std::as_bytes(std::span(bytes))));
      sleep(2);
      return std::string();
    });
    return first.end();
  }

  int port_ = free_port();
};

std::string bytes_of(const Header& header) {
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

std::string no_rank_sends(const std::string& got) {
  return "rank 1 sent what no rank sends\n  rank:     0\n  field:    header of a message\n"
         "  expected: a kind of 0 to 3, with as many bytes as it can have\n  got:      " +
         got +
         "\n  hint:     set UNDERSTUDY_JOB_KEY to a secret of the job: only its ranks are heard "
         "then";
}

TEST_F(Meetings, RanksOfOneKeyMeet) {
  const auto first = rank(0, "key");
  const auto second = rank(1, "key");
  EXPECT_EQ(first->end().text, "met");
  EXPECT_EQ(second->end().text, "met");
}

TEST_F(Meetings, AnEmptyKeyIsNone) {
  EXPECT_EQ(
      rank(0, "")->end().text,
      "the job's key is empty, which anybody knows\n  rank:     0\n  field:    UNDERSTUDY_JOB_KEY"
      "\n  expected: a secret of the job's ranks\n  got:      an empty text\n  hint:     set it to "
      "$(openssl rand -hex 32), equal on all hosts, or unset it");
}

TEST_F(Meetings, NoSecretStandsInTheStore) {
  const auto first = rank(0, "key");
  const std::string told = told_by_store();
  EXPECT_TRUE(told.starts_with("127.0.0.1 ")) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), ' '), 1) << told;
  const auto second = rank(1, "key");
  EXPECT_EQ(second->end().text, "met");
}

TEST_F(Meetings, WhoDoesNotKnowTheKeyIsNoRank) {
  const auto first = rank(0, "key", 3);
  const auto second = rank(1, "another");
  const std::string hint =
      "\n  hint:     MASTER_ADDR must be the host of rank 0 as all hosts see it, MASTER_PORT free "
      "there, WORLD_SIZE the number of processes that are started";
  const auto text = [&](int rank, int limit_s, const std::string& got) {
    return "the ranks did not find each other\n  rank:     " + std::to_string(rank) +
           "\n  field:    127.0.0.1 port " + std::to_string(port_) +
           "\n  expected: 2 ranks within " + std::to_string(limit_s) + " s\n  got:      " + got +
           hint;
  };
  EXPECT_EQ(second->end().text, text(1, 20, "rank 0 hung up, or has another UNDERSTUDY_JOB_KEY"));
  EXPECT_EQ(first->end().text, text(0, 3, "none from rank 1"));
}

TEST_F(Meetings, SilentCallersHoldUpNobody) {
  const auto first = rank(0, "key");
  const int port = port_of_rank_0();
  std::vector<int> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(stranger("127.0.0.1", port));
    EXPECT_GE(callers.back(), 0);
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto second = rank(1, "key");
  EXPECT_EQ(second->end().text, "met");
  EXPECT_EQ(first->end().text, "met");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  for (const int caller : callers) {
    close(caller);
  }
}

TEST_F(Meetings, OnlyTheJobsInterfaceIsListenedOn) {
  const auto first = rank(0, "key");
  for (const int port : {port_, port_of_rank_0()}) {
    EXPECT_LT(stranger("127.0.0.2", port), 0);
    const int own = stranger("127.0.0.1", port);
    EXPECT_GE(own, 0);
    close(own);
  }
  EXPECT_EQ(rank(1, "key")->end().text, "met");
}

TEST_F(Meetings, AnAbortIsNeverASuccess) {
  constexpr auto kAbort = Header::Kind::kAbort;
  EXPECT_EQ(backend_that_reads(bytes_of({.kind = kAbort, .tag = 0})).status, 1);
  EXPECT_EQ(backend_that_reads(bytes_of({.kind = kAbort, .tag = 256})).status, 1);
  EXPECT_EQ(backend_that_reads(bytes_of({.kind = kAbort, .tag = 65})).status, 65);
}

TEST_F(Meetings, AHeaderThatNoRankWritesEndsTheJob) {
  EXPECT_EQ(backend_that_reads(bytes_of({.kind = Header::Kind{9}})).text,
            no_rank_sends("kind 9, 0 bytes"));
  EXPECT_EQ(backend_that_reads(bytes_of({.bytes = -1})).text, no_rank_sends("kind 0, -1 bytes"));
  EXPECT_EQ(backend_that_reads(bytes_of({.kind = Header::Kind::kLetter, .bytes = 1 << 30})).text,
            no_rank_sends("kind 1, 1073741824 bytes"));
}

/// What a header promises costs nothing before it comes.
TEST_F(Meetings, ALongMessageTakesTheMemoryOfWhatHasCome) {
  const Process::Ended ended =
      backend_that_reads(bytes_of({.channel = 77, .bytes = std::int64_t{1} << 50}));
  EXPECT_NE(ended.text.find("rank 1 has ended"), std::string::npos) << ended.text;
}

}  // namespace
}  // namespace understudy::backends
