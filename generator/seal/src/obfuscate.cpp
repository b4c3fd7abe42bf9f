#include "generator/seal/obfuscate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "et_schema/base/overloaded.h"
#include "et_schema/base/version.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/bodies.h"
#include "et_schema/model/comm_traits.h"
#include "generator/flow/model_names.h"
#include "public_words.h"
#include "renumbering.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;
using et_schema::is_public_operator;

class Obfuscator {
 public:
  explicit Obfuscator(Bench bench) { result_.bench = std::move(bench); }

  Obfuscated run() {
    result_.bench.sources.clear();
    result_.bench.origins.clear();
    result_.bench.op_maps.clear();  // the operators in their rows are renamed
    result_.bench.tool_version = et_schema::kToolVersion;
    if (result_.bench.scaled) {
      result_.bench.scaled->groups.clear();
    }
    hide_groups();
    find_first_sequence();
    result_.bench.programs.edit_each([&](Program& program, std::size_t) { hide_program(program); });
    return std::move(result_);
  }

 private:
  /// Returns the same replacement for equal originals, numbered by first occurrence.
  std::string hide(const std::string& kind, const std::string& original,
                   std::string_view prefix = {}) {
    if (original.empty()) {
      return original;
    }
    std::map<std::string, std::string>& known = replacements_[kind];
    const auto [entry, is_new] = known.try_emplace(original);
    if (is_new) {
      entry->second = fmt::format("{}{}", prefix.empty() ? kind : prefix, known.size());
      result_.map[kind][entry->second] = original;
    }
    return entry->second;
  }

  void hide_sentence(std::string& text) {
    text = is_public_sentence(text) ? text : hide("sentence", text);
  }

  void hide_groups() {
    for (std::size_t id = 0; id < result_.bench.groups.size(); ++id) {
      et_schema::ProcessGroup& group = result_.bench.groups[id];
      group.name = id == 0 ? "world" : hide("group", group.name);
      group.description = hide("description", group.description);
      group.backend =
          is_public_backend(group.backend) ? group.backend : hide("backend", group.backend);
    }
  }

  void find_first_sequence() {
    for (const Program& program : result_.bench.programs) {
      for_each_instruction(program.instructions, [this](const Instruction& instruction) {
        if (instruction.comm && instruction.comm->seq) {
          first_sequence_ = std::min(first_sequence_, *instruction.comm->seq);
        }
      });
    }
  }

  void hide_program(Program& program) {
    Renumbering<std::uint64_t> nodes;
    Renumbering<std::uint64_t> threads;
    Renumbering<std::int64_t> streams;
    for_each_instruction(program.instructions, [&](Instruction& instruction) {
      nodes.see(instruction.node_id);
      threads.see(instruction.thread);
      if (instruction.timing || instruction.launched) {
        streams.see(et_schema::recorded_stream(instruction).value_or(0));
      }
    });
    nodes.close();
    threads.close();
    for_each_wait_stream(program, [&](std::int64_t stream) { streams.see(stream); });
    streams.close();
    for_each_wait_stream(program, [&](std::int64_t& stream) { stream = streams.of(stream); });
    for (const Instruction& instruction : program.instructions) {
      const bool is_hidden =
          instruction.kind == InstructionKind::kOp && !is_public_operator(instruction.name);
      result_.hidden_operators += is_hidden ? 1U : 0U;
      result_.without_body += is_hidden && instruction.body.empty() ? 1U : 0U;
    }
    std::map<std::string, et_schema::Counters> counters;  // by hidden names
    for_each_instruction(program.instructions, [&](Instruction& instruction) {
      instruction.node_id = nodes.of(instruction.node_id);
      instruction.thread = threads.of(instruction.thread);
      if (instruction.launched && instruction.launched->stream) {
        instruction.launched->stream = streams.of(*instruction.launched->stream);
      }
      if (instruction.timing) {
        std::optional<std::int64_t>& stream = instruction.timing->stream;
        stream = stream ? std::optional(streams.of(*stream)) : std::nullopt;
        for (et_schema::KernelClassTime& time : instruction.timing->kernel_classes) {
          hide_sentence(time.kernel_class);
        }
      }
      auto row = program.profile ? program.profile->operator_counters.extract(instruction.name)
                                 : decltype(counters)::node_type();
      hide_instruction(program, instruction);
      if (row) {
        row.key() = instruction.name;
        counters.insert(std::move(row));
      }
    });
    for (et_schema::CompiledKernel& kernel : program.kernels) {
      kernel.name = hide("kernel", kernel.name);
    }
    for (std::string& schema : program.schemas) {
      schema = hide_schema(schema);
    }
    hide_values(program);
    hide_selection(program.selection);
    if (program.profile) {
      counters.insert(program.profile->operator_counters.extract(""));
      program.profile->operator_counters = std::move(counters);
      keep_known(program.profile->counters);
      for (auto& [name, of_operator] : program.profile->operator_counters) {
        keep_known(of_operator);
      }
      hide_profile(*program.profile);
    }
  }

