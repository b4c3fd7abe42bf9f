#pragma once

#include <stdexcept>
#include <string>

namespace understudy::et_schema {

/// Thrown if an invariant does not hold, which is a bug of the project: no input can cause it.
/// `main` maps it to exit status 70.
class BrokenInvariant : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void invariant_failed(const char* condition, const char* file, int line) {
  throw BrokenInvariant(std::string(file) + ":" + std::to_string(line) +
                        ": broken invariant: " + condition);
}

}  // namespace understudy::et_schema

/// An assertion that stays on in release builds. Must hold for every input.
#define UNDERSTUDY_ASSERT(condition) \
  (static_cast<bool>(condition)      \
       ? void(0)                     \
       : ::understudy::et_schema::invariant_failed(#condition, __FILE__, __LINE__))
