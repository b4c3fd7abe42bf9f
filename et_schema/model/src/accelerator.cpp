#include "et_schema/model/accelerator.h"

#include <algorithm>

namespace understudy::et_schema {

bool uses_accelerator(const Program& program) {
  return std::ranges::any_of(program.storages, is_accelerator, &Storage::device);
}

}  // namespace understudy::et_schema