  template <typename Visitor>
  static void for_each_wait_stream(Program& program, Visitor&& visit) {
    if (program.profile) {
      for (et_schema::StreamWait& wait : program.profile->stream_waits) {
        if (wait.stream) {
          visit(*wait.stream);
        }
        visit(wait.for_stream);
      }
    }
  }

  static bool has_machine_code(const Program& program, const Instruction& instruction) {
    const auto launch = et_schema::launch_of(instruction);
    return launch && std::ranges::find(program.kernels, launch->key,
                                       &et_schema::CompiledKernel::key) != program.kernels.end();
  }

  void hide_instruction(const Program& program, Instruction& instruction) {
    const bool is_operator = instruction.kind == InstructionKind::kOp;
    const bool is_kernel = instruction.kind == InstructionKind::kKernel;
    const bool has_code = is_kernel && has_machine_code(program, instruction);
    if (is_operator && is_public_operator(instruction.name)) {
      hide_numbers(program, instruction);
    } else if (is_operator || (is_kernel && !has_code)) {
      clear_numbers(instruction.args);  // no replay calls it, so its numbers are not needed
    }
    clear_numbers(instruction.results);  // they are computed at run time
    switch (instruction.kind) {
      case InstructionKind::kOp:
        instruction.name = hide_operator(instruction.name);
        break;
      case InstructionKind::kNative:
        instruction.name =
            is_public_label(instruction.name) ? instruction.name : hide("label", instruction.name);
        break;
      case InstructionKind::kKernel:
        instruction.name = hide("kernel", instruction.name);
        break;
      case InstructionKind::kMarker:
        instruction.name = hide("marker", instruction.name);
        break;
      case InstructionKind::kAlias:
      case InstructionKind::kCollective:
      case InstructionKind::kP2p:
      case InstructionKind::kWait:
        if (!is_public_sentence(instruction.name) && !et_schema::find_c10d_name(instruction.name)) {
          instruction.name = instruction.comm ? to_string(instruction.comm->kind) : "as_strided";
        }
        break;
    }
    const std::size_t equation = equation_of(program, instruction);
    for (std::size_t i = 0; i < instruction.args.size(); ++i) {
      auto* text = std::get_if<std::string>(&instruction.args[i].value);
      if (i == equation && text != nullptr && rename_letters(*text)) {
        continue;
      }
      // A kernel's roles precede its last argument: the name of its file, or its launch.
      if (!(has_code && i + 1 == instruction.args.size())) {
        hide_argument(instruction.args[i], is_kernel && i + 2 == instruction.args.size());
      }
    }
    for (Argument& argument : instruction.results) {
      hide_argument(argument, false);
    }
    if (instruction.comm) {
      hide_communication(*instruction.comm);
    }
  }

  void hide_communication(et_schema::CommInfo& comm) {
    comm.seq = comm.seq ? std::optional(*comm.seq - first_sequence_) : std::nullopt;
    comm.reduce_op = et_schema::parse_reduction(comm.reduce_op) ? comm.reduce_op : "sum";
    hide_sentence(comm.reduce_op_why);
    hide_sentence(comm.why);
  }

