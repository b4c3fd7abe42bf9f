#pragma once

#include <initializer_list>
#include <string>

#include "capture/played/played.h"

/// Defines a function of a library that does one thing and succeeds, which all libraries tell by 0.
#define PLAYED_DONE(Result, name, parameters, ...) \
  Result name parameters {                         \
    __VA_ARGS__;                                   \
    return Result{};                               \
  }

namespace played {

/// Issues what a library without kernels of its own would have launched: its label is the library's
/// call with its sizes, because the name of the library's kernel is not known.
inline void issue(const std::string& label, void* stream, const void* const* written,
                  std::size_t written_count) {
  Work work;
  work.name = label.c_str();
  work.stream = stream;
  work.written = written;
  work.written_count = written_count;
  played_issue(&work);
}

inline void issue(const std::string& label, void* stream,
                  std::initializer_list<const void*> written) {
  issue(label, stream, written.begin(), written.size());
}

}  // namespace played
