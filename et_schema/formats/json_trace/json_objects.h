#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "et_schema/formats/json_trace/json_pull.h"
#include "et_schema/model/losses.h"

namespace understudy::et_schema {

/// Walks over the outer levels of a large JSON file without parsing what is inside. It passes
/// missing and trailing commas and counts them. It also counts a file that is cut off: from there
/// on is_cut_off() holds and nothing follows.
class JsonCursor {
 public:
  /// `position` is inside the outermost bracket.
  JsonCursor(std::string_view json, std::size_t position, Losses& losses)
      : json_(json), position_(position), losses_(losses) {}

  /// Goes to the next item of a list or object; false at its end (the closing bracket is passed) or
  /// where the file is cut off.
  [[nodiscard]] bool next_item(bool first, char close);
  /// Passes `"key":` and stands on the value. Nothing if the file is cut off. Throws Error (bad
  /// input) if there is no key.
  [[nodiscard]] std::optional<std::string_view> read_key();
  /// Passes a value and returns its text; empty if the file is cut off. Throws Error (bad input) if
  /// brackets are nested too deep.
  std::string_view skip_value();
  /// Throws Error (bad input) if there is anything but white space left.
  void refuse_rest();

  void cut_off();
  [[nodiscard]] bool is_cut_off() const { return is_cut_off_; }
  [[nodiscard]] bool stands_on(char c) const {
    return position_ < json_.size() && json_[position_] == c;
  }
  [[nodiscard]] std::size_t position() const { return position_; }
  void move_to(std::size_t position) { position_ = position; }
  [[nodiscard]] std::string_view rest() const { return json_.substr(position_); }

 private:
  std::string_view json_;
  std::size_t position_ = 0;
  Losses& losses_;
  bool is_cut_off_ = false;
};

/// What messages and repairs need to know of the objects in a large list.
struct ObjectsKind {
  std::string_view list;                   ///< its key: "nodes"
  std::string_view one;                    ///< "a node"
  std::string_view many;                   ///< "nodes"
  std::span<const std::string_view> keys;  ///< the keys that may follow an object's name
};

/// Calls read() with each object of the list at the cursor; read() passes the object. An object
/// that is no JSON is cut out by its brackets and repaired, and counted in the losses, so that
/// damage does not spread. read() is then called again for it, and must have kept nothing of the
/// first call, in which it threw. Throws Error (bad input) on what cannot be repaired.
void read_objects(std::string_view json, JsonCursor& cursor, Losses& losses,
                  const ObjectsKind& kind, const std::function<void(JsonPull&)>& read);

}  // namespace understudy::et_schema
