#include <optional>
#include <string_view>

#include "et_schema/support/json_record.h"
#include "matching/matching.h"

namespace understudy::matching {

using et_schema::CommKind;
using et_schema::Names;
using et_schema::SameAs;

static std::optional<CommKind> kind_named(std::string_view name) {
  for (int kind = 0; kind <= static_cast<int>(CommKind::kInit); ++kind) {
    if (et_schema::to_string(static_cast<CommKind>(kind)) == name) {
      return static_cast<CommKind>(kind);
    }
  }
  return std::nullopt;
}

void members(auto& json, SameAs<CommRecord> auto& call) {
  json("node", call.node);
  json("kind", call.kind, Names{kind_named, "the name of a collective"});
  json("group", call.group);
  json("root_or_peer", call.root_or_peer);
  json("reduce_op", call.reduce_op);
  json("dtype", call.dtype, Names{et_schema::dtype_from_string, "an element type"});
  json("inputs", call.inputs);
  json("outputs", call.outputs);
  json("in_splits", call.in_splits);
  json("out_splits", call.out_splits);
  json("joined_before", call.joined_before);
}

void members(auto& json, SameAs<RankComms> auto& comms) {
  json("rank", comms.rank, et_schema::AtLeast{0});
  json("calls", comms.calls);
}

std::string to_text(const RankComms& comms) {
  return et_schema::json_line(et_schema::json_of(comms));
}

RankComms parse_rank_comms(std::string_view text) {
  const et_schema::JsonSource source{"", "another rank's list of communications cannot be read",
                                     "all ranks must run the same version"};
  const nlohmann::json document = et_schema::parse_json(text, source);
  return et_schema::read_json<RankComms>(et_schema::JsonField(document, source));
}

}  // namespace understudy::matching
