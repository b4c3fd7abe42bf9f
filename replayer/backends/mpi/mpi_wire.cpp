#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "et_schema/base/error.h"
#include "replayer/backends/interface/check_call.h"
#include "replayer/backends/interface/launcher.h"
#include "replayer/backends/interface/roll_call.h"
#include "replayer/backends/ranks/wire.h"

namespace understudy::backends {
namespace {

constexpr int kLetterTag = 1;

/// Throws Error (failed) with MPI's text unless `code` is MPI_SUCCESS; `doing` completes "MPI
/// failed in …".
void check_mpi(int code, const char* doing) {
  if (code == MPI_SUCCESS) {
    return;
  }
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  const bool is_known = MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS;
  throw et_schema::run_failed(fmt::format("MPI failed in {}", doing),
                              {.got = is_known ? text.data() : fmt::format("error {}", code)});
}

/// Calls `options.stuck`, naming ranks that the roll call misses, if the returned thread's life
/// exceeds the time limit: that of an MPI call that waits for others and cannot be cancelled.
[[nodiscard]] std::jthread limit(const BackendOptions& options, const char* name,
                                 const RollCall* roll = nullptr) {
  if (!options.stuck) {
    return {};
  }
  return std::jthread([&options, name, roll](const std::stop_token& ended) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    const std::chrono::duration<double> limit(options.time_limit_s);
    std::condition_variable_any().wait_for(lock, ended, limit, [] { return false; });
    if (ended.stop_requested()) {
      return;
    }
    const std::optional<Launch> launch = launched();
    options.stuck(et_schema::run_failed(
        "the ranks did not find each other",
        {.rank = launch && launch->world_size > 0 ? std::optional(launch->rank) : std::nullopt,
         .field = name,
         .expected =
             fmt::format("every rank of the job in this call within {} s", options.time_limit_s),
         .got = roll != nullptr ? roll->missing() : "some rank has not come to it",
         .hint = "a process that was not started, has ended or is stopped never comes: see that as "
                 "many run as there are ranks, on every host; slow starts need a higher time limit "
                 "(--timeout)"}));
  });
}

/// MPI requests that complete together. Messages of any size are cut into pieces that MPI can
/// count.
class MpiTransfers : public Transfers {
 public:
  /// `comms` is indexed by channel, and must outlive the transfers.
  explicit MpiTransfers(const std::vector<MPI_Comm>& comms) : comms_(comms) {}

  void send(const Buffer& buffer, int peer, int tag, Channel channel) override {
    for_each_piece(buffer, [&](void* at, int bytes) {
      check_mpi(MPI_Isend(at, bytes, MPI_BYTE, peer, tag, comms_[channel], add(kNotReceived)),
                "MPI_Isend");
    });
  }

  void receive(const Buffer& buffer, int peer, int tag, Channel channel) override {
    for_each_piece(buffer, [&](void* at, int bytes) {
      check_mpi(MPI_Irecv(at, bytes, MPI_BYTE, peer, tag, comms_[channel], add(bytes)),
                "MPI_Irecv");
    });
  }

  [[nodiscard]] bool test() override {
    if (requests_.empty()) {
      return true;
    }
    statuses_.resize(requests_.size());
    int all_done = 0;
    const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all_done,
                                 statuses_.data());
    if (code == MPI_ERR_IN_STATUS) {
      const auto failed =
          std::find_if(statuses_.begin(), statuses_.end(), [](const MPI_Status& status) {
            return status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING;
          });
      check_mpi(failed == statuses_.end() ? code : failed->MPI_ERROR, "a transfer");
    }
    check_mpi(code, "MPI_Testall");
    if (all_done == 0) {
      return false;
    }
    check_sizes();
    requests_.clear();
    expected_bytes_.clear();
    return true;
  }

 private:
  /// Calls post(data, bytes) for pieces of at most kLargestPiece; once if the buffer is empty.
  template <typename Post>
  static void for_each_piece(const Buffer& buffer, const Post& post) {
    std::int64_t at = 0;
    do {
      post(static_cast<std::byte*>(buffer.data) + at,
           static_cast<int>(std::min(kLargestPiece, size_bytes(buffer) - at)));
      at += kLargestPiece;
    } while (at < size_bytes(buffer));
  }

  /// Adds a request, which must be filled at once: the pointer is valid until the next call.
  [[nodiscard]] MPI_Request* add(int expected_bytes) {
    requests_.push_back(MPI_REQUEST_NULL);
    expected_bytes_.push_back(expected_bytes);
    return &requests_.back();
  }

  void check_sizes() const {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (expected_bytes_[i] == kNotReceived) {
        continue;
      }
      int received = 0;
      check_mpi(MPI_Get_count(&statuses_[i], MPI_BYTE, &received), "MPI_Get_count");
      if (received != expected_bytes_[i]) {
        throw et_schema::run_failed(
            "a message of another size",
            {.expected = fmt::format("{} bytes from rank {} of the group", expected_bytes_[i],
                                     statuses_[i].MPI_SOURCE),
             .got = fmt::format("{}", received)});
      }
    }
  }

  static constexpr std::int64_t kLargestPiece = std::int64_t{1} << 30U;
  static constexpr int kNotReceived = -1;
  const std::vector<MPI_Comm>& comms_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> expected_bytes_;  ///< size of receives; kNotReceived of sends
};

