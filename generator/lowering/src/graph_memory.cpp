#include "graph_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

Argument::List integers(const std::vector<std::int64_t>& values) {
  Argument::List list;
  for (const std::int64_t value : values) {
    list.push_back({value});
  }
  return list;
}

}  // namespace

bool is_allocated_for(const Flow& flow, et_schema::NodeIndex node, LifetimeId lifetime) {
  return lifetime != kNoLifetime && flow.lifetimes[lifetime].allocated_by_graph &&
         flow.lifetimes[lifetime].birth == node;
}

std::vector<Allocated> allocated_for(const Flow& flow, et_schema::NodeIndex node) {
  std::vector<Allocated> allocated;
  const std::vector<LifetimeId>& reads = flow.reads[node];
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const bool is_known =
        std::ranges::find(allocated, reads[i], &Allocated::lifetime) != allocated.end();
    if (is_allocated_for(flow, node, reads[i]) && !is_known) {
      allocated.push_back({flow.inputs[node][i], reads[i]});
    }
  }
  return allocated;
}

et_schema::Instruction allocation_of(const et_schema::Slot& layout, et_schema::SlotId slot,
                                     const et_schema::Device& device) {
  et_schema::Instruction allocation;
  allocation.node_id = et_schema::kNoNodeId;
  allocation.name = "aten::empty_strided";
  allocation.args = {{integers(layout.sizes)},
                     {integers(layout.strides)},
                     {static_cast<std::int64_t>(layout.dtype)},
                     {Argument::None{}},
                     {Argument::DeviceRef{device}},
                     {Argument::None{}}};
  allocation.results = {{Argument::SlotRef{slot}}};
  return allocation;
}

}  // namespace understudy::generator
