#include "et_schema/base/trace_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "et_schema/base/error.h"
#include "et_schema/base/json_scan.h"

namespace understudy::et_schema {
namespace {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

/// Removes a base-128 number. Returns nothing if it is cut off or longer than ten bytes.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  constexpr std::size_t kMostBytes = 10;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < std::min(bytes.size(), kMostBytes); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

struct Tag {
  std::uint64_t field = 0;
  WireType type = WireType::kVarint;
};

using IsField = bool (*)(Tag);

bool is_metadata_field(Tag tag) {
  return tag.type == WireType::kLength && (tag.field == 1 || tag.field == 2);
}

/// Returns true if a field of a node has this tag. Lists of numbers may be packed or not.
bool is_node_field(Tag tag) {
  constexpr std::uint64_t kName = 2;
  constexpr std::uint64_t kCtrlDeps = 4;
  constexpr std::uint64_t kDataDeps = 5;
  constexpr std::uint64_t kInputs = 8;
  constexpr std::uint64_t kAttributes = 10;
  if (tag.field == kCtrlDeps || tag.field == kDataDeps) {
    return tag.type == WireType::kLength || tag.type == WireType::kVarint;
  }
  const bool is_message = tag.field == kName || tag.field >= kInputs;
  return tag.field >= 1 && tag.field <= kAttributes &&
         tag.type == (is_message ? WireType::kLength : WireType::kVarint);
}

/// The same of nodes before Chakra had metadata, which had more fields in 2022.
bool is_old_node_field(Tag tag) {
  constexpr std::uint64_t kLast = 22;
  return tag.field >= 1 && tag.field <= kLast &&
         (tag.type == WireType::kLength || tag.type == WireType::kVarint);
}

/// Returns true if all fields of a message satisfy `is_field`. With `is_cut` it may end anywhere.
bool has_fields(std::string_view message, bool is_cut, IsField is_field) {
  while (!message.empty()) {
    const std::optional<std::uint64_t> key = take_varint(message);
    if (!key) {
      return is_cut;
    }
    const Tag tag{*key >> 3U, static_cast<WireType>(*key & 7U)};
    if (!is_field(tag)) {
      return false;
    }
    const std::optional<std::uint64_t> value = take_varint(message);
    if (!value) {
      return is_cut;
    }
    if (tag.type == WireType::kLength) {
      if (*value > message.size()) {
        return is_cut;
      }
      message.remove_prefix(static_cast<std::size_t>(*value));
    }
  }
  return true;
}

/// A message without its length prefix. take_message() returns nothing if the prefix is incomplete.
struct Message {
  std::string_view bytes;
  bool is_cut = false;
};
std::optional<Message> take_message(std::string_view& bytes) {
  const std::optional<std::uint64_t> length = take_varint(bytes);
  if (!length) {
    return std::nullopt;
  }
  const std::size_t there =
      static_cast<std::size_t>(std::min<std::uint64_t>(*length, bytes.size()));
  const Message message{bytes.substr(0, there), *length > bytes.size()};
  bytes.remove_prefix(there);
  return message;
}

/// Returns true if the bytes start as a JSON object or a list of objects. For Chakra, "{" would be
/// a length of 123 and "[" one of 91.
bool starts_as_objects(std::string_view start) {
  std::size_t first = 0;
  if (start.starts_with('[')) {
    first = skip_space(start, 1);
  }
  if (first >= start.size() || start[first] != '{') {
    return false;
  }
  const std::size_t next = skip_space(start, first + 1);
  return next == start.size() || start[next] == '"' || start[next] == '}';
}

using std::literals::string_view_literals::operator""sv;

/// A kind of file that users try in place of a trace or a profile.
struct OtherFile {
  std::string_view start;   ///< of the file; empty: its name decides
  std::string_view part;    ///< occurs near the start
  std::string_view ending;  ///< of the name, for formats whose first bytes are not public
  std::string_view name;    ///< "a report of Nsight Systems"
  std::string_view reason;  ///< why it does not do
  std::string_view advice;  ///< what to record or give instead
};

constexpr std::string_view kRecord =
    "record the step with understudy capture, or with torch.profiler.profile and "
    "export_chrome_trace()";
constexpr std::string_view kNoArguments = "it holds no operators with their arguments";
constexpr std::string_view kNsight = "a report of Nsight Systems";
constexpr std::string_view kXla = "a profile of XLA (.xplane.pb)";
constexpr std::string_view kNoPyTorch = "it holds no operators of PyTorch";
constexpr std::string_view kFlight = "a record of PyTorch's flight recorder";
constexpr std::string_view kCollectives = "it holds collectives alone";
constexpr std::string_view kPacked = "only gzip, tar and zip are unpacked here";
constexpr std::string_view kUnpack = "unpack it, or pack it with gzip";
constexpr std::string_view kPointer = "it names the file's content, which is not here";
constexpr std::string_view kTensors = "it holds tensors, no trace of a step";
constexpr std::string_view kEncoded = "traces are JSON in UTF-8";
constexpr std::string_view kRecode = "iconv -f UTF-16 (or UTF-32) -t UTF-8 FILE writes it so";
constexpr std::string_view kUtf16 = "text in UTF-16 or UTF-32";
constexpr std::string_view kNoTrace = "it holds no trace of a step";

// The first row that fits counts. JSON has no control characters such as \b.
constexpr std::array kOtherFiles = {
    OtherFile{"version https://", "\noid sha256:", "", "a Git LFS pointer", kPointer,
              "git lfs pull downloads it"},
    OtherFile{"/annex/objects/", "", "", "a git-annex pointer", kPointer,
              "git annex get downloads it"},
    OtherFile{"outs:", "md5: ", "", "a DVC pointer", kPointer, "dvc pull downloads it"},
    OtherFile{"<", "<", "", "a page of HTML or XML", kNoTrace,
              "download the file itself, not the page that shows it"},
    OtherFile{"\3757zXZ", "", "", "a file packed with xz", kPacked, kUnpack},
    OtherFile{"BZh", "1AY&SY", "", "a file packed with bzip2", kPacked, kUnpack},
    OtherFile{"\x28\xb5\x2f\xfd", "", "", "a file packed with zstd", kPacked, kUnpack},
    OtherFile{"\x04\x22\x4d\x18", "", "", "a file packed with lz4", kPacked, kUnpack},
    OtherFile{"]\0\0"sv, "", "", "a file packed with lzma", kPacked, kUnpack},
    OtherFile{"LZIP", "", "", "a file packed with lzip", kPacked, kUnpack},
    OtherFile{"\x1f\x9d", "", "", "a file packed with compress", kPacked, kUnpack},
    OtherFile{"7z\xbc\xaf", "", "", "an archive of 7-Zip", kPacked, kUnpack},
    OtherFile{"Rar!", "", "", "an archive of RAR", kPacked, kUnpack},
    OtherFile{"\xff\xfe", "", "", kUtf16, kEncoded, kRecode},
    OtherFile{"\xfe\xff", "", "", kUtf16, kEncoded, kRecode},
    OtherFile{"{\0"sv, "", "", kUtf16, kEncoded, kRecode},
    OtherFile{"[\0"sv, "", "", kUtf16, kEncoded, kRecode},
    OtherFile{"\0{"sv, "", "", kUtf16, kEncoded, kRecode},
    OtherFile{"\0["sv, "", "", kUtf16, kEncoded, kRecode},
    OtherFile{"PK", "/data.pkl", "", "a file of torch.save", kTensors, kRecord},
    OtherFile{"PK", "/archive_format", "", "a program of torch.export", kNoTrace, kRecord},
    OtherFile{"PK", ".npy", "", "arrays of NumPy (.npz)", kTensors, kRecord},
    OtherFile{"\x93NUMPY", "", "", "an array of NumPy", kTensors, kRecord},
    OtherFile{"\x89HDF", "", "", "a file of HDF5", kTensors, kRecord},
    OtherFile{"", "\"data_offsets\":", "", "a file of safetensors", kTensors, kRecord},
    OtherFile{"GGUF", "", "", "a model in GGUF", kTensors, kRecord},
    OtherFile{"", "brain.Event:", "", "an event file of TensorBoard", kNoTrace,
              "give the .pt.trace.json files of tensorboard_trace_handler()"},
    OtherFile{"SQLite format 3", "", "", "an SQLite database, as Nsight Systems exports",
              kNoArguments, kRecord},
    OtherFile{"", "", ".nsys-rep", kNsight, kNoArguments, kRecord},
    OtherFile{"", "", ".qdrep", kNsight, kNoArguments, kRecord},
    OtherFile{"", "", ".ncu-rep", "a report of Nsight Compute", kNoArguments,
              "ncu --import FILE --csv --page raw writes what --counters takes"},
    OtherFile{"PERFILE2", "", "", "a record of Linux perf", kNoArguments, kRecord},
    OtherFile{"\177ELF", "", "", "a program or library", kNoTrace, kRecord},
    OtherFile{"\x80", "pg_config", "", kFlight, kCollectives, kRecord},
    OtherFile{"{", "\"collective_seq_id\"", "", kFlight, kCollectives, kRecord},
    OtherFile{"{", "www.speedscope.app", "", "a profile of speedscope", kNoArguments, kRecord},
    OtherFile{"\x80", "segments", "", "a memory snapshot of PyTorch", "it holds allocations alone",
              kRecord},
    OtherFile{"\x80", "", "", "a pickle of Python", "traces are JSON", kRecord},
    OtherFile{"\n", "/host:", "", kXla, kNoPyTorch, kRecord},
    OtherFile{"\n", "/device:", "", kXla, kNoPyTorch, kRecord},
    OtherFile{"\n", "\b", "", "a trace of Perfetto", kNoArguments,
              "give the JSON that export_chrome_trace() of torch.profiler wrote"},
};

/// Returns the row of another tool's file; null for other files.
const OtherFile* find_other_file(std::string_view start, std::string_view name) {
  constexpr std::size_t kFirstMember = 128;
  const bool is_ours = std::ranges::any_of(
      std::array{"\"nodes\"", "\"traceEvents\"", "\"schemaVersion\""},
      [start](const char* key) { return start.find(key) != std::string_view::npos; });
  const auto* const found = std::ranges::find_if(kOtherFiles, [&](const OtherFile& other) {
    // Of a zip file, the first member decides.
    const std::string_view looked_at = other.start == "PK" ? start.substr(0, kFirstMember) : start;
    return (start.starts_with(other.start) ||
            start.substr(find_json_start(start)).starts_with(other.start)) &&
           looked_at.find(other.part) != std::string_view::npos && name.ends_with(other.ending) &&
           !(is_ours && other.start == "{");
  });
  return found == kOtherFiles.end() ? nullptr : found;
}

}  // namespace

bool starts_as_chakra_node(std::string_view start) {
  const std::optional<Message> first = take_message(start);
  return first && (first->bytes.starts_with('\b') || first->bytes.starts_with('\x12')) &&
         has_fields(first->bytes, first->is_cut, is_old_node_field) &&
         !has_fields(first->bytes, first->is_cut, is_metadata_field);
}

bool is_chakra_node(std::string_view message) {
  return has_fields(message, false, is_node_field);
}

bool starts_as_chakra(std::string_view start) {
  if (starts_as_objects(start)) {
    return false;
  }
  const bool has_metadata = !starts_as_chakra_node(start);
  const std::optional<Message> first = take_message(start);
  if (has_metadata && (!first || !has_fields(first->bytes, first->is_cut, is_metadata_field))) {
    return false;
  }
  const std::optional<Message> node = take_message(start);
  if (!node) {
    return !first->bytes.empty();
  }
  return (node->is_cut || !node->bytes.empty()) &&
         has_fields(node->bytes, node->is_cut, has_metadata ? is_node_field : is_old_node_field);
}

bool starts_as_trace(std::string_view start) {
  const std::size_t first = find_json_start(start);
  return (first < start.size() && start[first] == '{') || starts_as_objects(start.substr(first)) ||
         starts_as_chakra(start);
}

bool is_other_file(std::string_view start, std::string_view name) {
  return find_other_file(start, name) != nullptr;
}

void refuse_other_file(const std::string& name, std::string_view start) {
  if (starts_as_chakra(start)) {
    return;
  }
  const std::size_t first = find_json_start(start);
  if (first < start.size() && (start[first] == '{' || start[first] == '[') &&
      scan_brackets(start, first).status == ScanStatus::kTooDeep) {
    throw too_deep().with_file(name);
  }
  if (const OtherFile* other = find_other_file(start, name)) {
    throw bad_input(fmt::format("not a trace or profile: {}", other->reason),
                    {.file = name,
                     .field = "the start of the file",
                     .expected = "a PyTorch execution trace, a Kineto profile or a Chakra trace",
                     .got = std::string(other->name),
                     .hint = std::string(other->advice)});
  }
}

}  // namespace understudy::et_schema
