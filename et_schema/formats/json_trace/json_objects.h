#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "et_schema/formats/json_trace/json_pull.h"
#include "et_schema/model/losses.h"

namespace understudy::et_schema {

/// Walks over the outer levels of a large JSON file without parsing the inner ones. Missing and
/// trailing commas are skipped and counted. If the file is cut off, the loss is counted,
/// is_cut_off() becomes true and no items follow.
class JsonCursor {
 public:
  /// `position` must be inside the outermost bracket.
  JsonCursor(std::string_view json, std::size_t position, Losses& losses)
      : json_(json), position_(position), losses_(losses) {}

  /// Moves to the next item of a list or object. Returns false at the end, after the closing
  /// bracket, or if the file is cut off.
  [[nodiscard]] bool next_item(bool first, char close);
  /// Skips `"key":` and positions the cursor on the value. Returns nothing if the file is cut off.
  /// Throws Error (bad input) if no key follows.
  [[nodiscard]] std::optional<std::string_view> read_key();
  /// Skips a value and returns its text; empty if the file is cut off. Throws Error (bad input) if
  /// brackets are nested too deep.
  std::string_view skip_value();
  /// Throws Error (bad input) if anything but white space is left.
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

/// Description of the objects in a large list, for messages and repairs.
struct ObjectsKind {
  std::string_view list;                   ///< key of the list: "nodes"
  std::string_view one;                    ///< "a node"
  std::string_view many;                   ///< "nodes"
  std::span<const std::string_view> keys;  ///< the keys that may follow an object's name
};

/// Calls read() for each object of the list at the cursor; read() must skip the object. If read()
/// throws JsonDamage, the object is cut out by its brackets, repaired and counted in the losses, so
/// that damage does not spread, and read() is called again. A read() that throws must have no
/// effects. Throws Error (bad input) if the object cannot be repaired.
void read_objects(std::string_view json, JsonCursor& cursor, Losses& losses,
                  const ObjectsKind& kind, const std::function<void(JsonPull&)>& read);

}  // namespace understudy::et_schema
