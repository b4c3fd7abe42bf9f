#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// NodeType of Chakra's schema. Files may hold other numbers.
enum class ChakraNodeType : std::uint8_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemoryLoad = 2,
  kMemoryStore = 3,
  kCompute = 4,
  kSend = 5,
  kRecv = 6,
  kCollective = 7
};

/// CollectiveCommType of Chakra's schema.
enum class ChakraCollective : std::uint8_t {
  kAllReduce = 0,
  kReduce = 1,
  kAllGather = 2,
  kGather = 3,
  kScatter = 4,
  kBroadcast = 5,
  kAllToAll = 6,
  kReduceScatter = 7,
  kReduceScatterBlock = 8,
  kBarrier = 9
};
inline constexpr int kChakraCollectives = 10;

/// The field of AttributeProto's oneof that holds a value, by its number in the schema. Writers
/// differ, so a reader of an integer accepts any integer arm.
enum class ChakraArm : std::uint8_t {
  kNone = 0,
  kDouble = 3,
  kDoubleList = 4,
  kFloat = 5,
  kFloatList = 6,
  kInt32 = 7,
  kInt32List = 8,
  kInt64 = 9,
  kInt64List = 10,
  kUint32 = 11,
  kUint32List = 12,
  kUint64 = 13,
  kUint64List = 14,
  kSint32 = 15,
  kSint32List = 16,
  kSint64 = 17,
  kSint64List = 18,
  kFixed32 = 19,
  kFixed32List = 20,
  kFixed64 = 21,
  kFixed64List = 22,
  kSfixed32 = 23,
  kSfixed32List = 24,
  kSfixed64 = 25,
  kSfixed64List = 26,
  kBool = 27,
  kBoolList = 28,
  kString = 29,
  kStringList = 30,
  kBytes = 31,
  kBytesList = 32
};

/// A named value. Lists are kept if they hold integers or bools; attributes in use have no others.
struct ChakraAttribute {
  std::string_view name;
  ChakraArm arm = ChakraArm::kNone;
  std::uint64_t integer = 0;   ///< value of an integer or bool arm; two's complement
  double real = 0;             ///< value of kDouble and kFloat
  std::string_view text = {};  ///< value of kString and kBytes
  std::span<const std::uint64_t> list = {};
};

/// Returns the value of an integer or bool arm; nothing for other arms, or above 2^63 - 1.
[[nodiscard]] std::optional<std::int64_t> integer_of(const ChakraAttribute& attribute);

/// Arguments or results of a node: three lists as Python's repr() writes them.
struct ChakraValues {
  std::string_view values;
  std::string_view shapes;
  std::string_view types;
};

struct ChakraNode {
  std::uint64_t id = 0;
  std::string_view name;
  ChakraNodeType type = ChakraNodeType::kInvalid;
  std::span<const std::uint64_t> ctrl_deps;
  std::span<const std::uint64_t> data_deps;
  std::uint64_t start_us = 0;
  std::uint64_t duration_us = 0;
  ChakraValues inputs;
  ChakraValues outputs;
  std::span<const ChakraAttribute> attributes;
  std::uint64_t offset = 0;  ///< byte position of its message in the uncompressed file

  /// Returns the first attribute of this name; null if none exists.
  [[nodiscard]] const ChakraAttribute* find(std::string_view wanted) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view wanted) const;
  /// Returns a text attribute; empty if none exists.
  [[nodiscard]] std::string_view text(std::string_view wanted) const;
};

/// One rank's Chakra trace in the order of the file, not validated.
struct ChakraFile {
  std::string file;
  std::uint64_t content_hash = 0;  ///< XXH3 of the uncompressed bytes
  std::uint64_t content_bytes = 0;
  int rank = 0;
  std::string version;                    ///< GlobalMetadata.version
  std::vector<ChakraAttribute> metadata;  ///< GlobalMetadata.attr
  std::vector<ChakraNode> nodes;

  [[nodiscard]] const ChakraAttribute* find(std::string_view wanted) const;

  /// Holds all texts and lists.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> arena;
};

/// Parses an uncompressed Chakra trace: length-prefixed messages, the metadata first, which
/// the oldest files lack. Throws Error (bad input) with the byte position of a length that is cut
/// off or leads beyond the file, and of a message that does not parse or is above 64 MiB.
[[nodiscard]] ChakraFile parse_chakra(std::string_view bytes, const std::string& file);

/// Returns the bytes of a Chakra trace. Deterministic.
[[nodiscard]] std::string chakra_bytes(const ChakraFile& file);

}  // namespace understudy::et_schema
