#include "bound_call.h"

#include <utility>
#include <vector>

#include "replayer/device/placement.h"
#include "replayer/run/trial.h"

namespace understudy::calibrator {
namespace {

const std::vector<replayer::BoundGroup>& alone() {
  static const std::vector<replayer::BoundGroup> groups = {{"world", 0, 1}};
  return groups;
}

}  // namespace

BoundCall::BoundCall(et_schema::Program program, backends::Backend& backend, std::uint64_t seed,
                     c10::Device device)
    : program_(device.is_cpu() ? std::move(program) : replayer::move_to_device(std::move(program))),
      decisions_(program_, {device, false, replayer::Only::kAll}),
      machine_(program_, backend),
      externals_(program_, device, seed) {
  replayer::Trial trial(decisions_, machine_, externals_, backend, alone(), true, {}, device);
  bound_ = trial.run().program;
}

std::string BoundCall::refusal() {
  const replayer::Decision& decision = decisions_.of(program_.instructions.front());
  if (decision.how == replayer::How::kDirect && bound_.steps.size() == 1) {
    return {};
  }
  return decision.note.empty() ? "it does not run as it is" : decision.note;
}

void BoundCall::prepare() {
  restore();
  externals_.remember(bound_);
}

void BoundCall::restore() {
  externals_.restore();
  externals_.place(machine_.slots(), machine_.given());
  machine_.prime(bound_);
}

void BoundCall::evict_inputs() {
  for (const et_schema::SlotId slot : bound_.externals) {
    evict_tensor(machine_.slots()[slot]);
  }
}

}  // namespace understudy::calibrator
