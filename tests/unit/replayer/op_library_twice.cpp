// An op library of one operator, for op_library_test.cpp.
#include <ATen/ATen.h>
#include <torch/library.h>

namespace {
at::Tensor twice(const at::Tensor& input) {
  return input * 2;
}
}  // namespace

TORCH_LIBRARY(understudy_test, library) {
  library.def("twice(Tensor input) -> Tensor");
  library.impl("twice", c10::DispatchKey::CPU, TORCH_FN(twice));
}
