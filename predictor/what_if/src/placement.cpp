#include "et_schema/model/program.h"
#include "predictor/what_if/what_if.h"

namespace understudy::predictor {

using et_schema::Device;
using et_schema::DeviceType;
using et_schema::Storage;

bool is_on_host(const et_schema::Program& program) {
  return !uses_accelerator(program);
}

et_schema::Program placed_on_device(et_schema::Program program) {
  constexpr Device kFirst{DeviceType::kCuda, 0};
  for (Storage& storage : program.storages) {
    if (storage.device.type == DeviceType::kCpu) {
      storage.device = kFirst;
    }
  }
  return program;
}

}  // namespace understudy::predictor
