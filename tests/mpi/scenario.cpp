// Runs one way for a job to fail, named on the command line; failure_test.cpp checks how it ends.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device_backend.h"
#include "et_schema/base/error.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::tests {
namespace {

using backends::Backend;
using backends::Call;
using et_schema::CommKind;
using et_schema::DType;

/// Ranks on cores that others use too reach their first call within this time.
constexpr double kShortLimitS = 3;
constexpr double kStoppedLimitS = 3;
constexpr std::int64_t kLarge = 100000;

struct Scenario {
  double time_limit_s = 60;
  std::function<void(Backend&)> run;
};

backends::Buffer buffer_of(std::vector<float>& data) {
  return {data.data(), static_cast<std::int64_t>(data.size()), DType::kFloat32};
}

Call all_reduce(std::vector<float>& data) {
  return {.kind = CommKind::kAllReduce, .inputs = {buffer_of(data)}, .outputs = {buffer_of(data)}};
}

Call receive(std::vector<float>& data, int peer) {
  return {.kind = CommKind::kRecv, .root_or_peer = peer, .outputs = {buffer_of(data)}};
}

Call send(std::vector<float>& data, int peer) {
  return {.kind = CommKind::kSend, .root_or_peer = peer, .inputs = {buffer_of(data)}};
}

/// A rank that computes for longer than any limit; it ends only with the job.
void compute() {
  while (true) {
    ::pause();
  }
}

bool is_last(const Backend& backend) {
  return backend.rank() == backend.world_size() - 1;
}

void last_rank_computes(Backend& backend) {
  std::vector<float> data(4);
  backend.run(all_reduce(data));
  if (is_last(backend)) {
    compute();
  }
  backend.run(all_reduce(data));
}

/// Over NCCL the host waits for the device, and notices what happened in its next call.
void last_rank_computes_before_a_call_of_devices(Backend& backend) {
  std::vector<float> data(4);
  backend.run(all_reduce(data));
  if (is_last(backend)) {
    compute();
  }
  backend.run(all_reduce(data));
  backend.run(all_reduce(data));
}

void last_rank_does_not_receive(Backend& backend) {
  std::vector<float> data(kLarge);
  if (is_last(backend)) {
    compute();
  }
  backend.wait(backend.start(send(data, 1)));
  backend.wait(backend.start(send(data, 1)));
}

void two_groups_stand_still(Backend& backend) {
  std::vector<float> data(4);
  std::vector<float> other(4);
  Call call = all_reduce(other);
  call.group = backend.make_group("side", {});
  backend.run(all_reduce(data));
  backend.run(call);
  if (is_last(backend)) {
    compute();
  }
  const auto begin = std::chrono::steady_clock::now();
  auto work = backend.start(all_reduce(data));
  backend.wait(backend.start(call));  // the device ends it only once both are aborted
  const std::chrono::duration<double> stood = std::chrono::steady_clock::now() - begin;
  constexpr double kAbortS = 5;
  std::fputs(stood.count() < kShortLimitS + kAbortS ? "both ended\n" : "too late\n", stderr);
  backend.wait(std::move(work));
}

/// One thread gives up while another one issues, at any moment.
void aborts_race_with_calls(Backend&) {
  constexpr int kTimes = 200;
  constexpr int kMostUs = 400;
  std::vector<float> data(4);
  Call call = all_reduce(data);
  call.memory = et_schema::DeviceType::kCuda;
  Call barrier;
  barrier.memory = et_schema::DeviceType::kCuda;
  int ended = 0;
  for (int time = 0; time < kTimes; ++time) {
    const auto host = backends::make_single_backend({});
    const auto device = connect_played(*host, {});
    device->prepare({&call, 1});
    device->run(call);
    const std::jthread other([&device, time] {
      std::this_thread::sleep_for(std::chrono::microseconds(time * 37 % kMostUs));
      device->interrupt();
    });
    try {
      while (true) {
        device->run(call);
        device->run(call);
        device->run(barrier);  // so that the device keeps up
      }
    } catch (const et_schema::Error&) {
      ++ended;
    }
  }
  std::fputs((std::to_string(ended) + " ended\n").c_str(), stderr);
}

void last_rank_is_in_another_call(Backend& backend) {
  std::vector<float> data(4);
  const auto group = backend.make_group("side", {});
  Call call = all_reduce(data);
  call.group = is_last(backend) ? group : 0;
  backend.run(call);
}

void both_receive_first(Backend& backend) {
  std::vector<float> data(4);
  backend.run(receive(data, 1 - backend.rank()));
}

void asynchronous_call_is_late(Backend& backend) {
  std::vector<float> data(4);
  if (backend.rank() == 0) {
    auto work = backend.start(receive(data, 1));
    std::this_thread::sleep_for(std::chrono::duration<double>(kShortLimitS + 1));
    backend.wait(std::move(work));
  }
  compute();
}

void group_that_one_rank_does_not_make(Backend& backend) {
  if (is_last(backend)) {
    compute();
  }
  (void)backend.make_group("tensor parallel", {});
}

void receive_sizes(Backend& backend, std::size_t sent, std::size_t received) {
  std::vector<float> data(backend.rank() == 0 ? received : sent);
  backend.run(backend.rank() == 0 ? receive(data, 1) : send(data, 0));
  backend.barrier();
}

void message_is_smaller(Backend& backend) {
  receive_sizes(backend, 4, 8);
}
void message_is_larger(Backend& backend) {
  receive_sizes(backend, 8, 4);
}

void last_rank_is_killed(Backend& backend) {
  std::vector<float> data(4);
  backend.run(all_reduce(data));
  if (is_last(backend)) {
    std::raise(SIGKILL);
  }
  backend.run(all_reduce(data));
}

void last_rank_is_stopped(Backend& backend) {
  backend.set_time_limit(kStoppedLimitS);
  std::vector<float> data(4);
  backend.run(all_reduce(data));
  if (is_last(backend)) {
    std::raise(SIGSTOP);
  }
  backend.run(all_reduce(data));
}

void last_rank_is_slow_and_gets_on(Backend& backend) {
  std::vector<float> data(4);
  for (int piece = 0; is_last(backend) && piece < 8; ++piece) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    backend.note_progress();
  }
  backend.run(all_reduce(data));
  backend.barrier();
  std::fputs("through\n", stderr);
}

