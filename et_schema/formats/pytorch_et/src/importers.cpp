#include "importers.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/trace_start.h"
#include "et_schema/formats/chakra/chakra.h"
#include "et_schema/formats/json_trace/sniff.h"
#include "et_schema/formats/pytorch_et/chakra_trace.h"
#include "et_schema/formats/pytorch_et/told_by_calls.h"
#include "et_schema/formats/pytorch_et/trace_reader.h"

namespace understudy::et_schema {
namespace {

bool is_pytorch(std::string_view content) {
  return classify_json(content) == JsonKind::kTrace;
}

// The trace is shared, because traces are move-only and a std::function must be copyable.
ReadTrace read_pytorch(std::string_view content, const std::string& file) {
  const auto read = std::make_shared<Trace>(parse_trace(content, file));
  const auto make = [read](int rank, std::int64_t /*world_size*/, const auto& /*groups*/) {
    read->rank = rank;
    return std::move(*read);
  };
  try {
    return {make, told_rank(*read)};
  } catch (const Error&) {
    return {make, {}};  // who reads the damaged call refuses it
  }
}

ReadTrace read_chakra(std::string_view content, const std::string& file) {
  const auto read = std::make_shared<ChakraFile>(parse_chakra(content, file));
  return {[read](int rank, std::int64_t world_size, const std::vector<ProcessGroup>& groups) {
            read->rank = rank;
            return trace_of_chakra(std::move(*read), world_size, groups);
          },
          {}};
}

// A format that is not JSON also has a row in et_schema/base/src/trace_start.cpp: otherwise its
// files are ignored in folders and archives.
constexpr std::array kImporters = {
    Importer{"a PyTorch execution trace", is_pytorch, read_pytorch},
    Importer{"a Chakra trace", starts_as_chakra, read_chakra},
};

}  // namespace

std::span<const Importer> importers() {
  return kImporters;
}

const Importer* importer_of(std::string_view content) {
  const auto* found =
      std::find_if(kImporters.begin(), kImporters.end(),
                   [&](const Importer& importer) { return importer.recognises(content); });
  return found == kImporters.end() ? nullptr : found;
}

}  // namespace understudy::et_schema
