#include "et_schema/base/json_record.h"
#include "et_schema/formats/call_results/call_results.h"

namespace understudy::et_schema {
namespace {

constexpr Names kDTypeNames = {dtype_from_string, "the name of a dtype"};
constexpr DocumentFormat kFormat = {"list of results", "understudy.call_results", 1};

}  // namespace

void members(auto& json, SameAs<ResultTensor> auto& tensor) {
  json("dtype", tensor.dtype, kDTypeNames);
  json("sizes", tensor.sizes, AtLeast{0});
  json("strides", tensor.strides);
  json.unless(-1, "storage_of", tensor.storage_of, AtLeast{0});
  json.unless(-1, "same_as", tensor.same_as, AtLeast{0});
  json.unless(0, "offset_from", tensor.offset_from);
  json.unless(false, "offset_is_absolute", tensor.offset_is_absolute);
}

void members(auto& json, SameAs<CallResults> auto& results) {
  json.if_any("tensors", results.tensors);
  json.if_any("list_sizes", results.list_sizes, AtLeast{0});
  json.if_any("why_not", results.why_not, kFreeText);
  json.unless(false, "fails", results.fails);
  json.if_any("calls", results.calls, kFreeText);
}

void members(auto& json, SameAs<OtherSize> auto& other) {
  json.if_any("slot", other.slot);
  json.if_any("sizes", other.sizes, AtLeast{0});
  json.if_any("strides", other.strides, AtLeast{0});
  json.unless(0, "offset", other.offset, AtLeast{0});
  json.if_any("instruction", other.instruction);
  json.if_any("argument", other.argument);
  json.if_any("item", other.item);
  json.unless(0, "number", other.number);
  json.unless(0, "step", other.step, AtLeast{0});
  json.if_any("refused", other.refused, kFreeText);
  json.if_any("kept", other.kept, kFreeText);
  json.unless(false, "assumed", other.assumed);
  json.if_any("known", other.known);
}

std::string call_results_header() {
  return json_lines_header(kFormat.name, kFormat.version);
}

std::vector<CallResults> call_results_from_text(std::string_view text, const std::string& file) {
  return read_json_lines<CallResults>(
      text, {file, "the results of operators cannot be read", "run the same command again"},
      kFormat);
}

std::vector<OtherSize> other_sizes_from_text(std::string_view text, const std::string& file) {
  return read_json_lines<OtherSize>(
      text, {file, "the other sizes cannot be read", "run the same command again"}, kFormat);
}

}  // namespace understudy::et_schema
