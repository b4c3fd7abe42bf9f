// Streams of the played card that work of the host stands in (cudaLaunchHostFunc) until it is done,
// as a communication that waits for other ranks. Copies behind it wait for it; kernels compute
// nothing and need not.
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "capture/played/played.h"

namespace understudy::tests {
namespace {

constexpr int kSuccess = 0;
constexpr int kNotReady = 600;

struct Queue {
  std::deque<std::function<void()>> work;  ///< the first is being done
  std::uint64_t added = 0;
  std::uint64_t done = 0;
};

/// A place in a queue, which is reached when all that was added before is done.
struct Place {
  const Queue* queue = nullptr;
  std::uint64_t number = 0;

  [[nodiscard]] bool is_reached() const { return queue == nullptr || queue->done >= number; }
};

/// Guards all queues, whose threads wait until the very end, and events.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<const void*, Queue> queues;
  std::map<const void*, Place> events;

  Place end_of(const void* stream) {
    const Queue& queue = queues[stream];
    return {&queue, queue.added};
  }
};

State& state() {
  static State& the_state = *new State;
  return the_state;
}

void serve(Queue& queue) {
  std::unique_lock lock(state().mutex);
  while (true) {
    state().changed.wait(lock, [&] { return !queue.work.empty(); });
    const std::function<void()> first = std::move(queue.work.front());
    queue.work.pop_front();
    lock.unlock();
    first();
    lock.lock();
    ++queue.done;
    state().changed.notify_all();
  }
}

/// With the lock held.
void add(const void* stream, std::function<void()> work) {
  Queue& queue = state().queues[stream];
  if (queue.added++ == 0) {
    std::thread(serve, std::ref(queue)).detach();
  }
  queue.work.push_back(std::move(work));
  state().changed.notify_all();
}

void wait(const Place& place) {
  std::unique_lock lock(state().mutex);
  state().changed.wait(lock, [&] { return place.is_reached(); });
}

int answer(const played::Work& call) {
  const std::string_view name = call.name;
  std::unique_lock lock(state().mutex);
  Place& event = state().events[call.event_ns];
  const Place place = call.event_ns == nullptr ? state().end_of(call.stream) : event;
  if (name == "cudaEventRecord") {
    event = state().end_of(call.stream);
  } else if (name == "cudaStreamWaitEvent" && !place.is_reached()) {
    add(call.stream, [place] { wait(place); });
  } else if (name.ends_with("Query")) {
    return place.is_reached() ? kSuccess : kNotReady;
  } else if (name.ends_with("Synchronize")) {
    std::vector<Place> places = {place};
    if (name == "cudaDeviceSynchronize") {
      for (const auto& [stream, queue] : state().queues) {
        places.push_back({&queue, queue.added});
      }
    }
    lock.unlock();
    std::ranges::for_each(places, wait);
  }
  return kSuccess;
}

int run(const played::Launch& launch, const std::function<int()>& effect) {
  const played::Work& work = launch.work;
  const bool stands = std::string_view(work.name) == "cudaLaunchHostFunc";
  if (work.kind == played::Kind::kCall && !stands) {
    return answer(work);
  }
  {
    const std::scoped_lock lock(state().mutex);
    if (stands || !state().end_of(work.stream).is_reached()) {
      add(work.stream, [effect] { effect(); });
      return kSuccess;
    }
  }
  return effect();
}

[[maybe_unused]] const bool is_in_use = [] {
  constexpr played::Card kCard{
      "A played H100", std::size_t{80} << 30U, 9, 0, 132, 233'472, 232'448, 50 << 20, 0, 0, 0};
  played_use(&kCard, 1);
  played_run_by(&run);
  played_on_read([](void*, std::size_t) { return 1; });  // the ranks computed it
  return true;
}();

}  // namespace
}  // namespace understudy::tests
