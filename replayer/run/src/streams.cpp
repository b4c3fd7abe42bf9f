#include "replayer/run/streams.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

namespace understudy::replayer {

using c10::impl::VirtualGuardImpl;

StreamHook::StreamHook(StreamPlan plan, const BoundProgram& bound, Machine& machine,
                       c10::Device device)
    : plan_(std::move(plan)),
      bound_(bound),
      machine_(machine),
      device_(device),
      events_(plan_.steps.size()) {
  const VirtualGuardImpl guard(device_.type());
  streams_.push_back(guard.getStream(device_));
  while (streams_.size() < plan_.streams) {
    streams_.push_back(guard.getNewStream(device_));
  }
}

void StreamHook::use(std::uint32_t stream) {
  if (stream != current_) {
    VirtualGuardImpl(device_.type()).exchangeStream(streams_[stream]);
    current_ = stream;
  }
}

/// Work between iterations uses the first stream.
void StreamHook::begin_iteration() {
  c10::Event begun(device_.type());
  begun.record(streams_[0]);
  for (std::uint32_t stream = 1; stream < streams_.size(); ++stream) {
    begun.block(streams_[stream]);
  }
}

void StreamHook::built(const Step& step) {
  if (plan_.steps.empty()) {
    return;
  }
  const StreamStep& planned = plan_.steps[number_of(step)];
  use(planned.stream);
  for (const std::uint32_t other : planned.waits_for) {
    events_[other]->block(streams_[planned.stream]);
  }
  if (!planned.uses_foreign_memory) {
    return;
  }
  if (step.kind == StepKind::kStart) {
    const BoundComm& comm = bound_.comms[step.index];
    for (const auto* slots : {&comm.inputs, &comm.outputs}) {
      for (const et_schema::SlotId slot : *slots) {
        keep_for_stream(machine_.slots()[slot]);
      }
    }
  }
  if (step.kind == StepKind::kJoin) {
    const OpenComm& open = bound_.comms[step.index].open;
    for (const auto* tensors : {&open.inputs, &open.outputs}) {
      for (const at::Tensor& tensor : *tensors) {
        keep_for_stream(tensor);
      }
    }
  }
  for (const c10::IValue& value : machine_.stack()) {
    keep_for_stream(value);
  }
}

/// Reports the stream that uses a tensor to the allocator. Otherwise the memory could be reused on
/// the allocating stream while another stream still uses it.
void StreamHook::keep_for_stream(const c10::IValue& value) const {
  const auto keep = [&](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.has_storage() && tensor.device() == device_) {
      VirtualGuardImpl(device_.type())
          .recordDataPtrOnStream(tensor.storage().data_ptr(), streams_[current_]);
    }
  };
  if (value.isTensor()) {
    keep(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      keep(tensor);
    }
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      keep(tensor.value_or(at::Tensor()));
    }
  }
}

void StreamHook::called(const Step& step, const torch::jit::Stack&) {
  if (plan_.steps.empty()) {
    return;
  }
  const std::size_t at = number_of(step);
  if (plan_.steps[at].is_waited_for) {
    if (!events_[at]) {
      events_[at].emplace(device_.type());
    }
    events_[at]->record(streams_[current_]);
  }
}

void StreamHook::end_iteration() {
  for (std::uint32_t stream = 1; stream < streams_.size(); ++stream) {
    c10::Event done(device_.type());
    done.record(streams_[stream]);
    done.block(streams_[0]);
  }
  use(0);
}

}  // namespace understudy::replayer
