#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "et_schema/model/open_comms.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// Ids of the nodes of one instruction; 0 if it has no such node.
struct ChakraIds {
  std::uint64_t host = 0;
  std::uint64_t device = 0;  ///< the node of its device work or of its communication
};

/// The nodes that a node depends on.
struct ChakraEdges {
  std::vector<std::uint64_t> all;  ///< without repetition; the launch of a device node comes first
  std::vector<std::uint64_t> order;  ///< those of `all` without data flow, ascending
};

struct InstructionEdges {
  ChakraEdges host;
  ChakraEdges device;
  bool joins = false;  ///< the instruction is a wait for a communication of this program
};

/// Follows a program in order and returns the dependencies of each of its nodes:
/// - data: the last writer of each storage that the node reads; the last writer and the later
/// readers of each storage that it writes. Data on a device connects device nodes; a host node that
/// only accesses such a tensor's metadata depends on the host node of its maker.
/// - order: the previous instruction on its thread; the previous instruction of the program, if it
/// is on another thread and had ended; the previous device node on its stream; the previous
/// communication in its group.
/// - synchronisation: a device node after a wait depends on the awaited communication. A host node
/// after a call that blocked, or that copied a result to the host, depends on that device work.
class ChakraOrder {
 public:
  /// `first` is the node on which nodes without other parents depend; 0 if there is none.
  ChakraOrder(const et_schema::Program& program, std::uint64_t first);

  /// Returns the edges of the next instruction, in program order.
  [[nodiscard]] InstructionEdges next(std::size_t index, ChakraIds ids);

  /// Returns the edges of device work that no instruction launched: after the last host node, and
  /// after the last work on its stream.
  [[nodiscard]] ChakraEdges outside(std::int64_t stream, std::uint64_t id);

 private:
  struct Uses {
    std::vector<et_schema::StorageId> reads;
    std::vector<et_schema::StorageId> writes;
  };
  /// The last writer of a storage, and its readers since.
  struct Access {
    ChakraIds writer;
    std::vector<ChakraIds> readers;
  };
  class Collector;

  [[nodiscard]] Uses uses_of(const et_schema::Instruction& instruction);
  [[nodiscard]] const std::vector<bool>& written_arguments(et_schema::SchemaId schema);
  [[nodiscard]] bool is_on_device(et_schema::StorageId storage) const;
  [[nodiscard]] bool reads_back(const et_schema::Instruction& instruction, const Uses& uses) const;
  void add_data(const Uses& uses, ChakraIds ids, Collector& host, Collector& device);
  void add_access(const ChakraIds& other, et_schema::StorageId storage, ChakraIds ids,
                  Collector& host, Collector& device) const;
  void add_host_order(const et_schema::Instruction& instruction, Collector& host);
  void add_waits(const et_schema::Instruction& instruction, Collector& host);
  void add_device_order(const et_schema::Instruction& instruction, ChakraIds ids,
                        Collector& device);
  void add_stream_order(std::int64_t stream, std::uint64_t id, Collector& device);
  void join_waited(const et_schema::Instruction& instruction, InstructionEdges& edges,
                   Collector& host);
  void remember(const et_schema::Instruction& instruction, const Uses& uses, ChakraIds ids);

  const et_schema::Program& program_;
  std::uint64_t first_;
  std::unordered_map<et_schema::StorageId, Access> access_;
  std::unordered_map<std::uint64_t, std::uint64_t> last_on_thread_;
  const et_schema::Instruction* before_ = nullptr;  ///< the previous instruction, on any thread
  std::uint64_t before_id_ = 0;
  std::map<std::int64_t, std::uint64_t> last_on_stream_;
  std::optional<std::int64_t> last_stream_;
  std::map<et_schema::GroupId, std::uint64_t> last_in_group_;
  /// By thread: the device nodes on which its next host node depends.
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> host_needs_;
  /// By stream: awaited communications on which its next device node depends.
  std::map<std::int64_t, std::vector<std::uint64_t>> stream_needs_;
  std::vector<std::uint64_t> joined_;  ///< all awaited communications, for streams that begin later
  et_schema::OpenComms open_;
  /// Waits, not yet visited, of calls that blocked until their communication ended.
  std::set<std::uint32_t> answered_waits_;
  std::unordered_map<std::uint32_t, std::uint64_t> comm_node_;  ///< by instruction
  std::size_t next_wait_ = 0;  ///< index into the profile's list of waits
  std::vector<std::optional<std::vector<bool>>> written_;  ///< by schema
};

}  // namespace understudy::generator