  std::string hide_operator(const std::string& name) {
    return is_public_operator(name) ? name : hide("operator", name, "private::op");
  }

  std::string hide_schema(const std::string& schema) {
    const std::string name(et_schema::operator_name(schema));
    return is_public_operator(name) ? schema : hidden_schema(schema, hide_operator(name));
  }

  void clear_numbers(std::vector<Argument>& arguments) {
    for (Argument& argument : arguments) {
      if (auto* list = std::get_if<Argument::List>(&argument.value)) {
        clear_numbers(*list);
      } else if (auto* number = std::get_if<double>(&argument.value)) {
        clear(*number, 0.0);
      } else if (auto* integer = std::get_if<std::int64_t>(&argument.value)) {
        clear(*integer, std::int64_t{0});
      }
    }
  }

  template <typename Number>
  void clear(Number& number, Number by) {
    result_.cleared_numbers += number == by ? 0U : 1U;
    number = by;
  }

  void hide_numbers(const Program& program, Instruction& instruction) {
    const std::vector<std::string_view> names =
        instruction.schema ? et_schema::argument_names(program.schemas[*instruction.schema])
                           : std::vector<std::string_view>();
    for (std::size_t i = 0; i < instruction.args.size(); ++i) {
      const std::string_view name = i < names.size() ? names[i] : std::string_view();
      auto* integer = std::get_if<std::int64_t>(&instruction.args[i].value);
      const bool is_seed = name.find("seed") != std::string_view::npos;
      if (integer != nullptr && (is_seed || name == "iter")) {
        // An optimizer's step count must be at least 1, or its bias corrections divide by zero.
        clear(*integer, std::int64_t{is_seed ? 0 : 1});
      }
      if (!tells_size(instruction.name, name)) {
        round_numbers(instruction.args[i]);
      }
    }
  }

  /// Returns the position of an argument of structure, whose letters a public operator reads as
  /// dimensions (einsum); the number of arguments if there is none.
  static std::size_t equation_of(const Program& program, const Instruction& instruction) {
    const bool can_be = instruction.schema && is_public_operator(instruction.name);
    const int at =
        can_be ? et_schema::argument_index(program.schemas[*instruction.schema], "equation") : -1;
    return at < 0 ? instruction.args.size() : static_cast<std::size_t>(at);
  }