/// A wire over MPI. Letters have a communicator of their own.
class MpiWire : public Wire {
 public:
  explicit MpiWire(const BackendOptions& options) : options_(options) {
    initialize();
    const std::jthread limited = limit(options_, "MPI_Comm_dup");
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world_size_), "MPI_Comm_size");
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &letters_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(letters_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  MpiWire(const MpiWire&) = delete;
  MpiWire& operator=(const MpiWire&) = delete;
  ~MpiWire() override {
    if (is_unfinished_) {
      return;
    }
    for (Posted& letter : posted_) {
      MPI_Request_free(&letter.sending);  // the rank may have ended; MPI_Finalize sends what it can
    }
    for (MPI_Comm& comm : comms_) {
      MPI_Comm_free(&comm);
    }
    MPI_Comm_free(&letters_);
    if (finalizes_) {
      const std::jthread limited = limit(options_, "MPI_Finalize");
      MPI_Finalize();
    }
  }

  [[nodiscard]] std::string name() const override { return "mpi"; }
  [[nodiscard]] std::string version() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    const std::string_view whole(text.data(), static_cast<std::size_t>(length));
    return std::string(whole.substr(0, whole.find_first_of(",\n")));
  }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world_size() const override { return world_size_; }

  [[nodiscard]] Channel open(std::uint32_t id, std::span<const int> ranks) override {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    check_mpi(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &members),
              "MPI_Group_incl");
    const std::jthread limited = limit(options_, "MPI_Comm_create_group");
    check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, members, static_cast<int>(id % kTags), &comm),
              "MPI_Comm_create_group");
    check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Group_free(&members), "MPI_Group_free");
    check_mpi(MPI_Group_free(&world), "MPI_Group_free");
    comms_.push_back(comm);
    return static_cast<Channel>(comms_.size() - 1);
  }

  [[nodiscard]] std::unique_ptr<Transfers> make_transfers() override {
    return std::make_unique<MpiTransfers>(comms_);
  }

  void post(int world_rank, std::span<const std::byte> letter) override {
    std::erase_if(posted_, [](Posted& earlier) {
      int is_sent = 0;
      check_mpi(MPI_Test(&earlier.sending, &is_sent, MPI_STATUS_IGNORE), "MPI_Test");
      return is_sent != 0;
    });
    Posted& kept = posted_.emplace_back(Posted{{letter.begin(), letter.end()}, MPI_REQUEST_NULL});
    check_mpi(MPI_Isend(kept.bytes.data(), static_cast<int>(kept.bytes.size()), MPI_BYTE,
                        world_rank, kLetterTag, letters_, &kept.sending),
              "MPI_Isend");
  }

  [[nodiscard]] std::optional<Letter> next_letter() override {
    int has_arrived = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kLetterTag, letters_, &has_arrived, &status),
              "MPI_Iprobe");
    if (has_arrived == 0) {
      return std::nullopt;
    }
    int bytes = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    Letter letter{status.MPI_SOURCE, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
    check_mpi(MPI_Recv(letter.bytes.data(), bytes, MPI_BYTE, letter.from, kLetterTag, letters_,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
    return letter;
  }

  /// Always false: if a rank dies, the launcher ends the job.
  [[nodiscard]] bool is_lost(int /*world_rank*/) const override { return false; }
  /// Skips MPI_Finalize, too. If the process then ends with a status other than 0, the launcher
  /// ends the job.
  void leave_unfinished() override { is_unfinished_ = true; }
  void abort_others(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  /// Calls MPI_Init, unless the program that loaded the module has done so.
  void initialize() {
    int is_initialized = 0;
    check_mpi(MPI_Initialized(&is_initialized), "MPI_Initialized");
    int provided = MPI_THREAD_SINGLE;
    if (is_initialized != 0) {
      check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
    } else {
      // Not MPI_THREAD_MULTIPLE: only one thread at a time calls MPI, and MPI's locks would slow
      // down every call.
      const std::jthread limited = limit(options_, "MPI_Init_thread", &roll_);
      check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
                "MPI_Init_thread");
      finalizes_ = true;
    }
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
              "MPI_Comm_set_errhandler");
    if (provided < MPI_THREAD_SERIALIZED) {
      throw et_schema::usage_error(
          "the MPI library cannot be called from threads",
          {.expected = "MPI_THREAD_SERIALIZED",
           .got = fmt::format("thread level {}", provided),
           .hint = "use an MPI library that was built with thread support"});
    }
  }

  struct Posted {
    std::vector<std::byte> bytes;
    MPI_Request sending = MPI_REQUEST_NULL;
  };
  std::deque<Posted> posted_;  ///< letters in transit; they outlive MPI_Finalize
  BackendOptions options_;
  RollCall roll_;  ///< kept until the end: others may still wait when this rank has finished
  bool finalizes_ = false;
  bool is_unfinished_ = false;
  int rank_ = 0;
  int world_size_ = 1;
  std::vector<MPI_Comm> comms_;  ///< by channel
  MPI_Comm letters_ = MPI_COMM_NULL;
};

}  // namespace
}  // namespace understudy::backends

extern "C" understudy::backends::Backend* understudy_make_backend(
    const understudy::backends::BackendOptions& options) {
  namespace backends = understudy::backends;
  return backends::make_ranks_backend(std::make_unique<backends::MpiWire>(options), options)
      .release();
}
