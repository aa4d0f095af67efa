#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <halftone/halftone.h>

/// What every example takes on its command line. The values given to parse_arguments() are the defaults; an
/// option whose default is empty or 0 does not exist for that example.
struct Arguments {
  halftone::Dtype precision = halftone::kFloat;  // --precision fp32|bf16|fp16: of matrix products
  halftone::Device device = halftone::kCPU;      // --device cpu|cuda|cuda:1
  std::int64_t steps = 0;                        // --steps
  std::int64_t batch_size = 0;                   // --batch-size
  double lr = 0;                                 // --lr
  std::uint64_t seed = 0;                        // --seed
  std::string data = {};                         // --data FILE or FOLDER
  std::optional<std::string> figure = {};  // --figure FILE, where the default is set; "": none is wanted

  /// fp16 gradients need their loss scaled; those of bf16 and fp32 do not.
  bool needs_loss_scaling() const { return precision == halftone::kHalf; }
};

/// Reads the command line, seeds the generator and prints the precision. Prints help or what is wrong and
/// ends the program where that is all there is to do.
Arguments parse_arguments(int argc, char** argv, const char* about, Arguments defaults);
