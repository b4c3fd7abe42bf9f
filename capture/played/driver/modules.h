#pragma once

#include <cuda.h>

#include <map>
#include <mutex>
#include <string>

#include "et_schema/formats/cubin/cubin.h"

namespace played {

using understudy::et_schema::CubinKernel;

/// A kernel as the card's driver tells of it.
struct Kernel {
  CubinKernel code;
  int architecture = 0;  ///< that it is compiled for: 90
};

using Kernels = std::map<std::string, Kernel, std::less<>>;

/// The kernels of a binary, or of the newest binaries within a fat one that a card of this
/// architecture runs. Empty: there are none; PTX is not compiled.
[[nodiscard]] Kernels read_kernels(const char* image, int architecture);
/// Bytes of an image in memory; 0 if it lies behind a wrapper, which stays where it is.
[[nodiscard]] std::size_t bytes_of_image(const char* image);

/// What is loaded as one. Its binaries are read when they are first asked for.
class Module {
 public:
  /// Keeps the image's address, or what lies there.
  Module(const char* image, bool is_copied);

  [[nodiscard]] const Kernels& kernels();
  /// A variable's memory, of an invented size: binaries are not asked for it.
  [[nodiscard]] void* variable(const std::string& name);

 private:
  std::mutex mutex_;
  std::string copy_;
  const char* image_;
  bool is_read_ = false;
  Kernels kernels_;
  std::map<std::string, void*> variables_;
};
constexpr std::size_t kVariableBytes = std::size_t{1} << 20U;

/// A function of a module, which may not have it.
class Function {
 public:
  Function(std::string name, Module& module) : name_(std::move(name)), module_(module) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Null: no binary of the module has it for this card.
  [[nodiscard]] const Kernel* kernel();
  [[nodiscard]] CUresult attribute(int* value, CUfunction_attribute attribute);
  void set_attribute(CUfunction_attribute attribute, int value) { set_[attribute] = value; }
  /// Blocks that run on a multiprocessor at once.
  [[nodiscard]] int occupancy(int threads, std::size_t dynamic_shared);

 private:
  std::string name_;
  Module& module_;
  const Kernel* kernel_ = nullptr;
  std::map<int, int> set_;
};

[[nodiscard]] inline Function& function_of(CUfunction function) {
  return *reinterpret_cast<Function*>(function);
}
[[nodiscard]] inline Module& module_of(CUmodule module) {
  return *reinterpret_cast<Module*>(module);
}

}  // namespace played
