#pragma once

#include <cuda.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "et_schema/formats/cubin/cubin.h"

namespace played {

using understudy::et_schema::CubinKernel;
using understudy::et_schema::CubinParameter;

/// A kernel as the card's driver tells of it.
struct Kernel {
  CubinKernel code;
  int architecture = 0;  ///< that it is compiled for: 90
};

using Kernels = std::map<std::string, Kernel>;

/// The kernels of a binary, or of the newest binaries within a fat one that a card of this
/// architecture runs, or of PTX alone. Empty: there are none.
[[nodiscard]] Kernels read_kernels(const char* image, int architecture);
/// Bytes of an image in memory; 0 if it lies behind a wrapper, which stays where it is.
[[nodiscard]] std::size_t bytes_of_image(const char* image);

/// What is loaded as one. Its binaries are read when a kernel of theirs is first asked for.
class Module {
 public:
  /// Keeps the address of what stays, or a copy.
  explicit Module(const char* staying) : image_(staying) {}
  explicit Module(std::string copy) : copy_(std::move(copy)), image_(copy_.data()) {}

  /// Null: no binary has it for this card.
  [[nodiscard]] const Kernel* kernel(const std::string& name);

 private:
  std::mutex mutex_;
  std::string copy_;
  const char* image_;
  bool is_read_ = false;
  Kernels kernels_;
};

/// A function of a module, which may not have it.
class Function {
 public:
  Function(std::string name, Module& module) : name_(std::move(name)), module_(module) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Kernel* kernel() { return module_.kernel(name_); }
  CUresult attribute(int* value, CUfunction_attribute attribute);
  CUresult set_attribute(CUfunction_attribute attribute, int value);
  /// Fails as a launch with so much dynamic shared memory, or such clusters, would.
  [[nodiscard]] CUresult check(unsigned shared, const CUlaunchConfig* config);
  /// Blocks that run on a multiprocessor at once.
  CUresult occupancy(int* blocks, int threads, std::size_t dynamic_shared);

 private:
  std::string name_;
  Module& module_;
  std::atomic<int> dynamic_shared_ = 0;  ///< that it may be launched with; 0: as any kernel
  std::atomic<bool> takes_any_cluster_ = false;
};

[[nodiscard]] inline Function& function_of(CUfunction function) {
  return *reinterpret_cast<Function*>(function);
}

}  // namespace played
