#pragma once

#include <cstddef>

/// The played driver, found where libcuda.so.1 is loaded; without it the library loads nowhere.
namespace understudy::contents::driver {

void know(const void* at, std::size_t bytes);
void assume(const void* at, std::size_t bytes);
[[nodiscard]] bool is_assumed(const void* at, std::size_t bytes);
/// A tensor's memory begins there: assumed, and written as a whole by whoever has a pointer into
/// it.
void give(const void* at, std::size_t bytes);
[[nodiscard]] bool is_capturing();
void refuse(const char* what);
void on_refusal(void (*told)(const char* what));
/// See played.h: it is told on this thread, within a launch.
void on_forgotten(void (*told)(const void* at, std::size_t bytes));
void on_read(int (*may_copy)(void* to, std::size_t bytes));

}  // namespace understudy::contents::driver
