#pragma once

#include <string>

#include "et_schema/formats/chakra/check.h"

namespace understudy::et_schema {

/// Collects the violations that the parts of the checker find.
class ChakraFindings {
 public:
  explicit ChakraFindings(ChakraCheck& check) : check_(check) {}
  void add(ChakraRule rule, const ChakraFile& file, const ChakraNode& node, std::string text);
  void add(ChakraRule rule, int rank, std::string text);

 private:
  void add(ChakraViolation violation);
  ChakraCheck& check_;
};

[[nodiscard]] bool is_communication(const ChakraNode& node);

/// Checks ids, dependencies and cycles of one file.
void check_edges(const ChakraFile& file, ChakraCounts& counts, ChakraFindings& findings);

/// Checks groups, and the messages between ranks.
void check_comms(std::span<const ChakraFile> files, ChakraFindings& findings);

}  // namespace understudy::et_schema
