#include "cli/common/json_csv.h"

#include <utility>

#include "et_schema/base/quote.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the member that names an element: `name`, or `job` in a fleet's documents; end() if it
/// has neither.
Json::const_iterator name_in(const Json& element) {
  const auto name = element.find("name");
  return name != element.end() ? name : element.find("job");
}

/// Returns the texts of an element besides its name.
std::string detail_of(const Json& element) {
  std::string detail;
  const auto name = name_in(element);
  for (auto member = element.begin(); member != element.end(); ++member) {
    const Json& value = *member;
    if (value.is_string() && member != name && !value.get_ref<const std::string&>().empty()) {
      detail += (detail.empty() ? "" : ", ") + value.get<std::string>();
    }
  }
  return detail;
}

class Flattener {
 public:
  void add_object(const JsonFigure& place, const Json& object) {
    for (const auto& [key, value] : object.items()) {
      JsonFigure below = place;
      below.section += (place.section.empty() ? "" : ".") + key;
      if (value.is_object()) {
        add_object(below, value);
      } else if (value.is_array()) {
        add_list(below, value);
      } else {
        add(place, key, value);
      }
    }
  }

  std::vector<JsonFigure> take() { return std::move(figures_); }

 private:
  void add(JsonFigure place, std::string metric, const Json& value) {
    place.metric = std::move(metric);
    place.value = json_text(value);
    figures_.push_back(std::move(place));
  }

  void add_list(JsonFigure place, const Json& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      place.name = std::to_string(i);
      if (list[i].is_object()) {
        add_element(place, list[i]);
      } else {
        add(place, "value", list[i]);
      }
    }
  }

  void add_element(JsonFigure place, const Json& element) {
    const auto name = name_in(element);
    if (name != element.end() && name->is_string()) {
      place.name = name->get<std::string>();
    }
    place.detail = detail_of(element);
    const std::size_t before = figures_.size();
    for (const auto& [key, value] : element.items()) {
      if (!value.is_string()) {
        add_below(place, key, value);
      }
    }
    if (figures_.size() == before) {
      add(place, "listed", true);  // else its texts would not appear
    }
  }

  void add_below(const JsonFigure& place, const std::string& metric, const Json& value) {
    if (!value.is_structured()) {
      add(place, metric, value);
      return;
    }
    for (const auto& [key, inner] : value.items()) {
      add_below(place, metric + "." + key, inner);
    }
  }

  std::vector<JsonFigure> figures_;
};

}  // namespace

std::string json_text(const Json& value) {
  if (value.is_null()) {
    return "";
  }
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<JsonFigure> figures_of(const Json& document) {
  Flattener flattener;
  for (const auto& [key, value] : document.items()) {
    if (key != "ranks" || !value.is_array()) {
      flattener.add_object({"all", "", "", "", "", ""}, Json{{key, value}});
      continue;
    }
    for (const Json& rank : value) {
      Json figures = rank;
      figures.erase("rank");
      flattener.add_object({json_text(rank.at("rank")), "", "", "", "", ""}, figures);
    }
  }
  return flattener.take();
}

std::string json_to_csv(const Json& document) {
  std::string csv = "rank,section,name,detail,metric,value\n";
  for (const JsonFigure& figure : figures_of(document)) {
    for (const std::string* const cell :
         {&figure.rank, &figure.section, &figure.name, &figure.detail, &figure.metric}) {
      csv += et_schema::csv_cell(*cell) + ",";
    }
    csv += et_schema::csv_cell(figure.value) + "\n";
  }
  return csv;
}

}  // namespace understudy::cli
