// What Kineto asks CUPTI for. Each launch gives the records that CUPTI gives: of the call, of the
// operators around it, and of what ran, with invented times: one after the other on each stream.
#include <cupti.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capture/played/call.h"
#include "capture/played/cupti/buffers.h"
#include "capture/played/played.h"

namespace played {
namespace {

constexpr std::uint64_t kNsOfWork = 1000;
constexpr std::uint64_t kNsUntilWork = 2000;  // after its call
constexpr unsigned kDefaultStream = 7;        // as CUPTI numbers streams
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
};
#define PLAYED_CALLBACK(name, version) \
  { #name, CUPTI_RUNTIME_TRACE_CBID_##name##_##version }
constexpr Call kCalls[] = {
    PLAYED_CALLBACK(cudaLaunchKernel, v7000),
    PLAYED_CALLBACK(cudaMemcpyAsync, v3020),
    PLAYED_CALLBACK(cudaMemsetAsync, v3020),
    PLAYED_CALLBACK(cudaGraphLaunch, v10000),
    PLAYED_CALLBACK(cudaLaunchHostFunc, v10000),
    PLAYED_CALLBACK(cudaDeviceSynchronize, v3020),
    PLAYED_CALLBACK(cudaStreamSynchronize, v3020),
    PLAYED_CALLBACK(cudaStreamQuery, v3020),
    PLAYED_CALLBACK(cudaStreamWaitEvent, v3020),
    PLAYED_CALLBACK(cudaEventRecord, v3020),
    PLAYED_CALLBACK(cudaEventRecordWithFlags, v11010),
    PLAYED_CALLBACK(cudaEventQuery, v3020),
    PLAYED_CALLBACK(cudaEventSynchronize, v3020),
    PLAYED_CALLBACK(cudaStreamIsCapturing, v10000),
    PLAYED_CALLBACK(cudaStreamBeginCapture, v10000),
    PLAYED_CALLBACK(cudaStreamEndCapture, v10000),
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

CUpti_CallbackId id_of(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kCalls), std::end(kCalls),
                                         [&](const Call& call) { return call.name == name; });
  return found == std::end(kCalls) ? CUpti_CallbackId{CUPTI_RUNTIME_TRACE_CBID_INVALID} : found->id;
}

/// Makes the records of a launch; the recorder is locked.
class Records {
 public:
  Records(Recorder& recorder, const Launch& launch)
      : recorder_(recorder), launch_(launch), begin_(now()) {}

  void add() {
    if (!launch_.is_replayed) {
      add_correlations();
      add_call();
    }
    if (launch_.is_captured || launch_.work.kind == Kind::kCall) {
      return;
    }
    if (launch_.work.kind == Kind::kKernel) {
      add_kernel();
    } else if (launch_.work.kind == Kind::kCopy) {
      add_copy();
    } else {
      add_fill();
    }
  }

 private:
  [[nodiscard]] std::uint64_t now() const {
    if (recorder_.clock != nullptr) {
      return recorder_.clock();
    }
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
  }

  [[nodiscard]] bool is_asked_for(CUpti_ActivityKind kind) const {
    return recorder_.kinds.contains(kind);
  }

