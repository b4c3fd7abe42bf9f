#include "et_schema/base/input_limit.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "et_schema/base/error.h"
#include "et_schema/base/machine_memory.h"

namespace understudy::et_schema {
namespace {

std::string limit_text(const ReadLimits& limits) {
  std::string text = fmt::format("at most {} bytes, unpacked", limits.max_held_bytes);
  if (limits.available_bytes) {
    text += fmt::format(": a quarter of the {} bytes of memory available", *limits.available_bytes);
  }
  if (limits.available_bytes && limits.processes > 1) {
    text += fmt::format(", shared by {} processes", limits.processes);
  }
  return text;
}

std::optional<ReadLimits> given_limits;

}  // namespace

const ReadLimits& process_limits() {
  if (given_limits) {
    return *given_limits;
  }
  static const ReadLimits kOfMachine = limits_of_memory(available_memory());
  return kOfMachine;
}

void set_process_limits(const ReadLimits& limits) {
  given_limits = limits;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr unsigned kBitsPerUnit = 10;
  unsigned shift = 0;
  if (!text.empty()) {
    if (const std::size_t unit = kUnits.find(text.back()); unit != std::string_view::npos) {
      shift = kBitsPerUnit * static_cast<unsigned>(unit + 1);
      text.remove_suffix(1);
    }
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() ||
      number > std::numeric_limits<std::uint64_t>::max() >> shift) {
    return std::nullopt;
  }
  return number << shift;
}

ReadLimits limits_of_memory(std::optional<std::uint64_t> available_bytes, int processes) {
  ReadLimits limits;
  if (available_bytes) {
    limits.available_bytes = available_bytes;
    limits.processes = processes;
    limits.max_held_bytes =
        *available_bytes / kMemoryOfInput / static_cast<std::uint64_t>(processes);
  }
  return limits;
}

void check_held(const std::string& file, std::uint64_t bytes, const ReadLimits& limits) {
  if (bytes <= limits.max_held_bytes) {
    return;
  }
  throw run_failed("the input takes more memory than it may",
                   {.file = file,
                    .field = "UNDERSTUDY_MAX_INPUT",
                    .expected = limit_text(limits),
                    .got = fmt::format("at least {} bytes", bytes),
                    .hint = fmt::format(
                        "about {} times the unpacked input is needed, here {} bytes of memory or "
                        "more. Give fewer ranks at a time, use a machine with more memory, or "
                        "allow it with UNDERSTUDY_MAX_INPUT=SIZE",
                        kMemoryOfInput, kMemoryOfInput * bytes)});
}

}  // namespace understudy::et_schema
