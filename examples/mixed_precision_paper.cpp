// "Mixed Precision Training" (Micikevicius et al. 2018, arXiv 1710.03740) in miniature: five small models,
// each in fp32, in fp16 without and with loss scaling, in bf16, and with fp16 weights that have no fp32
// master; and how large the gradients of each are.

#include <array>
#include <cstdio>

#include "halftone/examples/mixed_precision_paper/histogram.h"
#include "halftone/examples/mixed_precision_paper/tasks.h"
#include "halftone/examples/support/arguments.h"

namespace ht = halftone;

namespace {

enum ModeIndex { kFp32, kUnscaled, kScaled, kBf16, kNoMaster, kModeCount };

constexpr Mode kModes[kModeCount] = {
    {"fp32", ht::kFloat, false, false},        {"fp16 unscaled", ht::kHalf, false, false},
    {"fp16 scaled", ht::kHalf, true, false},   {"bf16", ht::kBFloat16, false, false},
    {"fp16 no master", ht::kHalf, true, true},
};

using Row = std::array<double, kModeCount>;

/// How much worse than fp32, in shares of fp32's own figure; negative: better.
double loss_of(const Task& task, const Row& row, ModeIndex mode) {
  return (task.higher_is_better ? row[kFp32] - row[mode] : row[mode] - row[kFp32]) / row[kFp32];
}

bool check(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "holds" : "DOES NOT HOLD", what);
  return holds;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse_arguments(argc, argv, "Compares ways to train in half precision.",
                                              {.data = "/usr/share/datasets/fashion-mnist", .figure = ""});
  std::vector<GradientHistogram> histograms;
  bool as_good = true, needs_scaling = false, needs_master = false;
  std::printf("%-30s", "");
  for (const Mode& mode : kModes) std::printf("%16s", mode.name);
  std::printf("\n");
  for (const Task& task : make_tasks(arguments.data, HALFTONE_EXAMPLE_TEXT)) {
    std::printf("%-14s %-15s", task.name, task.metric);
    Row row{};
    for (int mode = 0; mode < kModeCount; ++mode) {
      ht::manual_seed(arguments.seed);
      Mode how = kModes[mode];
      if (mode == kFp32) how.gradients = &histograms.emplace_back(GradientHistogram{task.name, {}}).counts;
      row[mode] = task.run(how);
      std::printf("%16.4f", row[mode]);
      std::fflush(stdout);
    }
    std::printf("\n");
    as_good = as_good && loss_of(task, row, kScaled) < 0.02 && loss_of(task, row, kBf16) < 0.02;
    needs_scaling = needs_scaling || loss_of(task, row, kUnscaled) > 0.5;
    needs_master = needs_master || loss_of(task, row, kNoMaster) > 0.2;
  }
  print_histograms(histograms);
  if (!arguments.figure->empty()) draw_histograms(*arguments.figure, histograms);
  const bool all =
      check(as_good,
            "fp16 with loss scaling and masters, and bf16, are as good as fp32 (2 %) on every model") &
      check(needs_scaling, "without loss scaling fp16 fails on a model") &
      check(needs_master, "without fp32 masters fp16 fails on a model");
  return all ? 0 : 1;
}
