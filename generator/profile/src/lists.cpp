#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "read_calls.h"

namespace understudy::generator {
namespace {

using et_schema::KinetoArgument;
using et_schema::KinetoEvent;
using et_schema::KinetoLayout;

bool is_left_out(const KinetoArgument& argument) {
  return argument.type == "TensorList" && argument.layouts.empty();
}

bool is_told(const KinetoArgument& argument) {
  return !argument.type.empty() || !argument.value.empty();
}

/// Returns the arguments of an overload of the event's operator with lists where the event has any.
std::vector<et_schema::SchemaArgument> arguments_of(const KinetoEvent& event) {
  for (const std::string_view schema : et_schema::public_operators(event.name)) {
    std::vector<et_schema::SchemaArgument> arguments = et_schema::arguments_of(schema);
    bool fits = arguments.size() == event.arguments.size();
    for (std::size_t i = 0; fits && i < arguments.size(); ++i) {
      const std::string_view type = arguments[i].type;
      const bool is_list = type.starts_with("Tensor") && type.find('[') != std::string_view::npos;
      fits = (event.arguments[i].type == "TensorList") == is_list &&
             (is_told(event.arguments[i]) ? type != "Scalar[]"
                                          : type == "Scalar[]" || type.ends_with('?'));
    }
    if (fits) {
      return arguments;
    }
  }
  return {};
}

class ListFiller {
 public:
  ListFiller(et_schema::Profile& profile, const HostEvents& host, et_schema::Arena arena,
             et_schema::Losses& losses)
      : profile_(profile), host_(host), arena_(arena), losses_(losses) {}

  void fill() {
    for (HostIndex i = 0; i < host_.events.size(); ++i) {
      KinetoEvent& event = event_of(i);
      if (event.name == kKeepsGradient && event.arguments.size() == 1 &&
          !event.arguments[0].layouts.empty()) {
        gradients_.push_back(event.arguments[0].layouts[0]);
      }
      if (std::ranges::any_of(event.arguments, is_left_out)) {
        fill(i, event);
      }
    }
  }

 private:
  [[nodiscard]] KinetoEvent& event_of(HostIndex index) {
    return profile_.events[host_.events[index].source];
  }

  void fill(HostIndex index, KinetoEvent& event) {
    std::vector<const KinetoEvent*> children = repeated_children(index);
    const std::span<KinetoArgument> filled = arena_.copy(event.arguments);
    const bool is_step =
        event.name.starts_with("aten::_foreach_") || event.name.starts_with("aten::_fused_");
    const std::vector<et_schema::SchemaArgument> arguments = arguments_of(event);
    for (std::size_t i = 0; i < filled.size(); ++i) {
      if (is_left_out(filled[i]) && of_children(children, i).empty()) {
        children.clear();  // the children do something else
      }
    }
    std::size_t longest = 0;
    const bool is_short = std::ranges::any_of(event.arguments, [](const KinetoArgument& argument) {
      return argument.type == "TensorList" && !argument.layouts.empty();
    });
    for (std::size_t i = 0; i < filled.size(); ++i) {
      if (is_left_out(filled[i])) {
        std::vector<KinetoLayout> layouts = of_children(children, i);
        if (layouts.empty() && is_step && i < arguments.size()) {
          if (is_short || is_without(event, arguments, arguments[i].name)) {
            filled[i].value = "[]";
          } else {
            layouts = of_step(event, arguments[i].name);
          }
        }
        longest = std::max(longest, layouts.size());
        filled[i].layouts = arena_.copy<KinetoLayout>(layouts);
      }
    }
    for (std::size_t i = 0; i < filled.size() && i < arguments.size(); ++i) {
      if (arguments[i].type == "Scalar[]") {
        filled[i].type = "ScalarList";
        filled[i].value = arena_.copy(numbers(children, i, longest));
      }
    }
    event.arguments = filled;
  }

  /// Returns true if the optimizer's options show that it has no such list.
  static bool is_without(const KinetoEvent& event,
                         const std::vector<et_schema::SchemaArgument>& arguments,
                         std::string_view list) {
    const auto is_off = [&](std::string_view name) {
      const auto found = std::ranges::find(arguments, name, &et_schema::SchemaArgument::name);
      const std::string_view value =
          found == arguments.end()
              ? std::string_view()
              : event.arguments[static_cast<std::size_t>(found - arguments.begin())].value;
      return value == "False" || value.find_first_not_of("0.") == std::string_view::npos;
    };
    return (list.starts_with("max_") && is_off("amsgrad")) ||
           (list == "momentum_buffer_list" && is_off("momentum"));
  }

  /// Returns a layout for each parameter; step counts have no dimensions.
  [[nodiscard]] std::vector<KinetoLayout> of_step(const KinetoEvent& event,
                                                  std::string_view name) const {
    const bool adds_one = event.name == "aten::_foreach_add_" && event.arguments.size() == 2 &&
                          event.arguments[1].value == "1";
    if (name == "state_steps" || adds_one) {
      return std::vector<KinetoLayout>(gradients_.size());
    }
    return {gradients_.rbegin(), gradients_.rend()};
  }

  std::string numbers(const std::vector<const KinetoEvent*>& children, std::size_t argument,
                      std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_told = i < children.size() && argument < children[i]->arguments.size() &&
                           children[i]->arguments[argument].type == "Scalar";
      text += text.empty() ? "[" : ", ";
      text += is_told ? children[i]->arguments[argument].value : "1";
      if (!is_told) {
        losses_.add(et_schema::Loss::kAssumedArguments);
      }
    }
    return text + "]";
  }

  /// Returns the children with the most frequent name.
  std::vector<const KinetoEvent*> repeated_children(HostIndex parent) {
    std::map<std::string_view, std::vector<const KinetoEvent*>> by_name;
    for (const HostIndex child : host_.children_of(parent)) {
      by_name[event_of(child).name].push_back(&event_of(child));
    }
    const auto most = std::ranges::max_element(
        by_name, {}, [](const auto& named) { return named.second.size(); });
    return most == by_name.end() || most->second.size() < 2 ? std::vector<const KinetoEvent*>()
                                                            : most->second;
  }

  static std::vector<KinetoLayout> of_children(const std::vector<const KinetoEvent*>& children,
                                               std::size_t argument) {
    std::vector<KinetoLayout> layouts;
    for (const KinetoEvent* child : children) {
      if (argument >= child->arguments.size() || child->arguments[argument].layouts.size() != 1 ||
          !et_schema::dtype_from_cpp_name(child->arguments[argument].type)) {
        return {};
      }
      layouts.push_back(child->arguments[argument].layouts[0]);
    }
    return layouts;
  }

  et_schema::Profile& profile_;
  const HostEvents& host_;
  et_schema::Arena arena_;
  et_schema::Losses& losses_;
  std::vector<KinetoLayout> gradients_;  ///< in the order of the backward pass
};

}  // namespace

void fill_lists(et_schema::Profile& profile, const HostEvents& host, et_schema::Arena arena,
                et_schema::Losses& losses) {
  ListFiller(profile, host, arena, losses).fill();
}

}  // namespace understudy::generator
