#include "replayer/cuda/driver.h"

namespace understudy::replayer {

const CudaDriver& cuda_driver() {
  static const CudaDriver driver;
  return driver;
}

}  // namespace understudy::replayer
