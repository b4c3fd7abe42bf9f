#include "synthetic.h"

#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <stdexcept>

#include "et_schema/model/measurement.h"
#include "fleet/comparer/statistics.h"

namespace understudy::comparer {
namespace {

struct SyntheticOperator {
  const char* name;
  const char* op_class;
  double ms;
};

constexpr std::array kStep = {
    SyntheticOperator{"aten::addmm", "matmul", 20},
    SyntheticOperator{"aten::mm", "matmul", 40},
    SyntheticOperator{"aten::_fused_adam_", "optimizer", 25},
    SyntheticOperator{"aten::relu", "elementwise", 2},
    SyntheticOperator{"aten::threshold_backward", "elementwise", 2.5},
    SyntheticOperator{"aten::mul_", "elementwise", 0.5},
    SyntheticOperator{"aten::sum", "reduction", 1.5},
    SyntheticOperator{"aten::_log_softmax", "softmax", 0.8},
    SyntheticOperator{"aten::copy_", "copy", 4},
    SyntheticOperator{"aten::nll_loss_forward", "loss", 0.02},
    SyntheticOperator{"aten::t", "view", 0.05},
    SyntheticOperator{"aten::empty", "allocation", 0.1},
};

/// Numbers that are the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) { engine_.discard(16); }
  double uniform() { return (static_cast<double>(engine_() >> 11U) + 0.5) / 9007199254740992.0; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace

Run make_run(const SyntheticRun& synthetic) {
  const SyntheticNoise& noise = synthetic.noise;
  Random random(synthetic.seed);
  Random of_night(synthetic.night);
  Random& state = synthetic.night == 0 ? random : of_night;
  const double machine = noise.machine_spread * state.normal();
  std::vector<double> drift(synthetic.iterations);
  const double unseen =
      noise.unseen_spread > 0 ? noise.unseen_spread * state.normal() : 0;  // else the same numbers
  double at = random.normal();
  for (double& value : drift) {
    at = noise.drift_memory * at +
         std::sqrt(1 - noise.drift_memory * noise.drift_memory) * random.normal();
    value = machine + noise.drift_spread * at;
  }
  Run run;
  run.file = "synthetic";
  std::map<std::string, Series> classes;
  std::map<std::string, double> class_effects;
  Series iteration{RowKind::kIteration, "", "", 0, std::vector<double>(drift.size(), 0.0)};
  for (const SyntheticOperator& op : kStep) {
    Series row{RowKind::kOperator, op.name, op.op_class, 1, {}};
    if (!class_effects.contains(op.op_class)) {
      class_effects[op.op_class] = noise.process_spread * random.normal();
    }
    // A small operator's memory matters more: a microsecond is a larger part of it.
    const double small = 0.02 / op.ms * random.normal() * noise.process_spread * 10;
    const double effect =
        unseen + class_effects[op.op_class] + noise.process_spread * random.normal() + small;
    Series& sum = classes[op.op_class];
    sum.kind = RowKind::kClass;
    sum.name = op.op_class;
    sum.count += 1;
    sum.samples_ms.resize(drift.size(), 0.0);
    for (std::size_t i = 0; i < drift.size(); ++i) {
      double ms = op.ms * std::exp(effect + drift[i] + noise.sample_spread * random.normal());
      if (random.uniform() < noise.interruptions) {
        ms *= 1 + random.uniform();
      }
      const bool is_slow =
          synthetic.slow_class == kWholeStep || op.op_class == synthetic.slow_class;
      ms *= is_slow ? synthetic.slowdown : 1;
      row.samples_ms.push_back(ms);
      sum.samples_ms[i] += ms;
      iteration.samples_ms[i] += ms;
    }
    run.rows.push_back(std::move(row));
  }
  for (auto& [name, row] : classes) {
    run.rows.push_back(std::move(row));
  }
  if (noise.has_speed_probe) {
    Series speed_probe{RowKind::kSpeedProbe, "", "", 0, {}};
    for (const double level : drift) {
      constexpr double kSpeedProbeMs = 0.1;
      speed_probe.samples_ms.push_back(kSpeedProbeMs *
                                       std::exp(level + noise.sample_spread * random.normal()));
    }
    iteration.speed_probe_ms = speed_probe.samples_ms;
    run.rows.push_back(std::move(speed_probe));
  }
  run.rows.push_back(std::move(iteration));
  return run;
}

et_schema::Report make_report(const SyntheticRun& synthetic) {
  et_schema::Report report;
  report.world_size = 1;
  et_schema::RunFigures& total = report.total;
  for (const Series& row : make_run(synthetic).rows) {
    if (row.kind == RowKind::kOperator) {
      total.operators.push_back({.name = row.name,
                                 .op_class = row.detail,
                                 .count = row.count,
                                 .ms = *et_schema::median(row.samples_ms),
                                 .samples_ms = row.samples_ms});
    } else if (row.kind == RowKind::kIteration) {
      total.iteration_ms = et_schema::iteration_stats(row.samples_ms);
      total.iteration_speed_probe_samples_ms = row.speed_probe_ms;
      total.speed_probe_samples_ms = row.speed_probe_ms;
    }
  }
  return report;
}

const Row& row_of(const Comparison& comparison, RowKind kind, const std::string& name) {
  for (const Row& row : comparison.rows) {
    if (row.kind == kind && row.name == name) {
      return row;
    }
  }
  throw std::out_of_range("no row " + name);
}

int verdicts(const Comparison& comparison) {
  int count = 0;
  for (const Row& row : comparison.rows) {
    count += row.verdict == Verdict::kFaster || row.verdict == Verdict::kSlower ? 1 : 0;
  }
  return count;
}

}  // namespace understudy::comparer
