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
    throw std::runtime_error(std::string(name) + "() is missing: no played driver is loaded");
  }
  return reinterpret_cast<Function*>(found);
}

/// The functions of played.h, which is read for their types alone: a call by name would be linked.
struct Functions {
  decltype(played_know)* know = find<decltype(played_know)>("played_know");
  decltype(played_assume)* assume = find<decltype(played_assume)>("played_assume");
  decltype(played_is_assumed)* is_assumed = find<decltype(played_is_assumed)>("played_is_assumed");
  decltype(played_give)* give = find<decltype(played_give)>("played_give");
  decltype(played_is_capturing)* is_capturing =
      find<decltype(played_is_capturing)>("played_is_capturing");
  decltype(played_refuse)* refuse = find<decltype(played_refuse)>("played_refuse");
  decltype(played_on_refusal)* on_refusal = find<decltype(played_on_refusal)>("played_on_refusal");
  decltype(played_on_read)* on_read = find<decltype(played_on_read)>("played_on_read");
  decltype(played_on_forgotten)* on_forgotten =
      find<decltype(played_on_forgotten)>("played_on_forgotten");
};

const Functions& functions() {
  static const Functions the_functions;
  return the_functions;
}

}  // namespace

void know(const void* at, std::size_t bytes) {
  functions().know(at, bytes);
}

void assume(const void* at, std::size_t bytes) {
  functions().assume(at, bytes);
}

bool is_assumed(const void* at, std::size_t bytes) {
  return functions().is_assumed(at, bytes) != 0;
}

void give(const void* at, std::size_t bytes) {
  functions().give(at, bytes);
}

bool is_capturing() {
  return functions().is_capturing() != 0;
}

void refuse(const char* what) {
  functions().refuse(what);
}

void on_refusal(void (*told)(const char*)) {
  functions().on_refusal(told);
}

void on_forgotten(void (*told)(const void*, std::size_t)) {
  functions().on_forgotten(told);
}

void on_read(int (*may_copy)(void*, std::size_t)) {
  functions().on_read(may_copy);
}

}  // namespace understudy::contents::driver
