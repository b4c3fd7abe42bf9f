#pragma once

#include <stdexcept>
#include <string>

namespace understudy::et_schema {

/// A broken invariant: a bug of the project's own, which no input can cause. `main` maps it to
/// status 70.
class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void invariant_failed(const char* condition, const char* file, int line) {
  throw BrokenInvariant(std::string(file) + ":" + std::to_string(line) +
                        ": broken invariant: " + condition);
}

}  // namespace understudy::et_schema

/// An assertion that stays on in release builds. Only for what no input can cause.
#define UNDERSTUDY_ASSERT(condition) \
  (static_cast<bool>(condition)      \
       ? void(0)                     \
       : ::understudy::et_schema::invariant_failed(#condition, __FILE__, __LINE__))
