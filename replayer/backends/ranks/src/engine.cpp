#include "engine.h"

#include <algorithm>
#include <utility>

#include "et_schema/base/error.h"

namespace understudy::backends {

namespace {

/// Interval at which an idle thread looks for questions of other ranks.
constexpr std::chrono::microseconds kIdleLook{100'000};
/// Waking the thread takes longer than a small call. So behind a call that was started it looks for
/// the next one by itself for a while.
constexpr std::chrono::microseconds kNap{200};
constexpr std::chrono::milliseconds kNapsFor{10};
/// Polls between two looks at the clock and at questions.
constexpr unsigned kPollsBetweenLooks = 64;

}  // namespace

Engine::Engine(Wire& wire, double time_limit_s)
    : wire_(wire),
      world_rank_(wire.rank()),
      time_limit_s_(time_limit_s),
      watch_(wire, [this](const Question& question) { return answer(question); }),
      thread_([this] { work(); }) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(queue_mutex_);
    stop_ = true;
  }
  queue_changed_.notify_one();
  thread_.join();
}

std::shared_ptr<Operation> Engine::start(const Call& call, const Group& group) {
  return enqueue(call, group, /*is_waited_for=*/false);
}

void Engine::wait(Operation& operation) {
  if (!operation.done.load(std::memory_order_acquire)) {
    poll_until(operation);
  }
  if (!operation.done.load(std::memory_order_acquire)) {
    throw_if_failed();
  }
}

void Engine::run(const Call& call, const Group& group) {
  wait(*enqueue(call, group, /*is_waited_for=*/true));
}

void Engine::let_go(const Operation& operation) {
  if (operation.done.load(std::memory_order_acquire)) {
    return;
  }
  const auto held = token();
  if (!operation.done.load(std::memory_order_acquire) && !has_failed_.load()) {
    fail(std::make_exception_ptr(
        et_schema::run_failed("a communication was given up under way", {})));
  }
}

void Engine::watch_processes(std::vector<et_schema::ProcessId> by_rank) {
  const auto held = token();
  watch_.set_processes(std::move(by_rank));
}

void Engine::interrupt() {
  fail(std::make_exception_ptr(
      et_schema::run_failed("communication was given up: this rank has failed elsewhere", {})
          .with_rank(world_rank_)));
}

bool Engine::is_idle() {
  return !has_queue_.load() && !has_active_.load() && !has_failed_.load();
}

std::shared_ptr<Operation> Engine::enqueue(const Call& call, const Group& group,
                                           bool is_waited_for) {
  throw_if_failed();
  auto operation = std::make_shared<Operation>();
  operation->call = call;
  operation->group = &group;
  operation->started = std::chrono::steady_clock::now();
  bool wakes = false;
  {
    const std::lock_guard lock(queue_mutex_);
    queue_.push_back(operation);
    has_queue_.store(true);
    if (!is_waited_for) {
      naps_until_ = operation->started + kNapsFor;
      wakes = !naps_;
    }
  }
  if (wakes) {
    queue_changed_.notify_one();
  }
  return operation;
}

void Engine::poll_until(const Operation& operation) {
  caller_polls_.store(true);
  {
    const std::lock_guard lock(token_);
    while (!operation.done.load(std::memory_order_relaxed) &&
           !has_failed_.load(std::memory_order_relaxed)) {
      poll(/*look=*/false);
    }
  }
  // Done under the mutex, so that the engine's thread cannot miss the change between its check and
  // its sleep.
  bool hand_over = false;
  {
    const std::lock_guard lock(queue_mutex_);
    caller_polls_.store(false);
    hand_over = !naps_ && (has_active_.load() || !queue_.empty());
  }
  if (hand_over) {
    queue_changed_.notify_one();
  }
}

