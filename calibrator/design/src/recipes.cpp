#include "calibrator/design/recipe.h"
#include "recipe_tables.h"

namespace understudy::calibrator {

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = [] {
    std::vector<Recipe> joined;
    for (const std::span<const Recipe> table :
         {layer_recipes(), elementwise_recipes(), memory_recipes()}) {
      joined.insert(joined.end(), table.begin(), table.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace understudy::calibrator
