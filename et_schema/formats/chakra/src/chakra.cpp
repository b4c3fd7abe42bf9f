#include "et_schema/formats/chakra/chakra.h"

#include <et_def.pb.h>
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "et_schema/base/arena.h"
#include "et_schema/base/content_hash.h"
#include "et_schema/base/error.h"
#include "et_schema/base/trace_start.h"

namespace understudy::et_schema {
namespace {

namespace proto = ChakraProtoMsg;

/// Maximum size of a message. Real messages have at most some hundred kilobytes.
constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{64} << 20U;

/// A message in the file: its bytes, and the byte position of its length.
struct Message {
  std::string_view bytes;
  std::uint64_t offset = 0;
};

class Parser {
 public:
  Parser(std::string_view bytes, ChakraFile& file)
      : bytes_(bytes), file_(file), arena_(*file.arena) {}

  void parse() {
    const bool has_metadata = !starts_as_chakra_node(bytes_);
    if (has_metadata) {
      read_metadata();
    }
    proto::Node node;  // one object for all nodes, to reuse the memory of its texts
    while (position_ < bytes_.size()) {
      const Message message = take_message();
      if (!node.ParseFromArray(message.bytes.data(), static_cast<int>(message.bytes.size()))) {
        fail_parse(message, "Node");
      }
      if (!has_metadata && !is_chakra_node(message.bytes)) {
        fail("a Chakra graph of 2022", message.offset, "the fields of today's nodes", "others",
             "convert what it was made from again, with today's Chakra");
      }
      file_.nodes.push_back(read_node(node, message.offset));
    }
  }

 private:
  void read_metadata() {
    proto::GlobalMetadata metadata;
    const Message first = take_message();
    if (!metadata.ParseFromArray(first.bytes.data(), static_cast<int>(first.bytes.size()))) {
      fail_parse(first, "GlobalMetadata");
    }
    file_.version = metadata.version();
    for (const proto::AttributeProto& attribute : metadata.attr()) {
      file_.metadata.push_back(read_attribute(attribute));
    }
  }

  [[nodiscard]] std::string place(std::uint64_t offset) const {
    return fmt::format("message {} at byte {}", messages_, offset);
  }

  [[noreturn]] void fail(std::string summary, std::uint64_t offset, std::string expected,
                         std::string got, std::string hint) const {
    throw bad_input(std::move(summary), {.field = place(offset),
                                         .expected = std::move(expected),
                                         .got = std::move(got),
                                         .hint = std::move(hint)});
  }

  [[noreturn]] void fail_parse(const Message& message, const char* type) const {
    fail("a Chakra message cannot be read", message.offset,
         fmt::format("a ChakraProtoMsg.{} of {} bytes", type, message.bytes.size()),
         "bytes that are none", "write the file again: what comes behind is lost with it");
  }

  /// Reads a length, then that many bytes.
  Message take_message() {
    ++messages_;
    const std::uint64_t offset = position_;
    const std::uint64_t length = take_length(offset);
    const std::uint64_t left = bytes_.size() - position_;
    if (length > left) {
      fail("a Chakra message that ends beyond the file", offset,
           fmt::format("at most {} bytes, which are left", left), fmt::format("{}", length),
           "copy the file again: it is cut off or damaged");
    }
    if (length > kMaxMessageBytes) {
      fail("a Chakra message is too large", offset,
           fmt::format("at most {} bytes", kMaxMessageBytes), fmt::format("{}", length), {});
    }
    const Message message{bytes_.substr(position_, length), offset};
    position_ += length;
    return message;
  }

  std::uint64_t take_length(std::uint64_t offset) {
    constexpr unsigned kMostBytes = 5;  // enough for 32 bits
    std::uint64_t length = 0;
    for (unsigned i = 0; i < kMostBytes && position_ < bytes_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(bytes_[position_++]);
      length |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
      if (byte < 0x80) {
        return length;
      }
    }
    const bool is_cut = position_ >= bytes_.size();
    fail(is_cut ? "a Chakra file that is cut off in a message's length"
                : "a Chakra message whose length is damaged",
         offset, "a varint of at most 5 bytes", is_cut ? "the end of the file" : "more bytes",
         "copy the file again: it is cut off or damaged");
  }

