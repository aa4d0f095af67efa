// How fast an optimizer's step is over 10 tensors of 1,000,000 parameters, in GB/s and in percent of what
// this machine's memory gives to the same reads and writes, which is measured for every case. The first step
// is checked against fp64.
//
//   bench_optimizer [threads] [rule: SGD, AdamW, ...]
//
// Bytes per parameter are those the step cannot do without: gradient (fp32), weight or fp32 master, moments,
// the half weight or shadow it writes, and one more read of the gradient for the finite check of loss
// scaling. Loss scaling: "-" none; "built in" checks in a first pass and unscales inside the update;
// "unscale_" is GradScaler with an explicit unscale_(), which has to rewrite the gradients.
// The ceiling is measured before and after each case. On a shared host it moves by itself: a case above 100 %
// says that its neighbours were louder during both, and is to be run again.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "halftone/amp/grad_scaler.h"
#include "halftone/autograd/autograd.h"
#include "halftone/bench/support/measure.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/optim/optim.h"

namespace {

using namespace halftone;
using i64 = std::int64_t;

constexpr int kTensors = 10;
constexpr i64 kElements = 1'000'000;
constexpr double kLr = 1e-3, kDecay = 0.01, kEps = 1e-8;

enum class Rule { kSgd, kMomentum, kAdamW };
enum class Scaling { kNone, kBuiltIn, kUnscale };

struct Case {
  Rule rule;
  Dtype dtype;
  Scaling scaling = Scaling::kNone;
  bool shadow = false;
};

const char* name_of(Rule rule) {
  return rule == Rule::kAdamW ? "AdamW" : rule == Rule::kMomentum ? "SGD, momentum" : "SGD";
}

int moments_of(Rule rule) { return rule == Rule::kAdamW ? 2 : rule == Rule::kMomentum ? 1 : 0; }

std::vector<bench::Traffic> traffic_of(const Case& c) {
  constexpr i64 kCount = kTensors * kElements, kFp32 = 4 * kCount, kHalf16 = 2 * kCount;
  std::vector<bench::Traffic> passes;
  if (c.scaling == Scaling::kBuiltIn) passes.push_back({{kFp32}, {}, {}});
  if (c.scaling == Scaling::kUnscale) passes.push_back({{}, {kFp32}, {}});
  bench::Traffic step{{kFp32}, {}, {}};
  step.update.assign(static_cast<std::size_t>(1 + moments_of(c.rule)), kFp32);
  if (c.shadow || c.dtype != kFloat) step.write.push_back(kHalf16);
  passes.push_back(step);
  return passes;
}

/// What the first step makes of a weight, in fp64.
double updated(Rule rule, double weight, double gradient) {
  if (rule != Rule::kAdamW) return weight - kLr * gradient;
  return weight * (1 - kLr * kDecay) - kLr * gradient / (std::fabs(gradient) + kEps);
}

std::unique_ptr<optim::Optimizer> make(const Case& c, const std::vector<Tensor>& parameters) {
  std::unique_ptr<optim::Optimizer> optimizer;
  if (c.rule == Rule::kAdamW) {
    optimizer =
        std::make_unique<optim::AdamW>(parameters, optim::AdamWOptions(kLr).weight_decay(kDecay).eps(kEps));
  } else {
    const double momentum = c.rule == Rule::kMomentum ? 0.9 : 0;
    optimizer = std::make_unique<optim::SGD>(parameters, optim::SGDOptions(kLr).momentum(momentum));
  }
  if (c.shadow) optimizer->use_half_shadow(kBFloat16);
  // Scale 1 leaves the arithmetic what it is and the gradients in range, however often they are unscaled.
  if (c.scaling == Scaling::kBuiltIn) optimizer->use_loss_scaling(amp::LossScaling::fixed(1));
  return optimizer;
}

bool measure_case(const Case& c) {
  manual_seed(1);
  std::vector<Tensor> parameters, gradients, before;
  for (int i = 0; i < kTensors; ++i) {
    parameters.push_back(randn({kElements}).to(c.dtype).requires_grad_());
    gradients.push_back(randn({kElements}) * 1e-3);
    before.push_back(parameters.back().detach().to(kDouble));
  }
  const auto optimizer = make(c, parameters);
  for (int i = 0; i < kTensors; ++i)
    parameters[static_cast<std::size_t>(i)].mutable_grad() = gradients[static_cast<std::size_t>(i)];
  amp::GradScaler scaler(amp::LossScaling::fixed(1));
  const auto step = [&] {
    if (c.scaling != Scaling::kUnscale) {
      optimizer->step();
      return;
    }
    scaler.unscale_(*optimizer);
    scaler.step(*optimizer);
    scaler.update();
  };

  step();
  for (std::size_t t = 0; t < parameters.size(); ++t) {
    const Tensor after = parameters[t].detach().to(kDouble), gradient = gradients[t].to(kDouble);
    for (i64 i = 0; i < kElements; i += 997) {
      const double old = before[t].data_ptr<double>()[i];
      const double exact = updated(c.rule, old, gradient.data_ptr<double>()[i]);
      const double allowed = 1.01 * unit_roundoff(c.dtype) * std::fabs(exact) +
                             2e-7 * (std::fabs(old) + kLr) + (c.dtype == kHalf ? 0x1p-25 : 0);
      if (!(std::fabs(after.data_ptr<double>()[i] - exact) <= allowed)) {
        std::printf("%-14s %-9s WRONG: weight %ld of tensor %zu is %.9g, expected %.9g\n", name_of(c.rule),
                    dtype_name(c.dtype), long(i), t, after.data_ptr<double>()[i], exact);
        return false;
      }
    }
  }

  const std::vector<bench::Traffic> passes = traffic_of(c);
  const double earlier = bench::ceiling_seconds(passes);
  const bench::Timing t = bench::measure(step);
  const double limit = std::min(earlier, bench::ceiling_seconds(passes));
  const double bytes = static_cast<double>(bench::total_bytes(passes)), gb = 1e-9 * bytes;
  const char* scaling[] = {"-", "built in", "unscale_"};
  const std::string dtype = dtype_name(c.dtype) + std::string(c.shadow ? " + bf16" : "");
  std::printf("%-14s %-14s %-9s %6.0f %9.2f %9.1f %7.1f .. %-7.1f %9.1f %5.0f %%%s\n", name_of(c.rule),
              dtype.c_str(), scaling[static_cast<int>(c.scaling)], bytes / (kTensors * kElements),
              1e3 * t.median, gb / t.median, gb / t.high, gb / t.low, gb / limit, 100 * limit / t.median,
              t.quiet ? "" : "  (machine busy)");
  std::fflush(stdout);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_num_threads(std::max(1, std::atoi(argv[1])));
  std::printf("%s, %d thread(s), %d tensors of %ld parameters\n", cpu::isa_name(cpu::current_isa()),
              get_num_threads(), kTensors, long(kElements));
  std::printf(
      "optimizer      weights        scaling   B/param   ms/step      GB/s     low .. high       ceiling\n");
  const std::string only = argc > 2 ? argv[2] : "";
  bool right = true;
  for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdamW}) {
    if (!only.empty() && only != name_of(rule)) continue;
    for (const Dtype dtype : {kFloat, kBFloat16, kHalf}) {
      for (const Scaling scaling : {Scaling::kNone, Scaling::kBuiltIn, Scaling::kUnscale}) {
        right &= measure_case({rule, dtype, scaling});
      }
    }
  }
  if (only.empty() || only == name_of(Rule::kAdamW)) {
    right &= measure_case({Rule::kAdamW, kFloat, Scaling::kNone, /*shadow=*/true});
  }
  return right ? 0 : 1;
}