  void round_numbers(Argument& argument) {
    if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      for (Argument& item : *list) {
        round_numbers(item);
      }
    } else if (auto* number = std::get_if<double>(&argument.value)) {
      *number = round_number(*number);
    }
  }

  void hide_argument(Argument& argument, bool is_roles) {
    if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      for (Argument& item : *list) {
        hide_argument(item, false);
      }
    } else if (auto* text = std::get_if<std::string>(&argument.value)) {
      const bool is_open =
          is_roles ? text->find_first_not_of("rw- ") == std::string::npos : is_public_text(*text);
      *text = is_open ? *text : hide("text", *text);
    } else if (auto* opaque = std::get_if<Argument::Opaque>(&argument.value)) {
      opaque->tag = is_public_tag(opaque->tag) ? opaque->tag : "Object";
    }
  }

  double round_number(double value) {
    const double by = rounded(value);
    const bool is_same = by == value || (std::isnan(by) && std::isnan(value));
    result_.rounded_numbers += is_same ? 0U : 1U;
    return by;
  }

  void round_numbers(et_schema::ValueRule& rule) {
    using et_schema::ValueRule;
    const auto round = [this](double& number) { number = round_number(number); };
    const et_schema::Overloaded round_all = {
        [](ValueRule::Zeros&) {},
        [&](ValueRule::Constant& constant) { round(constant.value); },
        [&](ValueRule::Uniform& uniform) {
          round(uniform.low);
          round(uniform.high);
        },
        [&](ValueRule::Normal& normal) {
          round(normal.mean);
          round(normal.deviation);
        },
        [](ValueRule::Integers&) {},
        [](ValueRule::Offsets&) {},
        [](ValueRule::Lengths&) {},
        [](ValueRule::Arange&) {},
        [&](ValueRule::Bernoulli& bernoulli) { round(bernoulli.probability); },
        [](ValueRule::Mask&) {},
        [&](ValueRule::Targets& targets) { round(targets.ignored_share); },
        [](ValueRule::ReusedIntegers&) {},
        [&](ValueRule::Dominant& matrices) { round(matrices.diagonal); }};
    std::visit(round_all, rule.kind);
  }

  void hide_values(Program& program) {
    for (et_schema::Storage& storage : program.storages) {
      storage.zeros = round_number(storage.zeros);
    }
    for (et_schema::Slot& slot : program.slots) {
      if (slot.value) {
        hide_rule(*slot.value, et_schema::is_integral(slot.dtype));
      }
      if (slot.content) {
        for (et_schema::ValueRule& rule : slot.content->indices) {
          hide_rule(rule, true);
        }
      }
    }
  }

  /// Rounds real numbers; keeps integers, which may be indices. `why` is a sentence, or an
  /// operator's argument ("aten::embedding.indices"): then only the operator is kept.
  void hide_rule(et_schema::ValueRule& rule, bool is_integral) {
    const auto* constant = rule.as<et_schema::ValueRule::Constant>();
    if (!is_integral || constant == nullptr) {
      round_numbers(rule);
    }
    const std::string op(et_schema::without_overload(rule.why));
    if (!is_public_sentence(rule.why)) {
      rule.why = is_public_operator(op) ? op : "an operator";
    }
  }

  void hide_selection(et_schema::Selection& selection) {
    if (!selection.step.empty() && selection.step != "all") {
      selection.step = "a step";
    }
    for (std::string& filter : selection.filters) {
      const std::string option = filter.substr(0, filter.find(' '));
      filter = is_public_sentence(option) ? option : hide("text", option);
    }
    for (et_schema::Opened& opened : selection.opened) {
      hide_sentence(opened.reason);
      opened.name = hide_operator(opened.name);
    }
  }

  /// Removes counters whose names are not this project's.
  static void keep_known(et_schema::Counters& counters) {
    std::erase_if(counters, [](const auto& row) {
      return std::ranges::find(et_schema::counter_facts(), row.first,
                               &et_schema::CounterFact::name) == et_schema::counter_facts().end();
    });
  }

  void hide_profile(et_schema::RecordedProfile& profile) {
    profile.file = "profile";
    profile.graph_run = profile.graph_run.empty() ? "" : "graph run";
    profile.bytes = 0;
    profile.content_hash = 0;
    profile.device = {};
    profile.variables.clear();
    profile.kernel_settings.clear();
    hide_sentence(profile.observer_source);
    for (et_schema::LostDeviceEvents& lost : profile.lost) {
      hide_sentence(lost.reason);
      lost.name = hide("kernel", lost.name);
    }
    for (et_schema::OutsideTime& row : profile.outside) {
      for (et_schema::KernelClassTime& time : row.kernel_classes) {
        hide_sentence(time.kernel_class);
      }
      row.name =
          row.why == et_schema::Outside::kLabel ? hide("label", row.name) : hide_operator(row.name);
    }
  }

  Obfuscated result_;
  std::map<std::string, std::map<std::string, std::string>> replacements_;  ///< kind → original → …
  std::int64_t first_sequence_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

Obfuscated obfuscate(Bench bench) {
  return Obfuscator(std::move(bench)).run();
}

std::string to_json(const ObfuscationMap& map) {
  nlohmann::ordered_json names = nlohmann::ordered_json::object();
  for (const auto& [kind, replacements] : map) {
    for (const auto& [replacement, original] : replacements) {
      names[kind][replacement] = original;
    }
  }
  const nlohmann::ordered_json document = {
      {"format", "understudy-names"}, {"version", 1}, {"names", std::move(names)}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace understudy::generator
