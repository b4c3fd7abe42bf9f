#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "et_schema/formats/json_trace/json_pull.h"
#include "et_schema/model/losses.h"

namespace understudy::et_schema {

/// Walks over the outer levels of a large JSON file. Missing and trailing commas are passed and
/// counted, and values that nobody reads may be damaged: users write metadata as they like.
class OuterPull : public JsonPull {
 public:
  OuterPull(std::string_view json, std::size_t position, Losses& losses)
      : JsonPull(json, position), json_(json), losses_(losses) {}

  [[nodiscard]] bool next_item(bool& first) { return next(first, '[', ']'); }
  [[nodiscard]] bool next_member(bool& first, std::string_view& key) {
    return next(first, '{', '}') && read_key(key);
  }
  std::string_view skip();
  /// Calls read(), which reads the whole file, and refuses what follows. Returns false, and counts
  /// the loss, if the file is cut off. Throws Error (bad input) if it is no JSON.
  [[nodiscard]] bool read_file(const std::function<void()>& read);

  [[nodiscard]] std::size_t position() const { return position_in(json_); }
  void move_to(const JsonPull& other) { JsonPull::operator=(other); }
  using JsonPull::move_by;

 private:
  [[nodiscard]] bool next(bool& first, char open, char close);

  std::string_view json_;
  Losses& losses_;
};

/// Description of the objects in a large list, for messages and repairs.
struct ObjectsKind {
  std::string_view list;                   ///< key of the list: "nodes"
  std::string_view one;                    ///< "a node"
  std::string_view many;                   ///< "nodes"
  std::span<const std::string_view> keys;  ///< the keys that may follow an object's name
};

/// Calls read() for each object of the list that `outer` stands on; read() must skip the object. If
/// read() throws JsonDamage, the object is cut out by its brackets, repaired and counted in the
/// losses, so that damage does not spread, and read() is called again. A read() that throws must
/// have no effects. Throws JsonDamage if the list is cut off, Error (bad input) if the object
/// cannot be repaired.
void read_objects(OuterPull& outer, Losses& losses, const ObjectsKind& kind,
                  const std::function<void(JsonPull&)>& read);

}  // namespace understudy::et_schema