  // ---- copies of a message's content

  /// Stores equal texts only once.
  std::string_view keep(const std::string& text) {
    if (const auto known = texts_.find(text); known != texts_.end()) {
      return known->second;
    }
    const std::string_view kept = arena_.copy(text);
    texts_.emplace(kept, kept);
    return kept;
  }

  template <typename List>
  std::span<const std::uint64_t> keep_list(const List& list) {
    const std::span<std::uint64_t> kept =
        arena_.array<std::uint64_t>(static_cast<std::size_t>(list.size()));
    std::size_t i = 0;
    for (const auto item : list) {
      kept[i++] = static_cast<std::uint64_t>(static_cast<std::int64_t>(item));
    }
    return kept;
  }

  ChakraValues read_values(const proto::IOInfo& info) {
    return {arena_.copy(info.values()), arena_.copy(info.shapes()), keep(info.types())};
  }

  ChakraNode read_node(const proto::Node& from, std::uint64_t offset) {
    ChakraNode node;
    node.id = from.id();
    node.name = keep(from.name());
    node.type = static_cast<ChakraNodeType>(std::clamp(static_cast<int>(from.type()), 0, 255));
    node.ctrl_deps = keep_list(from.ctrl_deps());
    node.data_deps = keep_list(from.data_deps());
    node.start_us = from.start_time_micros();
    node.duration_us = from.duration_micros();
    node.inputs = read_values(from.inputs());
    node.outputs = read_values(from.outputs());
    node.offset = offset;
    const std::span<ChakraAttribute> attributes =
        arena_.array<ChakraAttribute>(static_cast<std::size_t>(from.attr_size()));
    for (int i = 0; i < from.attr_size(); ++i) {
      attributes[static_cast<std::size_t>(i)] = read_attribute(from.attr(i));
    }
    node.attributes = attributes;
    return node;
  }

  /// An unset arm reads as 0, or as an empty text or list.
  ChakraAttribute read_attribute(const proto::AttributeProto& from) {
    ChakraAttribute attribute;
    attribute.name = keep(from.name());
    attribute.arm = static_cast<ChakraArm>(from.value_case());
    attribute.real = from.has_double_val() ? from.double_val() : from.float_val();
    attribute.text = keep(from.has_string_val() ? from.string_val() : from.bytes_val());
    const std::int64_t negative = std::int64_t{from.int32_val()} | from.int64_val() |
                                  from.sint32_val() | from.sint64_val() | from.sfixed32_val() |
                                  from.sfixed64_val();
    attribute.integer = static_cast<std::uint64_t>(negative) | from.uint32_val() |
                        from.uint64_val() | from.fixed32_val() | from.fixed64_val() |
                        (from.bool_val() ? 1U : 0U);
    const auto set_list = [&](const auto&... lists) {
      ((attribute.list = lists.values().empty() ? attribute.list : keep_list(lists.values())), ...);
    };
    set_list(from.int32_list(), from.int64_list(), from.uint32_list(), from.uint64_list(),
             from.sint32_list(), from.sint64_list(), from.fixed32_list(), from.fixed64_list(),
             from.sfixed32_list(), from.sfixed64_list(), from.bool_list());
    return attribute;
  }

  std::string_view bytes_;
  ChakraFile& file_;
  Arena arena_;
  std::size_t position_ = 0;
  std::uint64_t messages_ = 0;
  std::unordered_map<std::string_view, std::string_view> texts_;
};

}  // namespace

ChakraFile parse_chakra(std::string_view bytes, const std::string& file) {
  constexpr std::size_t kSmallestArena = 4096;
  // Suppresses protobuf's messages; the error reports the failure instead.
  const google::protobuf::LogSilencer silence;
  ChakraFile result;
  result.file = file;
  result.content_bytes = bytes.size();
  result.content_hash = content_hash(bytes);
  result.arena =
      std::make_unique<std::pmr::monotonic_buffer_resource>(std::max(bytes.size(), kSmallestArena));
  try {
    Parser(bytes, result).parse();
  } catch (const Error& error) {
    throw error.with_file(file);
  }
  return result;
}

}  // namespace understudy::et_schema
