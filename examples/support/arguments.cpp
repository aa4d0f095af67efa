#include "halftone/examples/support/arguments.h"

#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>

namespace ht = halftone;

Arguments parse_arguments(int argc, char** argv, const char* about, Arguments arguments) {
  const std::map<std::string, ht::Dtype> precisions = {
      {"fp32", ht::kFloat}, {"bf16", ht::kBFloat16}, {"fp16", ht::kHalf}};
  std::string precision = "fp32", device = "cpu";
  CLI::App app{about};
  app.option_defaults()->always_capture_default();
  app.add_option("--precision", precision, "type of matrix products")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  app.add_option("--device", device, "where to run: cpu, cuda, cuda:1");
  app.add_option("--seed", arguments.seed, "seed of weights and data");
  if (arguments.steps > 0) {
    app.add_option("--steps", arguments.steps, "training steps")->check(CLI::PositiveNumber);
  }
  if (arguments.batch_size > 0) {
    app.add_option("--batch-size", arguments.batch_size, "examples per step")->check(CLI::PositiveNumber);
  }
  if (arguments.lr > 0) app.add_option("--lr", arguments.lr, "learning rate")->check(CLI::PositiveNumber);
  if (!arguments.data.empty()) app.add_option("--data", arguments.data, "where the data is");
  if (arguments.figure) app.add_option("--figure", *arguments.figure, "an SVG file to draw");
  try {
    app.parse(argc, argv);
    arguments.precision = precisions.at(precision);
    arguments.device = ht::Device(device);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  } catch (const ht::Error& error) {
    std::fprintf(stderr, "--device: %s\n", error.what());
    std::exit(2);
  }
  ht::manual_seed(arguments.seed);
  std::printf("precision %s on %s\n", precision.c_str(), device.c_str());
  return arguments;
}
