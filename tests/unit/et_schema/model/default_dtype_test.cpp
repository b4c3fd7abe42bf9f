// The default type of floats, as programs show it.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "et_schema/model/unrecorded.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kRandn =
    "aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None) -> Tensor";
constexpr const char* kDivide = "aten::div.Tensor(Tensor self, Tensor other) -> Tensor";

class DefaultDtypeTest : public ::testing::Test {
 protected:
  SlotId slot(DType dtype, bool is_number = false) {
    Slot made;
    made.dtype = dtype;
    made.wrapped_number = is_number;
    program_.slots.push_back(made);
    return static_cast<SlotId>(program_.slots.size() - 1);
  }
  void add(const char* schema, std::vector<Argument> args, DType result) {
    Instruction instruction;
    instruction.name = std::string(schema).substr(0, std::string(schema).find('('));
    program_.schemas.emplace_back(schema);
    instruction.schema = static_cast<SchemaId>(program_.schemas.size() - 1);
    instruction.args = std::move(args);
    instruction.results = {{Argument::SlotRef{slot(result)}}};
    program_.instructions.push_back(std::move(instruction));
  }
  void draw(Argument dtype, DType result) {
    add(kRandn, {{Argument::List{}}, std::move(dtype), {Argument::None{}}}, result);
  }
  Program program_;
};

TEST_F(DefaultDtypeTest, IsFloat32WhereNothingShowsIt) {
  EXPECT_EQ(default_dtype(program_), DType::kFloat32);
  draw({std::int64_t{7}}, DType::kFloat64);  // asked for
  EXPECT_EQ(default_dtype(program_), DType::kFloat32);
}

TEST_F(DefaultDtypeTest, IsShownByWhatIsMadeWithoutOne) {
  draw({std::int64_t{6}}, DType::kFloat32);
  draw({Argument::None{}}, DType::kFloat64);
  draw({Argument::None{}}, DType::kFloat32);
  EXPECT_EQ(default_dtype(program_), DType::kFloat64);
}

TEST_F(DefaultDtypeTest, IsThatOfTheirPartsWhereNumbersAreComplex) {
  draw({Argument::None{}}, DType::kComplexFloat64);
  EXPECT_EQ(default_dtype(program_), DType::kFloat64);
}

TEST_F(DefaultDtypeTest, IsShownByWholeNumbersThatAreDivided) {
  const SlotId floats = slot(DType::kFloat32);
  const SlotId integers = slot(DType::kInt64);
  const SlotId number = slot(DType::kFloat64, true);
  add(kDivide, {{Argument::SlotRef{floats}}, {Argument::SlotRef{number}}}, DType::kFloat32);
  add(kDivide, {{Argument::SlotRef{integers}}, {Argument::SlotRef{number}}}, DType::kFloat64);
  EXPECT_EQ(default_dtype(program_), DType::kFloat64);
}

}  // namespace
}  // namespace understudy::et_schema
