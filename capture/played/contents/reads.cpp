#include "capture/played/contents/reads.h"

#include <cstring>
#include <mutex>
#include <string>

#include "capture/played/played.h"

namespace understudy::contents {
namespace {

// The driver's answers to a copy from card to host, see played.h.
constexpr int kRefused = 0;
constexpr int kCopied = 1;
constexpr int kAnswered = 2;

struct Refusals {
  std::mutex mutex;
  std::string decision;  ///< the first refused one that Python has not asked for
  std::string last;
};

Refusals& refusals() {
  static auto& the_refusals = *new Refusals;
  return the_refusals;
}

thread_local bool is_permitted = false;

void hear(const char* what) {
  const std::scoped_lock lock(refusals().mutex);
  refusals().last = what;
}

void refuse(const Reader* reader) {
  std::string what =
      reader == nullptr ? "a copy outside of torch's operators" : reader->called->name;
  what += reader != nullptr && reader->called->has_dynamic_size
              ? " has a result whose size depends on values, which were never computed"
              : " needs a tensor's value, which was never computed";
  const std::scoped_lock lock(refusals().mutex);
  if (refusals().decision.empty()) {
    refusals().decision = what;
  }
}

bool reads_a_number(const Reader& reader) {
  const std::string& name = reader.called->name;
  return name == "aten::_local_scalar_dense" || name == "aten::item" || name == "aten::is_nonzero";
}

/// Returns the operator that wants the number, or the innermost if it is Python.
const Reader* who_asks(const Reader* reader) {
  while (reader != nullptr && reads_a_number(*reader) && reader->parent != nullptr) {
    reader = reader->parent;
  }
  return reader;
}

/// Returns the operator that may look at what it copies, or null. Torch's own operators do not, but
/// for those that decide: between them and a copy there may be Python, a hook.
const Reader* who_looks(const Reader& copy) {
  for (const Reader* outer = copy.parent; outer != nullptr; outer = outer->parent) {
    if (outer->called->decides || (!outer->called->is_of_torch && !outer->called->is_of_groups)) {
      return outer;
    }
  }
  return nullptr;
}

int may_copy(void* to, std::size_t bytes) {
  const Reader* const reader = innermost();
  const Reader* const asks = who_asks(reader);
  if (asks != nullptr && asks->answer && bytes <= sizeof(std::int64_t)) {
    std::memcpy(to, &*asks->answer, bytes);
    return kAnswered;
  }
  if (asks != nullptr && asks->called->is_copy) {
    const Reader* const looks = who_looks(*asks);
    if (looks == nullptr) {
      return kCopied;
    }
    refuse(looks);
    return kRefused;
  }
  if (asks != nullptr && is_permitted && reads_a_number(*asks)) {
    return kCopied;
  }
  refuse(asks);
  return kRefused;
}

}  // namespace

Reader*& innermost() {
  thread_local Reader* the_innermost = nullptr;
  return the_innermost;
}

void check_decision(const Reader& reader) {
  const Reader* const asks = who_asks(&reader);
  if (!asks->called->is_copy && !(is_permitted && reads_a_number(*asks))) {
    refuse(asks);
  }
}

void answer_reads() {
  played_on_refusal(&hear);
  played_on_read(&may_copy);
}

}  // namespace understudy::contents

extern "C" {

/// Whether what this thread reads from now on is to be printed: Python's answers decide nothing.
void understudy_permit_reads(int is_permitted) {
  understudy::contents::is_permitted = is_permitted != 0;
}

/// Returns the clause that says what was refused, or "". `is_decision`: by a value that is not
/// known, each told once; else whatever was refused last. It is valid until the thread asks again.
const char* understudy_refused(int is_decision) {
  thread_local std::string told;
  auto& refusals = understudy::contents::refusals();
  const std::scoped_lock lock(refusals.mutex);
  told = is_decision != 0 ? refusals.decision : refusals.last;
  if (is_decision != 0) {
    refusals.decision.clear();
  }
  return told.c_str();
}
}
