// What Kineto asks CUPTI for. Each launch gives the records that CUPTI gives: of the call, of the
// operators around it, and of what ran, with invented times: one after the other on each stream.
#include <cupti.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capture/played/cupti/buffers.h"
#include "capture/played/played.h"
#include "et_schema/formats/cubin/cubin.h"

namespace played {
namespace {

// Ticks of the clock that Kineto gives.
constexpr std::uint64_t kTicksOfCall = 500;
constexpr std::uint64_t kTicksOfWork = 1000;
constexpr std::uint64_t kTicksUntilWork = 2000;  // after its call
constexpr unsigned kDefaultStream = 7;           // as CUPTI numbers streams
constexpr unsigned kFirstStream = 13;
constexpr unsigned kContext = 1;

struct Recorder {
  std::mutex mutex;
  Buffers buffers;
  std::set<CUpti_ActivityKind> kinds;
  CUpti_TimestampCallbackFunc clock = nullptr;
  std::map<const void*, unsigned> streams;
  std::map<unsigned, std::uint64_t> ends;  ///< of the last work, by stream
  std::set<std::string> names;             ///< that records point to
};

Recorder& recorder() {
  static auto& the_recorder = *new Recorder;
  return the_recorder;
}

/// Of each kind the ids that this thread is within.
thread_local std::map<CUpti_ExternalCorrelationKind, std::vector<std::uint64_t>> correlations;

struct Call {
  std::string_view name;
  CUpti_CallbackId id;
  CUpti_ActivitySynchronizationType waits = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN;
};
#define PLAYED_CALLBACK(name, version) \
  { #name, CUPTI_RUNTIME_TRACE_CBID_##name##_##version }
#define PLAYED_WAIT(name, version, type) \
  { #name, CUPTI_RUNTIME_TRACE_CBID_##name##_##version, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_##type }
constexpr Call kCalls[] = {
    PLAYED_CALLBACK(cudaLaunchKernel, v7000),
    PLAYED_CALLBACK(cudaMemcpyAsync, v3020),
    PLAYED_CALLBACK(cudaMemsetAsync, v3020),
    PLAYED_CALLBACK(cudaGraphLaunch, v10000),
    PLAYED_CALLBACK(cudaLaunchHostFunc, v10000),
    PLAYED_CALLBACK(cudaStreamQuery, v3020),
    PLAYED_CALLBACK(cudaEventRecord, v3020),
    PLAYED_CALLBACK(cudaEventQuery, v3020),
    PLAYED_CALLBACK(cudaStreamIsCapturing, v10000),
    PLAYED_CALLBACK(cudaStreamBeginCapture, v10000),
    PLAYED_CALLBACK(cudaStreamEndCapture, v10000),
    PLAYED_WAIT(cudaDeviceSynchronize, v3020, CONTEXT_SYNCHRONIZE),
    PLAYED_WAIT(cudaStreamSynchronize, v3020, STREAM_SYNCHRONIZE),
    PLAYED_WAIT(cudaEventSynchronize, v3020, EVENT_SYNCHRONIZE),
    PLAYED_WAIT(cudaStreamWaitEvent, v3020, STREAM_WAIT_EVENT),
};

std::string_view call_of(const Work& work) {
  switch (work.kind) {
    case Kind::kKernel:
      return "cudaLaunchKernel";
    case Kind::kCopy:
      return "cudaMemcpyAsync";
    case Kind::kFill:
      return "cudaMemsetAsync";
    default:
      return work.name;
  }
}

/// The call of which `member` is `value`, or one that is not known.
template <typename T>
Call find_call(T Call::*member, const T& value) {
  const auto* const found = std::ranges::find(kCalls, value, member);
  return found == std::end(kCalls) ? Call{"INVALID", CUPTI_RUNTIME_TRACE_CBID_INVALID} : *found;
}

std::uint64_t now() {
  return recorder().clock == nullptr ? 0 : recorder().clock();
}

/// Gives Kineto a record, if it enabled the kind.
template <typename Record>
void add(const Record& record, CUpti_ActivityKind enabled) {
  if (recorder().kinds.contains(enabled)) {
    recorder().buffers.add(record);
  }
}

template <typename Record>
void add(const Record& record) {
  add(record, record.kind);
}

template <typename Record>
Record record_of(const Launch& launch, CUpti_ActivityKind kind) {
  Record record{};
  record.kind = kind;
  record.correlationId = launch.correlation;
  return record;
}

/// The ids of the operators that the launch is within.
void add_correlations(const Launch& launch) {
  for (const auto& [kind, ids] : correlations) {
    if (!ids.empty()) {
      auto record = record_of<CUpti_ActivityExternalCorrelation>(
          launch, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
      record.externalKind = kind;
      record.externalId = ids.back();
      add(record);
    }
  }
}

void add_call(const Launch& launch) {
  auto record = record_of<CUpti_ActivityAPI>(launch, CUPTI_ACTIVITY_KIND_RUNTIME);
  record.cbid = find_call(&Call::name, call_of(launch.work)).id;
  record.start = now();
  record.end = record.start + kTicksOfCall;
  record.processId = static_cast<std::uint32_t>(getpid());
  record.threadId = static_cast<std::uint32_t>(pthread_self());
  add(record);
}

unsigned stream_of(const void* stream) {
  auto& streams = recorder().streams;
  const auto next = static_cast<unsigned>(kFirstStream + 4 * streams.size());
  return reinterpret_cast<std::uintptr_t>(stream) <= 2
             ? kDefaultStream
             : streams.try_emplace(stream, next).first->second;
}

/// The record of something that ran on the card.
template <typename Record>
Record work_of(const Launch& launch, CUpti_ActivityKind kind) {
  auto record = record_of<Record>(launch, kind);
  record.streamId = stream_of(launch.work.stream);
  std::uint64_t& end = recorder().ends[record.streamId];
  record.start = std::max(end, now() + kTicksUntilWork);
  record.end = end = record.start + kTicksOfWork;
  record.deviceId = static_cast<std::uint32_t>(launch.device);
  record.contextId = kContext;
  return record;
}

void add_kernel(const Launch& launch) {
  const auto number = [](unsigned value) { return static_cast<std::int32_t>(value); };
  static const understudy::et_schema::CubinKernel kUnknown;
  const auto& code = launch.code == nullptr ? kUnknown : *launch.code;
  auto record = work_of<CUpti_ActivityKernel10>(launch, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  record.completed = record.end;
  record.registersPerThread = static_cast<std::uint16_t>(code.registers);
  record.gridX = number(launch.work.grid[0]);
  record.gridY = number(launch.work.grid[1]);
  record.gridZ = number(launch.work.grid[2]);
  record.blockX = number(launch.work.block[0]);
  record.blockY = number(launch.work.block[1]);
  record.blockZ = number(launch.work.block[2]);
  record.staticSharedMemory = number(code.static_shared);
  record.dynamicSharedMemory = number(launch.work.shared);
  record.name = recorder().names.insert(launch.work.name).first->c_str();
  add(record);
}

void add_copy(const Launch& launch) {
  const std::string_view way = launch.work.name;
  const auto memory = [&](char place) -> std::uint8_t {
    return place == 'D'            ? CUPTI_ACTIVITY_MEMORY_KIND_DEVICE
           : launch.work.is_pinned ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED
                                   : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  };
  auto record = work_of<CUpti_ActivityMemcpy6>(launch, CUPTI_ACTIVITY_KIND_MEMCPY);
  record.bytes = launch.work.bytes;
  record.copyKind = way == "HtoD"   ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                    : way == "DtoH" ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                    : way == "DtoD" ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                                    : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
  record.srcKind = memory(way.front());
  record.dstKind = memory(way.back());
  add(record);
}

void add_fill(const Launch& launch) {
  auto record = work_of<CUpti_ActivityMemset4>(launch, CUPTI_ACTIVITY_KIND_MEMSET);
  record.bytes = launch.work.bytes;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  add(record);
}

/// An event is known by where its time is kept.
std::uint32_t event_of(const Launch& launch) {
  const auto at = reinterpret_cast<std::uintptr_t>(launch.work.event_ns);
  return static_cast<std::uint32_t>(at / alignof(std::max_align_t));
}

void add_event(const Launch& launch) {
  auto record = record_of<CUpti_ActivityCudaEvent2>(launch, CUPTI_ACTIVITY_KIND_CUDA_EVENT);
  record.contextId = kContext;
  record.streamId = stream_of(launch.work.stream);
  record.eventId = event_of(launch);
  record.deviceTimestamp = now();
  add(record, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);  // with waits, as CUPTI tells of them
}

/// The record of what the host or a stream waits for, if the call waits.
void add_wait(const Launch& launch) {
  auto record =
      record_of<CUpti_ActivitySynchronization2>(launch, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  record.type = find_call(&Call::name, call_of(launch.work)).waits;
  if (record.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN) {
    return;
  }
  record.start = now();
  record.end = record.start + kTicksOfCall;
  record.contextId = kContext;
  const bool is_of_stream = record.type >= CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT &&
                            record.type <= CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  record.streamId =
      is_of_stream ? stream_of(launch.work.stream) : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.cudaEventId = event_of(launch);
  add(record);
}

void record(const Launch& launch) {
  const std::scoped_lock lock(recorder().mutex);
  if (!launch.is_replayed) {
    add_correlations(launch);
    add_call(launch);
  }
  if (launch.is_captured) {
    return;
  }
  switch (launch.work.kind) {
    case Kind::kKernel:
      return add_kernel(launch);
    case Kind::kCopy:
      return add_copy(launch);
    case Kind::kFill:
      return add_fill(launch);
    case Kind::kCall:
      return launch.work.name == std::string_view("cudaEventRecord") ? add_event(launch)
                                                                     : add_wait(launch);
  }
}

/// Changes the recorder alone.
template <typename Change>
CUptiResult change(Change&& change) {
  const std::scoped_lock lock(recorder().mutex);
  change(recorder());
  return CUPTI_SUCCESS;
}

template <typename T>
CUptiResult answer(T* to, T value) {
  *to = value;
  return CUPTI_SUCCESS;
}

CUptiResult pop(CUpti_ExternalCorrelationKind kind, std::uint64_t* id) {
  auto& ids = correlations[kind];
  if (ids.empty()) {
    return CUPTI_ERROR_QUEUE_EMPTY;
  }
  if (id != nullptr) {
    *id = ids.back();
  }
  ids.pop_back();
  return CUPTI_SUCCESS;
}

/// The record behind the one that is told, or the first.
CUptiResult next(std::uint8_t* buffer, std::size_t used, CUpti_Activity** record) {
  auto* const at =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + kPlaceBytes;
  return at < buffer + used ? answer(record, reinterpret_cast<CUpti_Activity*>(at))
                            : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

}  // namespace

#define PLAYED_CUPTI(name, parameters, ...) PLAYED_CALL(CUptiResult, name, parameters, __VA_ARGS__)

PLAYED_CUPTI(cuptiGetVersion, (std::uint32_t * version),
             answer<std::uint32_t>(version, CUPTI_API_VERSION))
PLAYED_CUPTI(cuptiGetResultString, (CUptiResult, const char** text),
             answer(text, "an error of the played CUPTI"))
PLAYED_CUPTI(cuptiGetCallbackName, (CUpti_CallbackDomain, std::uint32_t id, const char** name),
             answer(name, find_call(&Call::id, id).name.data()))
PLAYED_CUPTI(cuptiActivityRegisterCallbacks,
             (CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete),
             change([&](Recorder& recorder) {
               recorder.buffers.set_callbacks(request, complete);
               played_listen(&record);
             }))
PLAYED_CUPTI(cuptiActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc clock),
             change([&](Recorder& recorder) { recorder.clock = clock; }))
PLAYED_CUPTI(cuptiActivityEnable, (CUpti_ActivityKind kind),
             change([&](Recorder& recorder) { recorder.kinds.insert(kind); }))
PLAYED_CUPTI(cuptiActivityDisable, (CUpti_ActivityKind kind),
             change([&](Recorder& recorder) { recorder.kinds.erase(kind); }))
PLAYED_CUPTI(cuptiActivityFlushAll, (std::uint32_t),
             change([](Recorder& recorder) { recorder.buffers.flush(); }))
PLAYED_CUPTI(cuptiActivityPushExternalCorrelationId,
             (CUpti_ExternalCorrelationKind kind, std::uint64_t id),
             (correlations[kind].push_back(id), CUPTI_SUCCESS))
PLAYED_CUPTI(cuptiActivityPopExternalCorrelationId,
             (CUpti_ExternalCorrelationKind kind, std::uint64_t* id), pop(kind, id))
PLAYED_CUPTI(cuptiActivityGetNextRecord,
             (std::uint8_t * buffer, std::size_t used, CUpti_Activity** record),
             next(buffer, used, record))
PLAYED_CUPTI(cuptiActivityGetNumDroppedRecords, (CUcontext, std::uint32_t, std::size_t* count),
             answer<std::size_t>(count, 0))

}  // namespace played
