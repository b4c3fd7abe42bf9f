#include <gtest/gtest.h>

#include "et_schema/model/op_class.h"

namespace understudy::et_schema {
namespace {

TEST(Allocation, IsWhatIsNamedAfterEmpty) {
  for (const char* op :
       {"aten::empty", "aten::empty.memory_format", "aten::empty_like", "aten::empty_permuted.out",
        "aten::empty_strided", "aten::new_empty", "aten::new_empty_strided",
        "aten::_empty_affine_quantized", "aten::empty_quantized", "prims::empty_strided",
        "prims::empty.memory_format"}) {
    EXPECT_TRUE(allocates_memory(op)) << op;
  }
}

TEST(Allocation, IsNoneThatWritesOrOnlyHasTheWordInItsName) {
  for (const char* op : {"aten::zeros", "aten::new_zeros", "aten::resize_", "aten::mm", "",
                         "empties", "mine::nonempty", "mine::emptied", "mine::drop_empty_rows",
                         "mine::rows.empty", "aten::_new_thing"}) {
    EXPECT_FALSE(allocates_memory(op)) << op;
  }
}

}  // namespace
}  // namespace understudy::et_schema
