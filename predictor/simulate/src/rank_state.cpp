#include <algorithm>
#include <iterator>
#include <utility>

#include "engine.h"

namespace understudy::predictor {

// Hosts.

void Engine::begin_task(std::uint32_t c, std::uint32_t h, std::int64_t now_ns) {
  RankState& rank = ranks_[c];
  HostState& host = rank.hosts[h];
  if (host.iteration >= iterations_) {
    host.does = HostDoes::kIsDone;  // the host is no longer needed
    return;
  }
  if (h > 0 && host.task == 0 && rank.hosts[0].iteration < host.iteration) {
    host.does = HostDoes::kWaitsForIteration;
    return;
  }
  const Task& task = rank.plan->timelines[h][host.task];
  host.begin_ns = now_ns;
  host.cause = host.last;
  ++rank.doing.hosts;
  // If the task has no dependencies, its gap and its start are one event.
  if (task.before.empty() && task.after_hosts.empty() && can_start(rank, host, task)) {
    start_task(c, h, now_ns + task.gap_ns, now_ns);
    return;
  }
  host.does = HostDoes::kGap;
  host.next_ns = now_ns + task.gap_ns;
}

bool Engine::can_start(const RankState& rank, const HostState& host, const Task& task) const {
  if (!are_done(rank, task.before, host.iteration)) {
    return false;
  }
  for (std::uint32_t i = task.after_hosts.begin; i < task.after_hosts.end; ++i) {
    const HostDep& dep = rank.plan->host_deps[i];
    const HostState& other = rank.hosts[dep.timeline];
    if (other.iteration < host.iteration ||
        (other.iteration == host.iteration && other.task < dep.tasks)) {
      return false;
    }
  }
  if (task.stream == kNoIndex || task.on_host) {
    return true;
  }
  const StreamState& stream = rank.streams[task.stream];
  return stream.is_empty() || stream.queued() + task.launches <= options_.device.launch_queue;
}

void Engine::start_or_wait(std::uint32_t c, std::uint32_t h, std::int64_t now_ns) {
  RankState& rank = ranks_[c];
  HostState& host = rank.hosts[h];
  if (can_start(rank, host, rank.plan->timelines[h][host.task])) {
    start_task(c, h, now_ns, now_ns);
  } else {
    host.does = HostDoes::kWaitsBefore;
    host.start_ns = now_ns;
    --rank.doing.hosts;
  }
}

void Engine::start_task(std::uint32_t c, std::uint32_t h, std::int64_t start_ns,
                        std::int64_t now_ns) {
  RankState& rank = ranks_[c];
  HostState& host = rank.hosts[h];
  const Task& task = rank.plan->timelines[h][host.task];
  host.does = HostDoes::kOperates;
  host.start_ns = start_ns;
  host.next_ns = start_ns + task.host_ns;
  const bool was_waiting = host.begin_ns + task.gap_ns < start_ns;
  host.last = add_span(c, host.iteration,
                       {was_waiting ? start_ns : host.begin_ns, start_ns, host.next_ns,
                        task.instruction, task.work, h, SpanKind::kHost, host.cause});
  if (task.stream != kNoIndex) {
    issue(c, task, host, now_ns);
  }
}

void Engine::issue(std::uint32_t c, const Task& task, const HostState& host, std::int64_t now_ns) {
  RankState& rank = ranks_[c];
  StreamState& stream = rank.streams[task.stream];
  // Launches are evenly spaced over the call.
  const std::uint32_t items = std::max(task.launches, 1U);
  for (std::uint32_t i = 0; i < items; ++i) {
    const std::int64_t device_ns = task.device_ns * (i + 1) / items - task.device_ns * i / items;
    Item item{&task, host.iteration, task.item + i, host.next_ns, device_ns, host.last};
    if (task.work != kNoIndex) {
      item.launch_ns = host.start_ns + task.turn.latency_ns;
    } else if (task.launches > 0) {
      item.launch_ns = host.start_ns + task.host_ns * (2 * i + 1) / (2 * std::int64_t{items}) +
                       options_.device.launch_ns;
    }
    auto place = stream.queue.end();
    // With one host thread, work is queued in the order of issue. With several, it is queued in the
    // order of launches.
    const auto first = stream.queue.begin() +
                       static_cast<std::ptrdiff_t>(stream.head + (stream.has_begun() ? 1 : 0));
    while (rank.hosts.size() > 1 && place != first &&
           std::prev(place)->launch_ns > item.launch_ns) {
      --place;
    }
    stream.queue.insert(place, item);
  }
  if (stream.does == StreamDoes::kNothing || (rank.hosts.size() > 1 && !stream.has_begun())) {
    stream.next_ns = kNever;
    advance(c, task.stream, now_ns, host.last);
  }
}

void Engine::end_task(std::uint32_t c, std::uint32_t h, std::int64_t now_ns) {
  RankState& rank = ranks_[c];
  HostState& host = rank.hosts[h];
  const Task& task = rank.plan->timelines[h][host.task];
  if (host.does == HostDoes::kStalls) {
    host.last = add_span(c, host.iteration,
                         {host.start_ns, host.start_ns, now_ns, task.instruction, kNoIndex, h,
                          SpanKind::kStall, host.last});
    finish_task(c, h, now_ns);
    return;
  }
  --rank.doing.hosts;
  if (h == 0 && !rank.plan->on_device) {
    rank.accounts.operate(task.gap_ns, task.host_ns);
  }
  if (are_done(rank, task.behind, host.iteration)) {
    stall_or_finish(c, h, now_ns);
  } else {
    host.does = HostDoes::kWaitsBehind;
    host.start_ns = now_ns;
  }
}

void Engine::end_wait(std::uint32_t c, std::uint32_t h, std::int64_t now_ns, SpanId cause) {
  RankState& rank = ranks_[c];
  HostState& host = rank.hosts[h];
  const Task& task = rank.plan->timelines[h][host.task];
  const bool is_before = host.does == HostDoes::kWaitsBefore;
  const bool is_over =
      is_before ? can_start(rank, host, task) : are_done(rank, task.behind, host.iteration);
  if (!is_over) {
    return;
  }
  const SpanId wait = add_span(c, host.iteration,
                               {host.start_ns, host.start_ns, now_ns, task.instruction, kNoIndex, h,
                                SpanKind::kHostWait, cause});
  if (h == 0 && !rank.plan->on_device) {
    const bool for_streams = !(is_before ? task.before : task.behind).empty();
    rank.accounts.wait(now_ns - host.start_ns, for_streams);
  }
  host.last = wait;
  host.cause = wait;
  if (is_before) {
    ++rank.doing.hosts;
    start_task(c, h, now_ns, now_ns);
  } else {
    stall_or_finish(c, h, now_ns);
  }
}

void Engine::stall_or_finish(std::uint32_t c, std::uint32_t h, std::int64_t now_ns) {
  HostState& host = ranks_[c].hosts[h];
  const std::int64_t stall_ns = ranks_[c].plan->timelines[h][host.task].stall_ns;
  if (stall_ns == 0) {
    finish_task(c, h, now_ns);
    return;
  }
  host.does = HostDoes::kStalls;
  host.start_ns = now_ns;
  host.next_ns = now_ns + stall_ns;
}

void Engine::finish_task(std::uint32_t c, std::uint32_t h, std::int64_t now_ns) {
  RankState& rank = ranks_[c];
  HostState& host = rank.hosts[h];
  const SpanId last = host.last;
  if (++host.task == rank.plan->timelines[h].size()) {
    host.task = 0;
    ++host.iteration;
    if (h == 0) {
      rank.host_ends_ns.push_back(now_ns);
      note_end(c, now_ns);
    }
  }
  begin_task(c, h, now_ns);
  if (rank.hosts.size() < 2) {
    return;
  }
  for (std::uint32_t other = 1; h == 0 && host.task == 0 && other < rank.hosts.size(); ++other) {
    if (rank.hosts[other].does == HostDoes::kWaitsForIteration) {
      begin_task(c, other, now_ns);
    }
  }
  wake(c, now_ns, last);
}

// Streams.

void StreamState::pop() {
  ++head;
  constexpr std::size_t kCompactFrom = 4096;
  if (is_empty()) {
    queue.clear();
    head = 0;
  } else if (head >= kCompactFrom && 2 * head >= queue.size()) {
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(head));
    head = 0;
  }
}

