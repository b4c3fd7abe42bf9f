#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

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

}  // namespace understudy::et_schema
