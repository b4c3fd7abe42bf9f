#include "queues.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct Queue {
  std::deque<std::function<void()>> work;  ///< the first is being done
};

/// Guards all queues and events, which are never freed: their threads wait until the very end.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<cudaStream_t, Queue> queues;
  std::map<cudaEvent_t, std::shared_ptr<bool>> events;  ///< whether each is reached
};

State& state() {
  static State& the_state = *std::make_unique<State>().release();
  return the_state;
}

void serve(Queue& queue) {
  std::unique_lock lock(state().mutex);
  while (true) {
    state().changed.wait(lock, [&] { return !queue.work.empty(); });
    const std::function<void()> first = queue.work.front();
    lock.unlock();
    first();
    lock.lock();
    queue.work.pop_front();
    state().changed.notify_all();
  }
}

/// With the lock held.
void add(cudaStream_t stream, std::function<void()> work) {
  const auto [found, is_new] = state().queues.try_emplace(stream);
  if (is_new) {
    std::thread(serve, std::ref(found->second)).detach();
  }
  found->second.work.push_back(std::move(work));
  state().changed.notify_all();
}

bool is_empty(cudaStream_t stream) {
  const auto found = state().queues.find(stream);
  return found == state().queues.end() || found->second.work.empty();
}

std::shared_ptr<bool> open(cudaEvent_t event) {
  const auto found = state().events.find(event);
  return found == state().events.end() || *found->second ? nullptr : found->second;
}

void until_reached(const std::shared_ptr<bool>& mark, std::unique_lock<std::mutex>& lock) {
  state().changed.wait(lock, [&] { return mark == nullptr || *mark; });
}

}  // namespace

namespace played_cuda::queues {

void run(cudaStream_t stream, std::function<void()> work) {
  std::unique_lock lock(state().mutex);
  if (!is_empty(stream)) {
    add(stream, std::move(work));
    return;
  }
  lock.unlock();
  work();
}

void push(cudaStream_t stream, std::function<void()> work) {
  const std::scoped_lock lock(state().mutex);
  add(stream, std::move(work));
}

bool is_busy(cudaStream_t stream) {
  const std::scoped_lock lock(state().mutex);
  return !is_empty(stream);
}

void wait(cudaStream_t stream) {
  std::unique_lock lock(state().mutex);
  state().changed.wait(lock, [&] { return is_empty(stream); });
}

void wait_for_all() {
  std::unique_lock lock(state().mutex);
  std::vector<std::shared_ptr<bool>> marks;
  for (auto& [stream, queue] : state().queues) {
    if (!queue.work.empty()) {
      marks.push_back(std::make_shared<bool>(false));
      add(stream, [mark = marks.back()] {
        const std::scoped_lock inner(state().mutex);
        *mark = true;
      });
    }
  }
  for (const std::shared_ptr<bool>& mark : marks) {
    until_reached(mark, lock);
  }
}

void record(cudaEvent_t event, cudaStream_t stream) {
  const std::scoped_lock lock(state().mutex);
  if (is_empty(stream)) {
    state().events.erase(event);
    return;
  }
  const auto mark = std::make_shared<bool>(false);
  state().events[event] = mark;
  add(stream, [mark] {
    const std::scoped_lock inner(state().mutex);
    *mark = true;
  });
}

bool is_reached(cudaEvent_t event) {
  const std::scoped_lock lock(state().mutex);
  return open(event) == nullptr;
}

void wait(cudaEvent_t event) {
  std::unique_lock lock(state().mutex);
  until_reached(open(event), lock);
}

void follow(cudaStream_t stream, cudaEvent_t event) {
  const std::scoped_lock lock(state().mutex);
  if (const std::shared_ptr<bool> mark = open(event)) {
    add(stream, [mark] {
      std::unique_lock inner(state().mutex);
      until_reached(mark, inner);
    });
  }
}

void forget(cudaEvent_t event) {
  const std::scoped_lock lock(state().mutex);
  state().events.erase(event);
}

}  // namespace played_cuda::queues

extern "C" cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  played_cuda::queues::push(stream, [=] { function(data); });
  return cudaSuccess;
}
