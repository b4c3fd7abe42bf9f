// The rules by which a JSON document becomes one long table.

#include "cli/common/json_csv.h"

#include <gtest/gtest.h>

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;

TEST(JsonCsv, ShowsEachKindOfPlace) {
  const Json document = Json::parse(R"({
    "bench": "a, \"b\"", "bytes": 7, "none": null,
    "filters": ["--only comms", "--exclude x"],
    "ranks": [
      {"rank": 3, "steps": 2, "times": {"min": 0.5, "all": [1, 2.5]}, "losses": {"aliases": 4},
       "ops": [{"name": "aten::mm", "class": "matmul", "count": 2, "ms": null, "samples": [0.25, 1.0]},
               {"count": 1, "peak": {"node": 9}},
               {"name": "x", "why": "no figure"}]}]})");
  EXPECT_EQ(json_to_csv(document),
            "rank,section,name,detail,metric,value\n"
            "all,,,,bench,\"a, \"\"b\"\"\"\n"
            "all,,,,bytes,7\n"
            "all,,,,none,\n"
            "all,filters,0,,value,'--only comms\n"
            "all,filters,1,,value,'--exclude x\n"
            "3,,,,steps,2\n"
            "3,times,,,min,0.5\n"
            "3,times.all,0,,value,1\n"
            "3,times.all,1,,value,2.5\n"
            "3,losses,,,aliases,4\n"
            "3,ops,aten::mm,matmul,count,2\n"
            "3,ops,aten::mm,matmul,ms,\n"
            "3,ops,aten::mm,matmul,samples.0,0.25\n"
            "3,ops,aten::mm,matmul,samples.1,1.0\n"
            "3,ops,1,,count,1\n"
            "3,ops,1,,peak.node,9\n"
            "3,ops,x,no figure,listed,true\n");
}

TEST(JsonCsv, OfNothingIsTheTitles) {
  EXPECT_EQ(json_to_csv(Json::object()), "rank,section,name,detail,metric,value\n");
}

}  // namespace
}  // namespace understudy::cli
