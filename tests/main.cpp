// Catch2's main, compiled once and linked into every test executable. With HALFTONE_TEST_DEVICE=cuda in the
// environment tensors are made on the CUDA device unless a test says otherwise; a machine without one skips
// the tests (exit status 77).
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

#include "halftone/engine/cuda.h"
#include "halftone/engine/tensor_options.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const char* device = std::getenv("HALFTONE_TEST_DEVICE");
  if (device && std::string(device) != "cpu") {
    if (!halftone::cuda::is_available()) {
      std::cout << "skipped: " << halftone::cuda::why_unavailable() << "\n";
      return kSkipped;
    }
    halftone::set_default_device(halftone::Device(device));
  }
  return Catch::Session().run(argc, argv);
}
