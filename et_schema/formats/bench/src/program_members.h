#pragma once

#include <variant>

#include "line_record.h"

namespace understudy::et_schema {

// Members of a benchmark's lines, in order (line_record.h). Keys: docs/formats.md, "Programs".

void members(auto& line, SameAs<Storage> auto& storage) {
  line("device", storage.device);
  line("bytes", storage.bytes);
  line.if_any("external", storage.external);
  line.if_any("held_until", storage.held_until);
  line.if_any("state", storage.state);
  line.if_any("zeros", storage.zeros);
  line.if_any("untouched", storage.untouched);
  line.if_any("pinned", storage.pinned);
}

void members(auto& line, SameAs<Slot> auto& slot) {
  line("storage", slot.storage);
  line("dtype", slot.dtype, Names{dtype_from_string, "the name of a dtype"});
  line("sizes", slot.sizes);
  line.strides(slot.sizes, slot.strides);
  line.if_any("offset", slot.offset);
  line.if_any("strides_recorded", slot.strides_recorded);
  line.if_any("external", slot.external);
  line.if_any("wrapped_number", slot.wrapped_number);
  line.if_any("sparse", slot.sparse);
  line.if_any("value", slot.value);
  line.if_any("content", slot.content);
}

void members(auto& line, SameAs<SparseContent> auto& content) {
  line("layout", content.layout, Names{sparse_layout_from_string, "coo, csr or csc"});
  line("elements", content.elements);
  line.if_any("coalesced", content.coalesced);
  line("indices", content.indices);
}

void members(auto& line, SameAs<Launched> auto& launched) {
  line("count", launched.count);
  line.if_any("stream", launched.stream);
}

void members(auto& line, SameAs<Instruction> auto& instruction) {
  line.kind_and_name(instruction.kind, instruction.name);
  if (line.is_full()) {
    line("node", instruction.node_id);
  }
  line.unless(std::uint64_t{1}, "thread", instruction.thread);
  line.if_any("schema", instruction.schema);
  line.if_any("args", instruction.args);
  line.if_any("results", instruction.results);
  line.if_any("pinned", instruction.pinned);
  line.if_any("recomputed", instruction.recomputed);
  line.if_any("launched", instruction.launched);
  line.if_any("comm", instruction.comm);
}

void members(auto& line, SameAs<CommInfo> auto& comm) {
  line("kind", comm.kind, Names{comm_kind_from_string, "the name of a collective"});
  line("reduce_op", comm.reduce_op);
  line.if_any("reduce_op_why", comm.reduce_op_why);
  line.if_any("is_async", comm.is_async);
  line.if_any("why", comm.why);
  line.if_any("names_group", comm.names_group);
  line.if_any("is_p2p", comm.is_p2p);
  line.if_any("in_batch", comm.in_batch);
  line.if_any("joins_batch", comm.joins_batch);
  line("group", line.number_of(comm.group));
  if (line.is_full()) {
    line("root_or_peer", comm.root_or_peer);
    line.if_any("in_splits", comm.in_splits);
    line.if_any("out_splits", comm.out_splits);
    line.if_any("seq", comm.seq);
  }
}

// Value rules share a few keys: "high" is a step in one rule and a number of classes in another. If
// a kind of rule has no function here, the code does not compile.

void members(auto& /*line*/, SameAs<ValueRule::Zeros> auto& /*rule*/) {}
void members(auto& line, SameAs<ValueRule::Constant> auto& rule) {
  line.if_any("a", rule.value);
}
void members(auto& line, SameAs<ValueRule::Uniform> auto& rule) {
  line.if_any("a", rule.low);
  line.if_any("b", rule.high);
}
void members(auto& line, SameAs<ValueRule::Normal> auto& rule) {
  line.if_any("a", rule.mean);
  line.if_any("b", rule.deviation);
}
void members(auto& line, SameAs<ValueRule::Integers> auto& rule) {
  line.as_real("a", rule.distinct);
  line.if_any("low", rule.low);
  line.if_any("high", rule.high);
}
void members(auto& line, SameAs<ValueRule::Offsets> auto& rule) {
  line.if_any("low", rule.longest);
  line.if_any("high", rule.end);
  line.if_any("include_last", rule.include_last);
}
void members(auto& line, SameAs<ValueRule::Lengths> auto& rule) {
  line.if_any("segments", rule.segments);
}
void members(auto& line, SameAs<ValueRule::Arange> auto& rule) {
  line.if_any("low", rule.start);
  line.if_any("high", rule.step);
}
void members(auto& line, SameAs<ValueRule::Bernoulli> auto& rule) {
  line.if_any("a", rule.probability);
}
void members(auto& line, SameAs<ValueRule::Mask> auto& rule) {
  line.if_any("high", rule.count);
}
void members(auto& line, SameAs<ValueRule::Targets> auto& rule) {
  line.if_any("a", rule.ignored_share);
  line.if_any("low", rule.ignore_index);
  line.if_any("high", rule.classes);
}
void members(auto& line, SameAs<ValueRule::ReusedIntegers> auto& rule) {
  line.as_real("a", rule.distinct);
  line.if_any("low", rule.low);
  line.if_any("high", rule.high);
  line.if_any("reuse", rule.reuse.bins);
  line.unless(std::int64_t{1}, "run", rule.reuse.run);
  line.if_any("sorted", rule.reuse.sorted);
}
void members(auto& line, SameAs<ValueRule::Dominant> auto& rule) {
  line.if_any("a", rule.diagonal);
  line.if_any("high", rule.rows);
}

void members(auto& line, SameAs<ValueRule> auto& rule) {
  line("rule", rule.kind, Names{value_rule_kind_from_string, "the name of a value rule"});
  std::visit([&](auto& kind) { members(line, kind); }, rule.kind);
  line.if_any("why", rule.why);
}

}  // namespace understudy::et_schema