void Engine::bring_forward(const RankState& rank, StreamState& stream) const {
  const auto front = stream.queue.begin() + static_cast<std::ptrdiff_t>(stream.head);
  const auto can_begin = [&](const Item& item) {
    return are_done(rank, item.task->item_after, item.iteration);
  };
  if (rank.hosts.size() < 2 || can_begin(*front)) {
    return;
  }
  // The front may wait for items that precede it in the program, but were queued later.
  const auto place = [](const Item& item) { return std::pair(item.iteration, item.number); };
  const auto found = std::find_if(front, stream.queue.end(), [&](const Item& item) {
    return place(item) < place(*front) && can_begin(item);
  });
  if (found != stream.queue.end()) {
    std::rotate(front, found, found + 1);
  }
}

void Engine::advance(std::uint32_t c, std::uint32_t s, std::int64_t now_ns, SpanId cause) {
  RankState& rank = ranks_[c];
  StreamState& stream = rank.streams[s];
  bring_forward(rank, stream);
  const Item& item = stream.front();
  if (!are_done(rank, item.task->item_after, item.iteration)) {
    stream.does = StreamDoes::kWaitsForOthers;
    return;
  }
  std::int64_t begin_ns = item.launch_ns;
  stream.cause = item.launch_ns > now_ns ? item.issuer : cause;
  if (item.task->work != kNoIndex) {
    const bool has_waited = stream.does == StreamDoes::kWaitsForOthers;
    begin_ns = std::max(begin_ns, (has_waited ? now_ns : stream.free_ns) + item.task->turn.turn_ns);
  }
  if (begin_ns > now_ns) {
    stream.does = StreamDoes::kIsLaunched;
    stream.next_ns = begin_ns;
    return;
  }
  begin_item(c, s, now_ns);
}

