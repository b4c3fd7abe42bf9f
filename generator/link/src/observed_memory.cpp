#include "generator/link/observed_memory.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace understudy::generator {

using et_schema::KinetoEvent;
using et_schema::KinetoMemory;
using et_schema::Profile;

std::vector<ObservedBlock> observed_blocks(const Profile& profile) {
  std::vector<KinetoMemory> events = profile.memory;
  std::ranges::stable_sort(events, {}, &KinetoMemory::ts_ns);
  std::vector<ObservedBlock> blocks;
  std::unordered_map<std::uint64_t, std::size_t> live;  // by address
  for (const KinetoMemory& event : events) {
    if (event.bytes > 0) {
      live[event.address] = blocks.size();
      blocks.push_back({event.ts_ns, {}, event.bytes, event.address, event.on_cpu});
    } else if (const auto block = live.find(event.address); block != live.end()) {
      blocks[block->second].freed_ns = event.ts_ns;
      live.erase(block);
    }
  }
  return blocks;
}

ObservedMemory observe_memory(const et_schema::Trace& trace, const Profile& profile) {
  ObservedMemory memory;
  if (profile.memory.empty()) {
    return memory;
  }
  std::unordered_map<std::uint64_t, const KinetoEvent*> by_id;
  for (const KinetoEvent& event : profile.events) {
    if (event.rf_id > 0 && event.category == et_schema::KinetoCategory::kCpuOp) {
      by_id[static_cast<std::uint64_t>(event.rf_id)] = &event;
    }
  }
  memory.nodes.resize(trace.nodes.size());
  std::size_t joined = 0;
  std::size_t others = 0;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const et_schema::Node& node = trace.nodes[i];
    const auto found =
        node.rf_id == 0 || node.op_schema.empty() ? by_id.end() : by_id.find(node.rf_id);
    if (found == by_id.end()) {
      continue;
    }
    const KinetoEvent& event = *found->second;
    (event.name == node.name ? joined : others) += 1;
    memory.nodes[i] = ObservedSpan{event.ts_ns, event.ts_ns + event.dur_ns};
  }
  // With ids of another run, names would differ.
  if (others > joined / 100) {
    return {};
  }
  memory.blocks = observed_blocks(profile);
  return memory;
}

}  // namespace understudy::generator