  void add_correlations() {
    if (!is_asked_for(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
      return;
    }
    for (const auto& [kind, ids] : correlations) {
      if (!ids.empty()) {
        CUpti_ActivityExternalCorrelation record{};
        record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
        record.externalKind = kind;
        record.externalId = ids.back();
        record.correlationId = launch_.correlation;
        recorder_.buffers.add(record);
      }
    }
  }

  void add_call() {
    if (!is_asked_for(CUPTI_ACTIVITY_KIND_RUNTIME)) {
      return;
    }
    CUpti_ActivityAPI record{};
    record.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    record.cbid = id_of(call_of(launch_.work));
    record.start = begin_;
    record.end = now();
    record.processId = static_cast<std::uint32_t>(getpid());
    record.threadId = static_cast<std::uint32_t>(pthread_self());
    record.correlationId = launch_.correlation;
    recorder_.buffers.add(record);
  }

  /// What all records of work have.
  template <typename Record>
  Record work(CUpti_ActivityKind kind) {
    Record record{};
    record.kind = kind;
    record.streamId = stream_of(launch_.work.stream);
    std::uint64_t& end = recorder_.ends[record.streamId];
    record.start = std::max(end, begin_ + kNsUntilWork);
    record.end = end = record.start + kNsOfWork;
    record.deviceId = static_cast<std::uint32_t>(launch_.device);
    record.contextId = kContext;
    record.correlationId = launch_.correlation;
    return record;
  }

  unsigned stream_of(const void* stream) {
    if (reinterpret_cast<std::uintptr_t>(stream) <= 2) {
      return kDefaultStream;
    }
    const auto next = static_cast<unsigned>(kFirstStream + 4 * recorder_.streams.size());
    return recorder_.streams.try_emplace(stream, next).first->second;
  }

  void add_kernel() {
    if (!is_asked_for(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
      return;
    }
    const Work& work_ = launch_.work;
    auto record = work<CUpti_ActivityKernel11>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    record.completed = record.end;
    record.registersPerThread = static_cast<std::uint16_t>(launch_.registers);
    record.gridX = static_cast<std::int32_t>(work_.grid[0]);
    record.gridY = static_cast<std::int32_t>(work_.grid[1]);
    record.gridZ = static_cast<std::int32_t>(work_.grid[2]);
    record.blockX = static_cast<std::int32_t>(work_.block[0]);
    record.blockY = static_cast<std::int32_t>(work_.block[1]);
    record.blockZ = static_cast<std::int32_t>(work_.block[2]);
    record.staticSharedMemory = launch_.static_shared;
    record.dynamicSharedMemory = static_cast<std::int32_t>(work_.shared);
    record.name = recorder_.names.insert(work_.name).first->c_str();
    recorder_.buffers.add(record);
  }

  void add_copy() {
    if (!is_asked_for(CUPTI_ACTIVITY_KIND_MEMCPY)) {
      return;
    }
    const std::string_view way = launch_.work.name;
    const auto host = launch_.work.is_pinned ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED
                                             : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    const auto memory = [&](char place) {
      return static_cast<std::uint8_t>(place == 'D' ? CUPTI_ACTIVITY_MEMORY_KIND_DEVICE : host);
    };
    auto record = work<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
    record.bytes = launch_.work.bytes;
    record.copyKind = way == "HtoD"   ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                      : way == "DtoH" ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                      : way == "DtoD" ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                                      : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
    record.srcKind = memory(way.front());
    record.dstKind = memory(way.back());
    recorder_.buffers.add(record);
  }

  void add_fill() {
    if (!is_asked_for(CUPTI_ACTIVITY_KIND_MEMSET)) {
      return;
    }
    auto record = work<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
    record.bytes = launch_.work.bytes;
    record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    recorder_.buffers.add(record);
  }

  Recorder& recorder_;
  const Launch& launch_;
  std::uint64_t begin_;
};

void record(const Launch& launch) {
  const std::scoped_lock lock(recorder().mutex);
  if (!recorder().kinds.empty()) {
    Records(recorder(), launch).add();
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

CUptiResult next(std::uint8_t* buffer, std::size_t used, CUpti_Activity** record) {
  CUpti_Activity* const found = Buffers::next(buffer, used, *record);
  if (found == nullptr) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  return answer(record, found);
}

CUptiResult tell_name(CUpti_CallbackId id, const char** name) {
  const auto* const found = std::find_if(std::begin(kCalls), std::end(kCalls),
                                         [&](const Call& call) { return call.id == id; });
  *name = found == std::end(kCalls) ? "INVALID" : found->name.data();
  return CUPTI_SUCCESS;
}

}  // namespace
}  // namespace played

using played::answer;
using played::change;
using played::Recorder;

PLAYED_CALL(CUptiResult, cuptiGetVersion, (std::uint32_t * version),
            answer<std::uint32_t>(version, CUPTI_API_VERSION))
PLAYED_CALL(CUptiResult, cuptiGetResultString, (CUptiResult, const char** text),
            answer(text, "an error of the played CUPTI"))
PLAYED_CALL(CUptiResult, cuptiActivityRegisterCallbacks,
            (CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete),
            change([&](Recorder& recorder) {
              recorder.buffers.set_callbacks(request, complete);
              played_listen(&played::record);
            }))
PLAYED_CALL(CUptiResult, cuptiActivityRegisterTimestampCallback,
            (CUpti_TimestampCallbackFunc clock),
            change([&](Recorder& recorder) { recorder.clock = clock; }))
PLAYED_CALL(CUptiResult, cuptiActivityEnable, (CUpti_ActivityKind kind),
            change([&](Recorder& recorder) { recorder.kinds.insert(kind); }))
PLAYED_CALL(CUptiResult, cuptiActivityDisable, (CUpti_ActivityKind kind),
            change([&](Recorder& recorder) { recorder.kinds.erase(kind); }))
PLAYED_CALL(CUptiResult, cuptiActivityPushExternalCorrelationId,
            (CUpti_ExternalCorrelationKind kind, std::uint64_t id),
            (played::correlations[kind].push_back(id), CUPTI_SUCCESS))
PLAYED_CALL(CUptiResult, cuptiActivityPopExternalCorrelationId,
            (CUpti_ExternalCorrelationKind kind, std::uint64_t* id), played::pop(kind, id))
PLAYED_CALL(CUptiResult, cuptiActivityFlushAll, (std::uint32_t),
            change([](Recorder& recorder) { recorder.buffers.flush(); }))
PLAYED_CALL(CUptiResult, cuptiActivityGetNextRecord,
            (std::uint8_t * buffer, std::size_t used, CUpti_Activity** record),
            played::next(buffer, used, record))
PLAYED_CALL(CUptiResult, cuptiActivityGetNumDroppedRecords,
            (CUcontext, std::uint32_t, std::size_t* count), answer<std::size_t>(count, 0))
PLAYED_CALL(CUptiResult, cuptiGetCallbackName,
            (CUpti_CallbackDomain, std::uint32_t id, const char** name),
            played::tell_name(id, name))
PLAYED_CALL(CUptiResult, cuptiSubscribe,
            (CUpti_SubscriberHandle * handle, CUpti_CallbackFunc, void* data),
            answer(handle, static_cast<CUpti_SubscriberHandle>(data)))

// Nothing else happens that could be told, or need not be.
PLAYED_CALL(CUptiResult, cuptiUnsubscribe, (CUpti_SubscriberHandle), CUPTI_SUCCESS)
PLAYED_CALL(CUptiResult, cuptiEnableCallback,
            (std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId),
            CUPTI_SUCCESS)
PLAYED_CALL(CUptiResult, cuptiEnableDomain,
            (std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain), CUPTI_SUCCESS)
PLAYED_CALL(CUptiResult, cuptiActivityEnableRuntimeApi, (std::uint32_t, std::uint8_t),
            CUPTI_SUCCESS)
PLAYED_CALL(CUptiResult, cuptiActivityEnableDriverApi, (std::uint32_t, std::uint8_t), CUPTI_SUCCESS)
PLAYED_CALL(CUptiResult, cuptiActivityEnableCudaEventDeviceTimestamps, (std::uint8_t),
            CUPTI_SUCCESS)
PLAYED_CALL(CUptiResult, cuptiActivitySetAttribute, (CUpti_ActivityAttribute, std::size_t*, void*),
            CUPTI_SUCCESS)
PLAYED_CALL(CUptiResult, cuptiFinalize, (), CUPTI_SUCCESS)