void Engine::begin_item(std::uint32_t c, std::uint32_t s, std::int64_t now_ns) {
  RankState& rank = ranks_[c];
  StreamState& stream = rank.streams[s];
  const Item& item = stream.front();
  const Task& task = *item.task;
  stream.since_ns = now_ns;
  if (task.call != kNoIndex) {
    arrive(c, s, now_ns);
    return;
  }
  stream.does = task.communicates ? StreamDoes::kMoves : StreamDoes::kOperates;
  stream.next_ns = now_ns;
  stream.moved_ns = rank.accounts.moved_ns();
  ++(task.communicates ? rank.doing.communications : rank.doing.operators);
  if (task.launches > 0) {
    const std::int64_t more_ns = task.work == kNoIndex
                                     ? options_.device.kernel_gap_ns
                                     : std::min<std::int64_t>(task.turn.turn_ns, 0);
    stream.next_ns = now_ns + std::max<std::int64_t>(item.device_ns + more_ns, 0);
  }
}

void Engine::end_item(std::uint32_t c, std::uint32_t s, std::int64_t now_ns) {
  RankState& rank = ranks_[c];
  StreamState& stream = rank.streams[s];
  const Item item = stream.front();
  const bool communicates = item.task->call != kNoIndex || item.task->communicates;
  if (!communicates && item.task->work == kNoIndex) {
    // A recorded kernel was slowed down already.
    const std::int64_t moved_ns =
        rank.accounts.moved_ns() - std::exchange(stream.moved_ns, rank.accounts.moved_ns());
    const auto more_ns =
        static_cast<std::int64_t>(options_.device.lost_beside * static_cast<double>(moved_ns));
    if (more_ns > 0) {
      stream.next_ns = now_ns + more_ns;
      return;
    }
  }
  if (stream.does == StreamDoes::kMoves && item.task->call != kNoIndex) {
    --rank.doing.moving;
  }
  if (communicates) {
    --rank.doing.communications;
  } else {
    --rank.doing.operators;
  }
  if (item.task->item_instruction != kNoIndex || item.task->work != kNoIndex) {
    stream.last = add_span(
        c, item.iteration,
        {stream.since_ns, stream.since_ns, now_ns, item.task->item_instruction, item.task->work, s,
         communicates ? SpanKind::kMoving : SpanKind::kDevice, stream.cause});
  }
  stream.free_ns = now_ns;
  stream.does = StreamDoes::kNothing;
  stream.pop();
  const std::uint64_t items = rank.plan->items[s];
  const std::uint64_t number = item.number + std::uint64_t{item.iteration} * items;
  if (number == stream.done + 1) {
    for (++stream.done; stream.done_ahead.erase(stream.done + 1) > 0; ++stream.done) {
    }
  } else {
    stream.done_ahead.insert(number);
  }
  note_end(c, now_ns);
  if (!stream.is_empty()) {
    advance(c, s, now_ns, stream.last);
  }
  wake(c, now_ns, stream.last);
}

