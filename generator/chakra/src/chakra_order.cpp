#include "chakra_order.h"

#include <algorithm>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

void sort_unique(std::vector<StorageId>& storages) {
  std::ranges::sort(storages);
  storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
}

bool contains(const std::vector<StorageId>& sorted, StorageId storage) {
  return std::ranges::binary_search(sorted, storage);
}

}  // namespace

/// Collects the parents of one node. An edge counts as data flow if data is one of its reasons.
class ChakraOrder::Collector {
 public:
  explicit Collector(std::uint64_t self) : self_(self) {}

  void data(std::uint64_t parent) { add(parent, true); }
  void order(std::uint64_t parent) { add(parent, false); }

  [[nodiscard]] ChakraEdges take(std::uint64_t launch) {
    std::ranges::sort(parents_, [](const Parent& a, const Parent& b) {
      return a.id != b.id ? a.id < b.id : a.is_data && !b.is_data;
    });
    ChakraEdges edges;
    if (launch != 0) {
      edges.all.push_back(launch);
    }
    std::uint64_t last = 0;
    for (const Parent& parent : parents_) {
      if (parent.id == last) {
        continue;
      }
      last = parent.id;
      if (parent.id != launch) {
        edges.all.push_back(parent.id);
      }
      if (!parent.is_data) {
        edges.order.push_back(parent.id);
      }
    }
    return edges;
  }

 private:
  struct Parent {
    std::uint64_t id = 0;
    bool is_data = false;
  };
  void add(std::uint64_t parent, bool is_data) {
    if (parent != 0 && parent != self_) {
      parents_.push_back({parent, is_data});
    }
  }
  std::uint64_t self_;
  std::vector<Parent> parents_;
};

ChakraOrder::ChakraOrder(const et_schema::Program& program, std::uint64_t first)
    : program_(program), first_(first), open_(program), written_(program.schemas.size()) {}

const std::vector<bool>& ChakraOrder::written_arguments(et_schema::SchemaId schema) {
  std::optional<std::vector<bool>>& known = written_[schema];
  if (!known) {
    const std::string& text = program_.schemas[schema];
    known.emplace(et_schema::argument_names(text).size());
    if (text.find('!') != std::string::npos) {
      for (std::size_t i = 0; i < known->size(); ++i) {
        (*known)[i] = et_schema::argument_is_written(text, i);
      }
    }
  }
  return *known;
}

bool ChakraOrder::is_on_device(StorageId storage) const {
  return is_accelerator(program_.storages[storage].device);
}

/// Returns the storages that an instruction reads and writes. A result in the memory of an argument
/// is a view, not a write, unless the schema marks the argument as written.
ChakraOrder::Uses ChakraOrder::uses_of(const Instruction& instruction) {
  Uses uses;
  const auto storage_of = [this](SlotId slot) { return program_.slots[slot].storage; };
  et_schema::for_each_slot(instruction.args,
                           [&](SlotId slot) { uses.reads.push_back(storage_of(slot)); });
  sort_unique(uses.reads);
  et_schema::for_each_slot(instruction.results, [&](SlotId slot) {
    if (!contains(uses.reads, storage_of(slot))) {
      uses.writes.push_back(storage_of(slot));
    }
  });
  const auto write = [&](const et_schema::Argument& argument) {
    et_schema::for_each_slot({argument},
                             [&](SlotId slot) { uses.writes.push_back(storage_of(slot)); });
  };
  if (is_communication(instruction) && instruction.args.size() > 1) {
    write(instruction.args[1]);
  } else if (instruction.kind == InstructionKind::kOp && instruction.schema) {
    const std::vector<bool>& written = written_arguments(*instruction.schema);
    for (std::size_t i = 0; i < std::min(written.size(), instruction.args.size()); ++i) {
      if (written[i]) {
        write(instruction.args[i]);
      }
    }
  } else if (instruction.kind == InstructionKind::kNative ||
             instruction.kind == InstructionKind::kKernel) {
    uses.writes.insert(uses.writes.end(), uses.reads.begin(), uses.reads.end());
  }
  sort_unique(uses.writes);
  return uses;
}

/// Returns true if the host must wait for the work that the instruction launched: it reads device
/// memory, and writes host memory or is an operator that always waits.
bool ChakraOrder::reads_back(const Instruction& instruction, const Uses& uses) const {
  const bool from_device =
      std::ranges::any_of(uses.reads, [this](StorageId storage) { return is_on_device(storage); });
  const bool to_host = std::ranges::any_of(
      uses.writes, [this](StorageId storage) { return !is_on_device(storage); });
  return from_device && (to_host || et_schema::operator_facts(instruction.name).host_wait ==
                                        et_schema::HostWait::kAlways);
}

void ChakraOrder::add_access(const ChakraIds& other, StorageId storage, ChakraIds ids,
                             Collector& host, Collector& device) const {
  if (other.host == 0) {
    return;
  }
  if (ids.device != 0) {
    device.data(other.device != 0 ? other.device : other.host);
  }
  const bool waits_for_data = ids.device == 0 && !is_on_device(storage);
  host.data(waits_for_data && other.device != 0 ? other.device : other.host);
}

void ChakraOrder::add_data(const Uses& uses, ChakraIds ids, Collector& host, Collector& device) {
  for (const StorageId storage : uses.reads) {
    add_access(access_[storage].writer, storage, ids, host, device);
  }
  for (const StorageId storage : uses.writes) {
    const Access& access = access_[storage];
    add_access(access.writer, storage, ids, host, device);
    for (const ChakraIds& reader : access.readers) {
      add_access(reader, storage, ids, host, device);
    }
  }
}

