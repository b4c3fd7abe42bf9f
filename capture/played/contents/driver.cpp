#include "capture/played/contents/driver.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "capture/played/played.h"

namespace understudy::contents::driver {
namespace {

template <typename Function>
Function* find(const char* name) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) {
    throw std::runtime_error(std::string("contents: no played driver is loaded: ") + name);
  }
  return reinterpret_cast<Function*>(found);
}

// The names of played.h are used for their types alone: a call of one would have to be linked.
const auto the_know = find<decltype(played_know)>("played_know");
const auto the_assume = find<decltype(played_assume)>("played_assume");
const auto the_question = find<decltype(played_is_assumed)>("played_is_assumed");
const auto the_give = find<decltype(played_give)>("played_give");
const auto the_capture = find<decltype(played_is_capturing)>("played_is_capturing");
const auto the_refuse = find<decltype(played_refuse)>("played_refuse");
const auto the_on_refusal = find<decltype(played_on_refusal)>("played_on_refusal");
const auto the_on_forgotten = find<decltype(played_on_forgotten)>("played_on_forgotten");
const auto the_on_read = find<decltype(played_on_read)>("played_on_read");

}  // namespace

void know(const void* at, std::size_t bytes) {
  the_know(at, bytes);
}

void assume(const void* at, std::size_t bytes) {
  the_assume(at, bytes);
}

bool is_assumed(const void* at, std::size_t bytes) {
  return the_question(at, bytes) != 0;
}

void give(const void* at, std::size_t bytes) {
  the_give(at, bytes);
}

bool is_capturing() {
  return the_capture() != 0;
}

void refuse(const char* what) {
  the_refuse(what);
}

void on_refusal(void (*told)(const char*)) {
  the_on_refusal(told);
}

void on_forgotten(void (*told)(const void*, std::size_t)) {
  the_on_forgotten(told);
}

void on_read(int (*may_copy)(void*, std::size_t)) {
  the_on_read(may_copy);
}

}  // namespace understudy::contents::driver