void Engine::arrive(std::uint32_t c, std::uint32_t s, std::int64_t now_ns) {
  RankState& rank = ranks_[c];
  StreamState& stream = rank.streams[s];
  const Item item = stream.front();
  const ChannelCall call = (*rank.calls)[item.task->call];
  const Channel& channel = channels_.channels[call.channel];
  Meetings& meetings = meetings_[call.channel];
  const std::uint64_t number =
      call.number + std::uint64_t{item.iteration} * channel.durations_ns.size() - meetings.first;
  while (meetings.open.size() <= number) {
    meetings.open.emplace_back();
  }
  stream.does = StreamDoes::kWaitsForRanks;
  ++rank.doing.communications;
  const SpanId arrival = add_span(c, item.iteration,
                                  {now_ns, now_ns, now_ns, item.task->item_instruction,
                                   item.task->work, s, SpanKind::kArrived, stream.cause});
  stream.arrival_span = arrival.index;
  Meeting& meeting = meetings.open[number];
  ++meeting.count;
  if (!call.is_detached) {
    meeting.waiting.push_back({c, s});
  }
  if (meeting.count == channel.members.size()) {
    start_moving(c, channel.durations_ns[call.number], meeting.waiting, arrival, now_ns);
    meeting.waiting = {};
    while (!meetings.open.empty() && meetings.open.front().count == channel.members.size()) {
      meetings.open.pop_front();
      ++meetings.first;
    }
  }
  if (call.is_detached) {
    end_item(c, s, now_ns);
  }
}

void Engine::start_moving(std::uint32_t current, std::int64_t duration_ns,
                          const std::vector<Arrival>& arrivals, SpanId last_arrival,
                          std::int64_t now_ns) {
  for (const Arrival& arrival : arrivals) {
    RankState& rank = ranks_[arrival.rank_class];
    StreamState& stream = rank.streams[arrival.stream];
    if (rank.plan->on_device) {
      rank.accounts.pass(rank.doing, now_ns);
    }
    if (stream.arrival_span != kNoIndex) {
      rank.spans[stream.arrival_span].end_ns = now_ns;
    }
    stream.does = StreamDoes::kMoves;
    ++rank.doing.moving;
    stream.since_ns = now_ns;
    stream.next_ns = now_ns + duration_ns;
    stream.cause = last_arrival;
    if (arrival.rank_class != current) {
      update(arrival.rank_class);
    }
  }
}

}  // namespace understudy::predictor