void ChakraOrder::add_host_order(const Instruction& instruction, Collector& host) {
  const auto last = last_on_thread_.find(instruction.thread);
  if (last != last_on_thread_.end()) {
    host.order(last->second);
  }
  if (before_ != nullptr && before_->thread != instruction.thread) {
    const bool is_timed = before_->timing && instruction.timing;
    const bool overlaps = is_timed && before_->timing->start_ns + before_->timing->host_ns >
                                          instruction.timing->start_ns;
    if (!overlaps) {
      host.order(before_id_);
    }
  }
  if (const auto needs = host_needs_.find(instruction.thread); needs != host_needs_.end()) {
    std::ranges::for_each(needs->second, [&host](std::uint64_t id) { host.order(id); });
    host_needs_.erase(needs);
  }
}

/// Adds edges for the original's calls between instructions that waited for a device. The profile
/// does not record the stream or event; the stream of the last launch is assumed.
void ChakraOrder::add_waits(const Instruction& instruction, Collector& host) {
  if (!program_.profile || !instruction.timing) {
    return;
  }
  const std::vector<et_schema::DeviceWait>& waits = program_.profile->device_waits;
  for (; next_wait_ < waits.size() && waits[next_wait_].start_ns <= instruction.timing->start_ns;
       ++next_wait_) {
    if (waits[next_wait_].is_inside) {
      continue;
    }
    const bool is_for_all = waits[next_wait_].waits_for == et_schema::DeviceWait::For::kDevice;
    for (const auto& [stream, node] : last_on_stream_) {
      if (is_for_all || stream == last_stream_) {
        host.order(node);
      }
    }
  }
}

void ChakraOrder::join_waited(const Instruction& instruction, InstructionEdges& edges,
                              Collector& host) {
  if (instruction.kind != InstructionKind::kWait) {
    return;
  }
  edges.joins = answered_waits_.erase(
                    static_cast<std::uint32_t>(&instruction - program_.instructions.data())) > 0;
  for (const std::uint32_t number : open_.take_waited(instruction)) {
    const std::uint64_t node = comm_node_.at(number);
    edges.joins = true;
    const Instruction& call = program_.instructions[number];
    if (call.timing && call.timing->launches > 0) {
      joined_.push_back(node);
      for (auto& [stream, needs] : stream_needs_) {
        needs.push_back(node);
      }
    } else {
      host.data(node);
    }
  }
}

void ChakraOrder::add_device_order(const Instruction& instruction, ChakraIds ids,
                                   Collector& device) {
  if (ids.device == 0) {
    return;
  }
  if (is_communication(instruction)) {
    std::uint64_t& last = last_in_group_[instruction.comm->group];
    device.order(last);
    last = ids.device;
  }
  if (!instruction.timing || instruction.timing->launches == 0) {
    return;
  }
  add_stream_order(instruction.timing->stream.value_or(-1), ids.device, device);
}

void ChakraOrder::add_stream_order(std::int64_t stream, std::uint64_t id, Collector& device) {
  std::uint64_t& last = last_on_stream_[stream];
  device.order(last);
  last = id;
  last_stream_ = stream;
  const auto [needs, is_new] = stream_needs_.try_emplace(stream, joined_);
  std::ranges::for_each(needs->second, [&device](std::uint64_t id) { device.order(id); });
  needs->second.clear();
}

void ChakraOrder::remember(const Instruction& instruction, const Uses& uses, ChakraIds ids) {
  for (const StorageId storage : uses.reads) {
    if (!contains(uses.writes, storage)) {
      access_[storage].readers.push_back(ids);
    }
  }
  for (const StorageId storage : uses.writes) {
    access_[storage] = {ids, {}};
  }
  last_on_thread_[instruction.thread] = ids.host;
  before_ = &instruction;
  before_id_ = ids.host;
  if (ids.device != 0 && reads_back(instruction, uses) && !is_communication(instruction)) {
    host_needs_[instruction.thread].push_back(ids.device);
  }
  if (is_communication(instruction)) {
    const auto number = static_cast<std::uint32_t>(&instruction - program_.instructions.data());
    comm_node_[number] = ids.device;
    if (instruction.comm->is_async.value_or(true)) {
      open_.start(number, instruction);
    } else if (!instruction.timing || instruction.timing->launches == 0) {
      host_needs_[instruction.thread].push_back(ids.device);  // the call blocked
      if (const auto wait = et_schema::wait_behind(program_, number); wait && instruction.timing) {
        answered_waits_.insert(*wait);
      }
    }
  }
}

ChakraEdges ChakraOrder::outside(std::int64_t stream, std::uint64_t id) {
  Collector device(id);
  device.order(before_id_ != 0 ? before_id_ : first_);
  add_stream_order(stream, id, device);
  return device.take(0);
}

InstructionEdges ChakraOrder::next(std::size_t index, ChakraIds ids) {
  const Instruction& instruction = program_.instructions[index];
  const Uses uses = uses_of(instruction);
  InstructionEdges edges;
  Collector host(ids.host);
  Collector device(ids.device);
  add_data(uses, ids, host, device);
  add_host_order(instruction, host);
  add_waits(instruction, host);
  join_waited(instruction, edges, host);
  add_device_order(instruction, ids, device);
  remember(instruction, uses, ids);
  edges.host = host.take(0);
  if (edges.host.all.empty() && first_ != 0) {
    host.order(first_);
    edges.host = host.take(0);
  }
  if (ids.device != 0) {
    device.order(ids.host);
    edges.device = device.take(ids.host);
  }
  return edges;
}

}  // namespace understudy::generator
