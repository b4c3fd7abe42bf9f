#pragma once

#include <memory>
#include <string>

namespace understudy::replayer {

/// A fixed piece of single-threaded work that goes as an interpreter does: TorchScript's runs a
/// short program of branches, small lists and a table, whose code is LibTorch's here and in the
/// Python of a capture alike (docs/metrics.md, "Host probe").
class HostProbe {
 public:
  /// Compiles the program and lets the interpreter settle: some ten milliseconds.
  HostProbe();
  ~HostProbe();
  HostProbe(const HostProbe&) = delete;
  HostProbe& operator=(const HostProbe&) = delete;

  /// Microseconds that it takes now: the fastest of a few runs, half a millisecond in all.
  [[nodiscard]] double measure_us();

  /// What is run, and by which LibTorch: other kinds' times cannot be compared.
  [[nodiscard]] static std::string kind();

 private:
  struct Program;
  std::unique_ptr<Program> program_;
};

}  // namespace understudy::replayer
