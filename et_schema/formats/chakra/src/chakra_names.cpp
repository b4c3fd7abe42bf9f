#include <algorithm>
#include <array>
#include <cstddef>

#include "et_schema/formats/chakra/chakra.h"

namespace understudy::et_schema {
namespace {

constexpr std::array<std::string_view, kChakraNodeTypes> kNodeTypes = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};

constexpr std::array<std::string_view, kChakraCollectives> kCollectives = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

/// Names by field number, from 3 on without a gap.
constexpr std::array<std::string_view, 30> kArms = {
    "double_val",  "double_list",  "float_val",    "float_list",    "int32_val",    "int32_list",
    "int64_val",   "int64_list",   "uint32_val",   "uint32_list",   "uint64_val",   "uint64_list",
    "sint32_val",  "sint32_list",  "sint64_val",   "sint64_list",   "fixed32_val",  "fixed32_list",
    "fixed64_val", "fixed64_list", "sfixed32_val", "sfixed32_list", "sfixed64_val", "sfixed64_list",
    "bool_val",    "bool_list",    "string_val",   "string_list",   "bytes_val",    "bytes_list"};
constexpr std::size_t kFirstArm = 3;

template <std::size_t N>
std::string_view at(const std::array<std::string_view, N>& names, std::size_t index) {
  return index < N ? names[index] : "a number that is not known";
}

const ChakraAttribute* find_in(std::span<const ChakraAttribute> attributes,
                               std::string_view wanted) {
  const auto found = std::ranges::find(attributes, wanted, &ChakraAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

}  // namespace

std::string_view to_string(ChakraNodeType type) {
  return at(kNodeTypes, static_cast<std::size_t>(type));
}

std::string_view to_string(ChakraCollective collective) {
  return at(kCollectives, static_cast<std::size_t>(collective));
}

std::string_view to_string(ChakraArm arm) {
  return arm == ChakraArm::kNone ? "nothing" : at(kArms, static_cast<std::size_t>(arm) - kFirstArm);
}

std::optional<std::int64_t> integer_of(const ChakraAttribute& attribute) {
  switch (attribute.arm) {
    case ChakraArm::kInt32:
    case ChakraArm::kInt64:
    case ChakraArm::kSint32:
    case ChakraArm::kSint64:
    case ChakraArm::kSfixed32:
    case ChakraArm::kSfixed64:
      return static_cast<std::int64_t>(attribute.integer);
    case ChakraArm::kUint32:
    case ChakraArm::kUint64:
    case ChakraArm::kFixed32:
    case ChakraArm::kFixed64:
    case ChakraArm::kBool:
      return attribute.integer >> 63U == 0
                 ? std::optional(static_cast<std::int64_t>(attribute.integer))
                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

const ChakraAttribute* ChakraNode::find(std::string_view wanted) const {
  return find_in(attributes, wanted);
}

std::optional<std::int64_t> ChakraNode::integer(std::string_view wanted) const {
  const ChakraAttribute* attribute = find(wanted);
  return attribute == nullptr ? std::nullopt : integer_of(*attribute);
}

std::string_view ChakraNode::text(std::string_view wanted) const {
  const ChakraAttribute* attribute = find(wanted);
  return attribute != nullptr && attribute->arm == ChakraArm::kString ? attribute->text
                                                                      : std::string_view();
}

const ChakraAttribute* ChakraFile::find(std::string_view wanted) const {
  return find_in(metadata, wanted);
}

}  // namespace understudy::et_schema
