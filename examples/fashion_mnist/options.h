#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What the command line asks for.
struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist";
  std::string model = "mlp";
  std::string precision = "all";
  std::string device = "cpu";
  std::int64_t epochs = 3;
  std::int64_t batch_size = 128;
  double lr = 1e-3;
  std::uint64_t seed = 0;
  std::int64_t limit = 0;  // 0: every image
  int threads = 0;         // 0: as many as the machine has
  std::string checkpoint;
  std::string resume;
  std::string html = "fashion_mnist.html";
  std::string trace;
  std::int64_t trace_steps = 10;
};

/// Reads the command line; prints help or what is wrong with it and ends the program where that is all there
/// is to do.
Options parse_options(int argc, char** argv);
