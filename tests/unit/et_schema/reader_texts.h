#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/trace.h"
#include "testing/temporary_folder.h"

/// Small traces as text, for the tests of the readers.
namespace understudy::et_schema::testing_texts {

/// The arrays of a node's inputs or outputs: {"values": …, "shapes": …, "types": …}.
struct Arrays {
  std::string values = "[]";
  std::string shapes = "[]";
  std::string types = "[]";
  std::string strides = {};  ///< left out if empty
};
/// The arrays of these values, shapes and types as the observer writes them: tensors (one
/// dimension, floats), numbers, truth values, texts, lists of one of these, and tuples of several.
[[nodiscard]] Arrays arrays_of(const std::string& values);

/// A node of the nested layout.
struct NodeText {
  int id = 0;
  int parent = 0;
  std::string name = "label";
  Arrays inputs = {};
  Arrays outputs = {};
  std::string schema = {};
  int tid = 1;
  std::string attributes = {};  ///< more entries of attrs, each with a comma in front
};

[[nodiscard]] std::string node(const NodeText& text);
/// The process root, id 1, and the root of thread 1, id 2.
[[nodiscard]] std::vector<std::string> roots();
/// The file around nodes.
[[nodiscard]] std::string trace(const std::vector<std::string>& nodes,
                                std::string_view schema = "1.1.1-chakra.0.0.4");
/// The roots and one more node, or several.
[[nodiscard]] std::string trace_of(const NodeText& text);
[[nodiscard]] std::string trace_of(const std::vector<NodeText>& texts);
[[nodiscard]] Trace parse(const std::string& text);

/// A rank of a capture.json, without measurements beside its steps.
[[nodiscard]] std::string captured_rank(int rank, const std::string& files,
                                        const std::string& step_ns = "[]",
                                        const std::string& trace = "null");
/// The capture.json of these ranks.
[[nodiscard]] std::string capture_description(const std::vector<std::string>& ranks,
                                              const std::string& id = "ab");

/// The whole text of the Error that `work` throws; "no error" if it throws none.
[[nodiscard]] std::string error_of(const std::function<void()>& work);
[[nodiscard]] std::string parse_error(const std::string& text);

using testing_files::TemporaryFolder;

struct Member {
  std::string name;
  std::string content;
};
enum class ArchiveKind { kTar, kTarGz, kZip, kGzip };
/// An archive in memory; of kGzip the one member's content alone.
[[nodiscard]] std::string pack(ArchiveKind kind, const std::vector<Member>& members);

}  // namespace understudy::et_schema::testing_texts
