#pragma once

#include <cstddef>
#include <functional>

struct CUlaunchConfig_st;
namespace understudy::et_schema {
struct CubinKernel;
}

/// How the libraries of the played card talk to each other. Nothing is computed, everything is
/// launched. libcuda.so.1 exports the functions below beside the driver's own.
namespace played {

/// A card as its data sheet and driver describe it.
struct Card {
  char name[64];
  std::size_t memory_bytes;
  int major;
  int minor;
  int multiprocessors;
  int shared_per_multiprocessor;  ///< bytes
  int shared_opt_in;              ///< most bytes of shared memory that a block may ask for
  int l2_bytes;
  int clock_khz;
  int memory_clock_khz;
  int bus_bits;
};

/// What CUPTI records. A call issues nothing: the host waits or asks.
enum class Kind : int { kKernel, kCopy, kFill, kCall };

/// What a library without kernels of its own would have launched.
struct Work {
  Kind kind = Kind::kKernel;
  const char* name = "";  ///< of a copy its way: HtoD, DtoH, DtoD, HtoH; of a call the function
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared = 0;  ///< bytes of shared memory asked for by the launch
  void* stream = nullptr;
  std::size_t bytes = 0;                 ///< that a copy or a fill moves
  bool is_pinned = false;                ///< the host's side of a copy is
  const void* const* written = nullptr;  ///< pointers into what the work writes
  std::size_t written_count = 0;
  long long* event_ns = nullptr;  ///< of a call on an event: when that is
};

/// A call of the runtime or driver that CUPTI records, with what it issued to the card.
struct Launch {
  Work work = {};
  unsigned correlation = 0;
  bool is_captured = false;  ///< it became a node of a graph and does not run now
  bool is_replayed = false;  ///< a node of a graph that was launched; has the launch's correlation
  int device = 0;
  const understudy::et_schema::CubinKernel* code = nullptr;  ///< of a kernel that has some
  // Of a kernel that is launched now: what the driver, not the runtime, was asked for, and where
  // each argument is.
  const CUlaunchConfig_st* config = nullptr;
  void** arguments = nullptr;
};

/// Runs what a launch does to the card's memory, now or later. Returns a status of the driver.
using Runner = int (*)(const Launch& launch, const std::function<int()>& effect);

}  // namespace played

extern "C" {

/// Says which card is played, and how many a node has. Called once, before anything asks.
void played_use(const played::Card* card, int count);

/// Issues work on its stream. If the stream is captured, the work becomes a node of the graph. Else
/// listeners are told, and what it writes is assumed from then on.
void played_issue(const played::Work* work);
void played_listen(void (*listener)(const played::Launch&));
/// Sets who runs what is not captured: the card itself does at once, and it takes no time. Another
/// one may let it take some, answer calls by that, set when an event is, and fail.
void played_run_by(played::Runner runner);

// What is known. Memory of the card is assumed until it is said to be known, memory of the host is
// known until it is said to be assumed. A kernel that gets a pointer into a piece of the card's
// memory may write all of that piece.
void played_know(const void* at, std::size_t bytes);
void played_assume(const void* at, std::size_t bytes);
int played_is_assumed(const void* at, std::size_t bytes);  ///< a part of it is
/// An allocator gave this piece of the card's memory to a tensor: it is assumed, and a pointer into
/// it stands for the whole piece. A pointer into no piece stands for the known range around it.
void played_give(const void* at, std::size_t bytes);

/// Sets who is told which known memory became assumed, because a kernel has a pointer to it. `told`
/// runs on the launching thread, and must call none of these functions.
void played_on_forgotten(void (*told)(const void* at, std::size_t bytes));

/// A copy of assumed memory from card to host asks `may_copy`: 1: it copies, and the host's bytes
/// are assumed; 2: it wrote the host's bytes itself, and they are known; 0, or nobody to ask: the
/// copy is refused.
void played_on_read(int (*may_copy)(void* to, std::size_t bytes));

/// 1 if any stream is captured: what is issued to it does not run now.
int played_is_capturing();

/// A refusal is told as a clause: "cusolverDnXgetrf() of cuSOLVER is not played".
void played_on_refusal(void (*told)(const char* what));
void played_refuse(const char* what);
}

/// Defines a function of a library that is played by one expression: `Result name(parameters)`.
#define PLAYED_CALL(Result, name, parameters, ...) \
  extern "C" Result name parameters {              \
    return __VA_ARGS__;                            \
  }
