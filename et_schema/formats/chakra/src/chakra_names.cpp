#include <algorithm>

#include "et_schema/formats/chakra/chakra.h"

namespace understudy::et_schema {
namespace {

const ChakraAttribute* find_in(std::span<const ChakraAttribute> attributes,
                               std::string_view wanted) {
  const auto found = std::ranges::find(attributes, wanted, &ChakraAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

}  // namespace

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
