// A project of somebody else's: writes a benchmark by hand, reads it again and says what is in it.

#include <cstdio>

#include "et_schema/base/version.h"
#include "et_schema/formats/bench/bench.h"

int main(int argc, char** argv) {
  namespace et = understudy::et_schema;
  if (argc != 2) {
    return 2;
  }
  et::Program program;
  program.storages.push_back({{et::DeviceType::kCpu, -1}, 16, true});
  et::Slot slot;
  slot.dtype = et::DType::kFloat32;
  slot.sizes = {4};
  slot.strides = {1};
  slot.external = true;
  program.slots.push_back(slot);
  et::Instruction relu;
  relu.name = "aten::relu";
  relu.args = {{et::Argument::SlotRef{0}}};
  relu.results = {{et::Argument::SlotRef{0}}};
  program.instructions.push_back(relu);
  et::Bench bench;
  bench.tool_version = et::kToolVersion;
  bench.programs = {program, program};
  et::write_bench(bench, argv[1]);

  const et::Bench read = et::read_bench(argv[1]);
  std::printf("Understudy %s: %d ranks, %zu instruction each, %s\n", read.tool_version.c_str(),
              read.world_size(), read.programs[0].instructions.size(),
              read.programs[0].instructions[0].name.c_str());
  return read == bench ? 0 : 1;
}
