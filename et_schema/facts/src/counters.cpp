#include "et_schema/facts/counters.h"

#include <algorithm>
#include <array>
#include <optional>

namespace understudy::et_schema {
namespace {

constexpr std::string_view kDeviceNs = "device_ns";

constexpr std::array<CounterFact, 27> kFacts = {{
    {"cpu_ms", "CPU time of all threads, ms"},
    {"minor_faults", "minor page faults"},
    {"major_faults", "major page faults"},
    {"involuntary_switches", "involuntary context switches"},
    {"instructions", "instructions"},
    {"cycles", "cycles"},
    {"ipc", "instructions a cycle", "cycles"},
    {"cache_misses", "cache misses"},
    {"host_dram_bytes", "bytes of the host's memory, all processes"},
    {kDeviceNs, "device time while counted, ns"},
    {"sm_active", "share of SMs at work", kDeviceNs},
    {"occupancy", "share of an SM's warps in use", kDeviceNs},
    {"tensor_active", "share of tensor cores' peak", kDeviceNs},
    {"tensor_fp16_active", "of that 16-bit and TF32 products", kDeviceNs},
    {"tensor_fp64_active", "of that 64-bit products", kDeviceNs},
    {"tensor_int_active", "of that integer products", kDeviceNs},
    {"dram_active", "share of device memory's peak", kDeviceNs},
    {"dram_bytes", "bytes of device memory"},
    {"dram_read_bytes", "of that read"},
    {"dram_write_bytes", "of that written"},
    {"l2_bytes", "bytes of L2"},
    {"flop", "floating-point operations outside of tensor cores"},
    {"tensor_flop", "floating-point operations of tensor cores"},
    {"nvlink_bytes", "bytes over NVLink, both ways"},
    {"pcie_bytes", "bytes over PCIe, both ways"},
    {"power_w", "power, W", kDeviceNs},
    {"energy_j", "energy, J"},
}};

const CounterFact* find_fact(std::string_view name) {
  const auto* const found = std::ranges::find(kFacts, name, &CounterFact::name);
  return found == kFacts.end() ? nullptr : found;
}

std::optional<double> mean_of(std::span<const Counters* const> rows, const CounterFact& fact) {
  double sum = 0;
  double weights = 0;
  const bool is_weighted = std::ranges::all_of(
      rows, [&](const Counters* row) { return row->contains(std::string(fact.weight)); });
  for (const Counters* const row : rows) {
    const double weight = is_weighted ? row->at(std::string(fact.weight)) : 1;
    sum += weight * row->at(std::string(fact.name));
    weights += weight;
  }
  return weights > 0 ? std::optional(sum / weights) : std::nullopt;
}

}  // namespace

std::span<const CounterFact> counter_facts() {
  return kFacts;
}

CounterFact counter_fact(std::string_view name) {
  if (const CounterFact* const fact = find_fact(name)) {
    return *fact;
  }
  const bool adds_up = name.ends_with(".sum") || name.find('.') == std::string_view::npos;
  return {name, name, adds_up ? "" : kDeviceNs};
}

std::vector<std::string> counter_names(std::span<const Counters> rows) {
  Counters all;
  for (const Counters& row : rows) {
    all.insert(row.begin(), row.end());
  }
  std::vector<std::string> names;
  for (const CounterFact& fact : kFacts) {
    if (const auto found = all.find(std::string(fact.name)); found != all.end()) {
      names.push_back(all.extract(found).key());
    }
  }
  for (const auto& [name, value] : all) {
    names.push_back(name);
  }
  return names;
}

Counters combined(std::span<const Counters> rows) {
  std::vector<const Counters*> counted;
  for (const Counters& row : rows) {
    if (!row.empty()) {
      counted.push_back(&row);
    }
  }
  Counters sums;
  for (const auto& [name, first] : counted.empty() ? Counters() : *counted.front()) {
    if (!std::ranges::all_of(counted, [&](const Counters* row) { return row->contains(name); })) {
      continue;
    }
    const CounterFact fact = counter_fact(name);
    if (fact.adds_up()) {
      double sum = 0;
      for (const Counters* const row : counted) {
        sum += row->at(name);
      }
      sums.emplace(name, sum);
    } else if (const std::optional<double> mean = mean_of(counted, fact)) {
      sums.emplace(name, *mean);
    }
  }
  return sums;
}

Counters of_one_run(Counters combined, double runs) {
  for (auto& [name, value] : combined) {
    value /= counter_fact(name).adds_up() ? runs : 1;
  }
  return combined;
}

}  // namespace understudy::et_schema
