#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/dtype.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/reuse.h"

namespace understudy::et_schema {

/// One occurrence of a tensor in a trace. Both ids are derived from addresses and are reused after
/// a free.
struct Tensor {
  std::int64_t tensor_id = 0;
  std::int64_t storage_id = 0;
  std::int64_t storage_offset = 0;  ///< in elements
  std::int64_t numel = 0;
  std::int64_t item_bytes = 0;
  DType dtype = DType::kUndefined;
  Device device;
  bool has_strides = false;  ///< recorded since schema 1.1.1
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;  ///< if !has_strides: empty, or set by the file's writer

  [[nodiscard]] bool defined() const { return dtype != DType::kUndefined || !device_is_none(); }
  /// False for zero-byte, sparse and opaque tensors and for torch.func's wrappers: many of them
  /// share one storage id, and only tensor ids distinguish them.
  [[nodiscard]] bool has_storage() const { return numel > 0 && storage_id != 0; }

 private:
  [[nodiscard]] bool device_is_none() const { return device.type == DeviceType::kNone; }
};

enum class ValueKind : std::uint8_t {
  kNone,
  kTensor,
  kBool,
  kInt,
  kDouble,
  kString,
  kDevice,
  kList,
  kTuple,
  kOpaque
};

/// One recorded argument or result. Texts, lists and tensors belong to the Trace that holds the
/// node.
class Value {
 public:
  Value() = default;
  [[nodiscard]] static Value of(bool value);
  [[nodiscard]] static Value of(std::int64_t value);
  [[nodiscard]] static Value of(double value);
  [[nodiscard]] static Value of(const Tensor* tensor);
  /// kString, kDevice ("cuda:0") or kOpaque (the tag: "Generator", "Stream", "Object").
  [[nodiscard]] static Value of_text(ValueKind kind, std::string_view text);
  /// kList or kTuple.
  [[nodiscard]] static Value of_items(ValueKind kind, std::span<const Value> items);

  [[nodiscard]] ValueKind kind() const { return kind_; }
  [[nodiscard]] bool is(ValueKind kind) const { return kind_ == kind; }
  // Each accessor asserts the kind.
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] std::int64_t as_int() const;
  [[nodiscard]] double as_double() const;
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] std::span<const Value> items() const;
  [[nodiscard]] const Tensor& tensor() const;

 private:
  ValueKind kind_ = ValueKind::kNone;
  std::uint32_t size_ = 0;
  union {
    std::int64_t integer_ = 0;
    double real_;
    const char* text_;
    const Value* items_;
    const Tensor* tensor_;
  };
};

/// Calls visit(const Tensor&) for each tensor among the values, lists included, in order; undefined
/// ones too.
template <typename Visitor>
void for_each_tensor(std::span<const Value> values, Visitor&& visit) {
  for (const Value& value : values) {
    if (value.is(ValueKind::kTensor)) {
      visit(value.tensor());
    } else if (value.is(ValueKind::kList) || value.is(ValueKind::kTuple)) {
      for_each_tensor(value.items(), visit);
    }
  }
}

/// Metadata of a communication, in a trace since schema 1.1.0. -1 and empty: not recorded.
struct CommAttributes {
  std::string_view name;   ///< as in record_param_comms: "allreduce"
  std::string_view group;  ///< the group's name
  std::string_view group_description;
  std::int64_t ranks_in_group = -1;
  std::int64_t global_rank_start = -1;
  std::int64_t global_rank_stride = -1;
};

/// RecordScope of PyTorch; other numbers are kept as they are.
enum class Scope : std::uint8_t { kFunction = 0, kBackwardFunction = 1, kUserScope = 7 };

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = 0xffffffffU;

