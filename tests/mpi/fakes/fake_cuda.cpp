// Stands in for libcuda.so.1 on the host. Device memory is host memory. A stream is a thread that
// does its work in order while the caller continues. Work that is issued too early is done too
// early, as on a GPU.
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kNotReady = 600;

/// Guards all streams and events of the process. It is never freed, since threads of streams wait
/// with it until the very end.
std::mutex& mutex = *std::make_unique<std::mutex>().release();

}  // namespace

// A real driver uses these names too.
struct CUevent_st {
  std::uint64_t recorded = 0;  ///< times that record was issued
  std::uint64_t reached = 0;   ///< times that a stream came to such a record
  std::condition_variable was_reached = {};
};

struct CUstream_st {
  std::deque<std::function<void()>> work;
  bool is_busy = false;
  bool is_ending = false;
  std::condition_variable has_more;
  std::condition_variable became_idle;
  std::thread thread{[this] { run(); }};

  void push(std::function<void()> item) {
    const std::lock_guard lock(mutex);
    work.push_back(std::move(item));
    has_more.notify_one();
  }
  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      has_more.wait(lock, [this] { return is_ending || !work.empty(); });
      if (work.empty()) {
        return;
      }
      const std::function<void()> item = std::move(work.front());
      work.pop_front();
      is_busy = true;
      lock.unlock();
      item();
      lock.lock();
      is_busy = false;
      if (work.empty()) {
        became_idle.notify_all();
      }
    }
  }
  [[nodiscard]] bool is_idle() const { return work.empty() && !is_busy; }
};

namespace {

/// Of the process; `mutex` guards it. Never freed, as that.
std::set<CUstream_st*>& streams = *std::make_unique<std::set<CUstream_st*>>().release();

CUstream_st* new_stream() {
  CUstream_st* const stream = std::make_unique<CUstream_st>().release();
  const std::lock_guard lock(mutex);
  streams.insert(stream);
  return stream;
}

CUstream_st* const default_stream = new_stream();  // it lives as long as the process

CUstream_st& stream_of(CUstream_st* stream) {
  return stream == nullptr ? *default_stream : *stream;
}

int the_context = 0;
thread_local void* current = &the_context;

}  // namespace

extern "C" {

int cuGetErrorString(int status, const char** text) {
  *text = status == kInvalidValue ? "invalid argument" : "no error";
  return kSuccess;
}
int cuCtxGetCurrent(void** context) {
  *context = current;
  return kSuccess;
}
int cuCtxSetCurrent(void* context) {
  current = context;
  return kSuccess;
}
int cuStreamCreate(CUstream_st** stream, unsigned) {
  *stream = new_stream();
  return kSuccess;
}
int cuStreamDestroy_v2(CUstream_st* stream) {
  const std::unique_ptr<CUstream_st> owned(stream);
  {
    const std::lock_guard lock(mutex);
    streams.erase(stream);
    stream->is_ending = true;
    stream->has_more.notify_one();
  }
  stream->thread.join();
  return kSuccess;
}
int cuStreamQuery(CUstream_st* stream) {
  const std::lock_guard lock(mutex);
  return stream_of(stream).is_idle() ? kSuccess : kNotReady;
}
int cuStreamSynchronize(CUstream_st* stream) {
  CUstream_st& waited = stream_of(stream);
  std::unique_lock lock(mutex);
  waited.became_idle.wait(lock, [&] { return waited.is_idle(); });
  return kSuccess;
}
/// Waits for all that was issued to any stream until now.
int cuCtxSynchronize() {
  std::vector<std::future<void>> reached;
  {
    const std::lock_guard lock(mutex);
    for (CUstream_st* const stream : streams) {
      const auto mark = std::make_shared<std::promise<void>>();
      reached.push_back(mark->get_future());
      stream->work.emplace_back([mark] { mark->set_value(); });
      stream->has_more.notify_one();
    }
  }
  for (const std::future<void>& each : reached) {
    each.wait();
  }
  return kSuccess;
}
int cuEventCreate(CUevent_st** event, unsigned) {
  *event = std::make_unique<CUevent_st>().release();
  return kSuccess;
}
int cuEventDestroy_v2(CUevent_st* event) {
  const std::unique_ptr<CUevent_st> owned(event);
  return kSuccess;
}
int cuEventRecord(CUevent_st* event, CUstream_st* stream) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex);
    number = ++event->recorded;
  }
  stream_of(stream).push([event, number] {
    const std::lock_guard lock(mutex);
    event->reached = number;
    event->was_reached.notify_all();
  });
  return kSuccess;
}
int cuStreamWaitEvent(CUstream_st* stream, CUevent_st* event, unsigned) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex);
    number = event->recorded;
  }
  stream_of(stream).push([event, number] {
    std::unique_lock lock(mutex);
    event->was_reached.wait(lock, [&] { return event->reached >= number; });
  });
  return kSuccess;
}
int cuMemAlloc_v2(std::uint64_t* block, std::size_t bytes) {
  *block = reinterpret_cast<std::uint64_t>(std::malloc(bytes));
  return kSuccess;
}
int cuMemFree_v2(std::uint64_t block) {
  std::free(reinterpret_cast<void*>(block));
  return kSuccess;
}
int cuMemcpyAsync(std::uint64_t to, std::uint64_t from, std::size_t bytes, CUstream_st* stream) {
  stream_of(stream).push([to, from, bytes] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  });
  return kSuccess;
}
int cuLaunchHostFunc(CUstream_st* stream, void (*function)(void*), void* data) {
  stream_of(stream).push([function, data] { function(data); });
  return kSuccess;
}

}  // extern "C"
