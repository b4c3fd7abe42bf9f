#pragma once

#include "et_schema/model/program.h"

namespace understudy::predictor {

/// Returns true if the instruction has tensors on a device and on the host.
[[nodiscard]] inline bool crosses_devices(const et_schema::Program& program,
                                          const et_schema::Instruction& instruction) {
  bool device = false;
  bool host = false;
  const auto see = [&](et_schema::SlotId slot) {
    const et_schema::Device where = program.storages[program.slots[slot].storage].device;
    device |= is_accelerator(where);
    host |= where.type == et_schema::DeviceType::kCpu;
  };
  et_schema::for_each_slot(instruction.args, see);
  et_schema::for_each_slot(instruction.results, see);
  return device && host;
}

}  // namespace understudy::predictor