void another_thread_gives_up(Backend& backend) {
  std::vector<float> data(4);
  if (is_last(backend)) {
    compute();
  }
  const std::jthread other([&backend] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (backend.rank() == 0) {
      backend.interrupt();
    }
  });
  backend.run(all_reduce(data));
}

void last_rank_aborts(Backend& backend) {
  std::vector<float> data(kLarge);
  if (is_last(backend)) {
    std::fputs("rank gives up\n", stderr);
    backend.abort(65);
  }
  backend.run(all_reduce(data));
}

void last_rank_aborts_under_way(Backend& backend) {
  std::vector<float> data(kLarge);
  auto work = backend.start(is_last(backend) ? receive(data, 0) : all_reduce(data));
  if (is_last(backend)) {
    backend.abort(70);
  }
  backend.wait(std::move(work));
}

void last_rank_throws_past_the_backend(Backend& backend) {
  std::vector<float> data(kLarge);
  auto work = backend.start(all_reduce(data));
  if (is_last(backend)) {
    throw et_schema::bad_input("thrown with a call under way", {});
  }
  backend.wait(std::move(work));
}

const std::map<std::string, Scenario>& scenarios() {
  static const std::map<std::string, Scenario> all = {
      {"last_rank_computes", {kShortLimitS, last_rank_computes}},
      {"last_rank_is_in_another_call", {kShortLimitS, last_rank_is_in_another_call}},
      {"both_receive_first", {kShortLimitS, both_receive_first}},
      {"asynchronous_call_is_late", {kShortLimitS, asynchronous_call_is_late}},
      {"group_that_one_rank_does_not_make", {kShortLimitS, group_that_one_rank_does_not_make}},
      {"message_is_smaller", {60, message_is_smaller}},
      {"message_is_larger", {60, message_is_larger}},
      {"last_rank_is_killed", {60, last_rank_is_killed}},
      {"last_rank_is_stopped", {60, last_rank_is_stopped}},
      {"last_rank_is_slow_and_gets_on", {kShortLimitS, last_rank_is_slow_and_gets_on}},
      {"another_thread_gives_up", {60, another_thread_gives_up}},
      {"nccl_last_rank_computes", {kShortLimitS, last_rank_computes_before_a_call_of_devices}},
      {"nccl_last_rank_does_not_receive", {kShortLimitS, last_rank_does_not_receive}},
      {"nccl_two_groups_stand_still", {kShortLimitS, two_groups_stand_still}},
      {"aborts_race_with_calls", {60, aborts_race_with_calls}},
      {"last_rank_aborts", {60, last_rank_aborts}},
      {"last_rank_aborts_under_way", {60, last_rank_aborts_under_way}},
      {"last_rank_throws_past_the_backend", {60, last_rank_throws_past_the_backend}}};
  return all;
}

int run(const Scenario& scenario, bool throws_past, bool over_nccl) {
  backends::BackendOptions options;
  options.time_limit_s = scenario.time_limit_s;
  std::unique_ptr<Backend> outlives;
  try {
    auto backend = backends::join_job(options);
    if (over_nccl) {
      backend = make_device_backend(std::move(backend), scenario.time_limit_s);
    }
    if (!throws_past) {
      outlives = std::move(backend);
    }
    scenario.run(throws_past ? *backend : *outlives);
  } catch (const et_schema::Error& error) {
    std::fputs((et_schema::to_text(error) + "\n").c_str(), stderr);
    if (outlives != nullptr) {
      outlives->abort(static_cast<int>(error.kind()));
    }
    return static_cast<int>(error.kind());
  }
  return 0;
}

}  // namespace
}  // namespace understudy::tests

int main(int argc, char** argv) {
  const std::string name = argc == 2 ? argv[1] : "";
  const auto& all = understudy::tests::scenarios();
  const auto found = all.find(name);
  if (found == all.end()) {
    std::fputs("which scenario?\n", stderr);
    return 2;
  }
  return understudy::tests::run(found->second, name == "last_rank_throws_past_the_backend",
                                name.starts_with("nccl_"));
}