void Engine::work() {
  const auto has_work = [this] {
    return stop_ || (!caller_polls_.load() && !has_failed_.load() &&
                     (!queue_.empty() || has_active_.load()));
  };
  for (;;) {
    bool has_napped = false;
    {
      std::unique_lock lock(queue_mutex_);
      naps_ = std::chrono::steady_clock::now() < naps_until_;
      const bool is_woken = queue_changed_.wait_for(lock, naps_ ? kNap : kIdleLook, has_work);
      has_napped = std::exchange(naps_, false) && !is_woken;
      if (stop_) {
        return;
      }
    }
    if (has_napped || caller_polls_.load() || has_failed_.load()) {
      continue;  // after a failure the caller may have freed the buffers of transfers in progress
    }
    {
      const std::lock_guard lock(token_);
      poll(/*look=*/true);
    }
    while (!caller_polls_.load() && !has_failed_.load() &&
           (has_active_.load() || has_queue_.load())) {
      {
        const std::lock_guard lock(token_);
        poll(/*look=*/false);
      }
      std::this_thread::yield();
    }
  }
}

void Engine::take_queue() {
  std::deque<std::shared_ptr<Operation>> taken;
  {
    const std::lock_guard lock(queue_mutex_);
    taken.swap(queue_);
    has_queue_.store(false);
    if (!taken.empty()) {
      has_active_.store(true);
    }
  }
  for (std::shared_ptr<Operation>& operation : taken) {
    begin(*operation);
    active_.push_back(std::move(operation));
  }
}

void Engine::begin(Operation& operation) {
  const Call& call = operation.call;
  const Group& group = *operation.group;
  const bool is_message = et_schema::is_message(call.kind);
  operation.index = ++started_[is_message ? Line{group.id, call.kind, call.root_or_peer}
                                          : Line{.group = group.id}];
  operation.schedule.emplace(wire_.make_transfers(),
                             is_message ? group.messages : group.collectives,
                             is_message ? call.tag : static_cast<int>(operation.index % kTags));
  add_steps(call, group, *operation.schedule);
}

void Engine::poll(bool look) {
  if (has_failed_.load(std::memory_order_relaxed)) {
    return;  // failed after the token was requested: buffers may be freed
  }
  try {
    if (has_queue_.load(std::memory_order_relaxed)) {
      take_queue();
    }
    advance_all();
    if (look || ++polls_ % kPollsBetweenLooks == 0) {
      look_around();
    }
  } catch (const et_schema::Error& error) {
    fail(std::make_exception_ptr(error.with_rank(world_rank_)));
  } catch (...) {  // out of memory, or a broken invariant: the caller's thread reports it
    fail(std::current_exception());
  }
}

void Engine::advance_all() {
  wire_.progress();
  std::erase_if(active_, [](const std::shared_ptr<Operation>& operation) {
    if (!operation->schedule->advance()) {
      return false;
    }
    operation->ended = std::chrono::steady_clock::now();
    operation->done.store(true, std::memory_order_release);
    return true;
  });
  has_active_.store(!active_.empty());
}

void Engine::look_around() {
  const auto now = std::chrono::steady_clock::now();
  watch_.serve(now);
  if (!active_.empty()) {
    const Operation& oldest = *active_.front();
    watch_.look({oldest.call, *oldest.group, oldest.index, oldest.started, world_rank_,
                 time_limit_s_.load()},
                now);
  }
}

void Engine::fail(std::exception_ptr failure) {
  const std::lock_guard lock(queue_mutex_);
  if (failure_ == nullptr) {
    failure_ = std::move(failure);
  }
  has_failed_.store(true);
}

Answer Engine::answer(const Question& question) const {
  Answer answer;
  answer.question = question;
  answer.progress = progress_.load();
  if (const auto line = started_.find(question.line); line != started_.end()) {
    answer.started = line->second;
  }
  if (!active_.empty()) {
    const Operation& oldest = *active_.front();
    const std::string doing = describe(oldest.call, *oldest.group, oldest.index);
    const std::size_t length = std::min(doing.size(), answer.doing.size() - 1);
    std::copy_n(doing.begin(), length, answer.doing.begin());
  }
  return answer;
}

void Engine::throw_if_failed() {
  if (has_failed_.load()) {
    const std::lock_guard lock(queue_mutex_);
    std::rethrow_exception(failure_);
  }
}

}  // namespace understudy::backends
