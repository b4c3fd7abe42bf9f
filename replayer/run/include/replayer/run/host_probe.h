#pragma once

#include <memory>
#include <string>

namespace understudy::replayer {

/// A fixed piece of single-threaded work like that of an interpreter. TorchScript's interpreter
/// runs a short program of branches, small lists and a table; the code that runs is LibTorch's,
/// here and in a capture's Python alike (docs/metrics.md, "Host probe").
class HostProbe {
 public:
  /// Compiles the program and runs it until it is steady: some ten milliseconds.
  HostProbe();
  ~HostProbe();
  HostProbe(const HostProbe&) = delete;
  HostProbe& operator=(const HostProbe&) = delete;

  /// The time of the work now, in microseconds: the fastest of a few runs, half a millisecond in
  /// all.
  [[nodiscard]] double measure_us();

  /// The program and its LibTorch; times of different kinds cannot be compared.
  [[nodiscard]] static std::string kind();

 private:
  struct Program;
  std::unique_ptr<Program> program_;
};

}  // namespace understudy::replayer
