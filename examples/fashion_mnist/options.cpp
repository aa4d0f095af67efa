#include "halftone/examples/fashion_mnist/options.h"

#include <CLI/CLI.hpp>

Options parse_options(int argc, char** argv) {
  Options options;
  CLI::App app{"Trains a small model on Fashion-MNIST in four precisions and compares them."};
  app.option_defaults()->always_capture_default();
  app.add_option("--data", options.data, "folder with the four IDX files, plain or .gz");
  app.add_option("--model", options.model, "the model")->check(CLI::IsMember({"mlp", "cnn"}));
  app.add_option("--precision", options.precision, "the precision, or all of them in turn")
      ->check(CLI::IsMember({"all", "fp32", "bf16", "fp16", "fp16-master"}));
  app.add_option("--device", options.device, "where to train: cpu, cuda, cuda:1");
  app.add_option("--epochs", options.epochs, "passes over the training images")->check(CLI::Range(1, 1000));
  app.add_option("--batch-size", options.batch_size, "images per step")->check(CLI::Range(1, 60000));
  app.add_option("--lr", options.lr, "learning rate at the start; it falls to 0 along a cosine")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "seed of weights and shuffling");
  app.add_option("--limit", options.limit, "use only so many images of each set, 0 for all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--threads", options.threads, "threads, 0 for all; the result does not depend on it")
      ->check(CLI::Range(0, 1024));
  CLI::Option* checkpoint = app.add_option("--checkpoint", options.checkpoint,
                                           "file to save to after every epoch (with --precision)");
  CLI::Option* resume =
      app.add_option("--resume", options.resume, "checkpoint to go on from (with --precision)");
  app.add_option("--html", options.html, "page with the curves; empty for none");
  CLI::Option* trace = app.add_option(
      "--trace", options.trace,
      "page with what the first steps did (with --precision); .jsonl and .json give data instead");
  app.add_option("--trace-steps", options.trace_steps, "how many of them")
      ->check(CLI::Range(1, 10000))
      ->needs(trace);
  try {
    app.parse(argc, argv);
    if ((*checkpoint || *resume || *trace) && options.precision == "all") {
      throw CLI::ValidationError(
          "--checkpoint, --resume and --trace belong to one run: pick its --precision");
    }
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}