struct Node {
  std::uint64_t id = 0;
  std::uint64_t parent_id = 0;
  std::uint64_t rf_id = 0;
  std::uint64_t fw_parent = 0;
  std::int64_t seq_id = -1;
  std::uint64_t tid = 0;
  std::uint64_t fw_tid = 0;
  Scope scope = Scope::kFunction;
  std::string_view name;
  std::string_view op_schema;
  std::string_view kernel_backend;
  std::string_view kernel_file;
  std::string_view tensor_range;  ///< JSON text {"flat input tensor index":[min,max]}, or empty
  std::span<const Value> inputs;
  std::span<const Value> outputs;
  const CommAttributes* comm = nullptr;  ///< null if the file has none

  // Set by the reader after all nodes are read:
  NodeIndex parent = kNoNode;  ///< kNoNode for the process root only
  /// Highest index in the subtree; the node itself for a leaf.
  NodeIndex last_descendant = kNoNode;
  std::span<const NodeIndex> children;  ///< in order of id
};

struct ProcessGroup {
  std::string name;  ///< unique in a job; the address in text form for traces of torch 2.0 and 2.1
  std::string description;
  std::string backend;
  std::vector<std::int64_t> ranks;  ///< global ranks in group order; empty: the whole world
  std::int64_t size = 0;            ///< as recorded
  bool operator==(const ProcessGroup&) const = default;
};

/// The capture that a trace belongs to, from the capture.json beside it or beside another trace of
/// the same input.
struct CaptureOrigin {
  std::string file;             ///< that capture.json
  std::string id;               ///< of the capture
  std::int64_t world_size = 1;  ///< ranks of the job
  std::optional<int> rank;      ///< this trace's rank; absent: capture.json does not list it
  bool is_same_file = true;     ///< false: it lists another trace of the same name
};

/// When a node ran, according to the trace itself.
struct OwnTimes {
  std::optional<std::int64_t> start_ns = {};  ///< since an arbitrary time before the first node
  std::int64_t self_ns = 0;                   ///< host time outside of the nodes below it
  std::int64_t device_ns = 0;                 ///< Σ duration of the device nodes that it launched
  std::uint64_t launches = 0;                 ///< number of those device nodes
  std::optional<std::int64_t> stream = {};    ///< of the first of those device nodes
  std::optional<std::int64_t> page_faults = {};  ///< on its thread
};

/// One rank's execution trace: nodes in order of id (start order). In their tree, every node but
/// the process root has a parent with a smaller index. Move-only: it owns the memory of its views.
struct Trace {
  std::string file;    ///< as given by the user; "archive/member" for a member
  std::string schema;  ///< "1.0.3-chakra.0.0.4"
  std::int64_t pid = 0;
  std::string time;
  std::int64_t start_ts = 0;
  std::int64_t finish_ts = 0;
  std::uint64_t content_hash = 0;  ///< XXH3 of the uncompressed bytes
  std::uint64_t content_bytes = 0;
  int rank = 0;

  std::vector<Node> nodes;  ///< nodes[0] is the process root
  std::vector<ProcessGroup> process_groups;
  std::optional<CaptureOrigin> capture;  ///< absent: unknown
  IndexUses index_uses;                  ///< recorded beside the trace; empty: not recorded
  /// By node, for formats that record times (Chakra); otherwise empty.
  std::vector<std::optional<OwnTimes>> own_times;
  std::optional<std::int64_t> own_step_ns;  ///< duration of the step on the host, if recorded
  std::int64_t own_length_ns = 0;           ///< the same, device work included; 0: not recorded
  Losses losses;

  /// Returns the index of the node with this id, or kNoNode (binary search).
  [[nodiscard]] NodeIndex find(std::uint64_t id) const;

  /// Owns all texts, values and tensors of the nodes.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> arena;
};

/// Kinds of nodes; the fields of a node alone decide.
enum class NodeClass : std::uint8_t {
  kLabel,          ///< no schema: wrappers, annotations, roots
  kOperator,       ///< op_schema, not c10d::
  kC10d,           ///< c10d:: or _c10d_functional:: wrapper around a communication
  kCommunication,  ///< record_param_comms
  kKernel          ///< of a compiled graph: Triton, or C++ that a capture labelled
};
[[nodiscard]] NodeClass classify(const Node& node);

}  // namespace understudy::et_schema
