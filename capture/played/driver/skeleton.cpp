// Until the driver's parts are there: what played.h declares, without an effect.
#include <cstdio>

#include "capture/played/played.h"

void played_use(const played::Card*, int) {}
void played_issue(const played::Work*) {}
void played_listen(void (*)(const played::Launch&)) {}
void played_know(const void*, std::size_t) {}
void played_assume(const void*, std::size_t) {}
void played_give(const void*, std::size_t) {}
int played_is_assumed(const void*, std::size_t) {
  return 0;
}
void played_on_read(int (*)()) {}
void played_on_refusal(void (*)(const char*)) {}
void played_refuse(const char* what) {
  std::fprintf(stderr, "%s\n", what);
}
