// The rules by which a JSON document becomes tables.

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
            "# document\n"
            "bench,bytes,none\n"
            "\"a, \"\"b\"\"\",7,\n"
            "\n# filters\n"
            "place,value\n"
            "0,'--only comms\n"
            "1,'--exclude x\n"
            "\n# ranks\n"
            "rank,steps,times.min,losses.aliases\n"
            "3,2,0.5,4\n"
            "\n# ranks.times.all\n"
            "ranks,place,value\n"
            "3,0,1\n"
            "3,1,2.5\n"
            "\n# ranks.ops\n"
            "ranks,name,class,count,ms,peak.node,why\n"
            "3,aten::mm,matmul,2,,,\n"
            "3,,,1,,9,\n"
            "3,x,,,,,no figure\n"
            "\n# ranks.ops.samples\n"
            "ranks,ops,place,value\n"
            "3,aten::mm,0,0.25\n"
            "3,aten::mm,1,1.0\n");
}

TEST(JsonCsv, OfNothingIsNothing) {
  EXPECT_EQ(json_to_csv(Json::object()), "");
}

}  // namespace
}  // namespace understudy::cli
