#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "halftone/engine/error.h"
#include "halftone/kernels/cpu/convert.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/tests/support/kernel_tensors.h"

using namespace halftone;
using namespace halftone::testing;

namespace {

/// What `current_isa` gives in a fresh process with HALFTONE_ISA = value: its name, or the error text. The
/// tests themselves have read the variable already, so a copy of this program is run, see the hidden test
/// below.
std::string isa_of_process(const char* value) {
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  REQUIRE(length > 0);
  program[length] = '\0';
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    setenv("HALFTONE_ISA", value, 1);
    dup2(pipe_ends[1], 1);
    execl(program, program, "print current isa", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(pipe_ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got; (got = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(pipe_ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

}  // namespace

TEST_CASE("print current isa", "[.]") {
  std::string text;
  try {
    text = cpu::isa_name(cpu::current_isa());
  } catch (const Error& error) {
    text = error.what();
  }
  text = "<" + text + ">";
  REQUIRE(write(1, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

TEST_CASE("HALFTONE_ISA forces a lower level and refuses what it cannot give", "[isa]") {
  REQUIRE(isa_of_process("").find("<" + std::string(cpu::isa_name(cpu::highest_isa())) + ">") !=
          std::string::npos);
  for (int i = 0; i < cpu::kIsaCount; ++i) {
    const cpu::Isa isa = static_cast<cpu::Isa>(i);
    const std::string text = isa_of_process(cpu::isa_name(isa));
    INFO(text);
    if (isa <= cpu::highest_isa()) {
      REQUIRE(text.find("<" + std::string(cpu::isa_name(isa)) + ">") != std::string::npos);
    } else {
      REQUIRE(text.find("this processor has no") != std::string::npos);
    }
  }
  REQUIRE(isa_of_process("sse9").find("expected baseline, avx2, avx512, avx512_bf16 or amx, got 'sse9'") !=
          std::string::npos);
}

TEST_CASE("set_isa_for_testing chooses the version that pick gives", "[isa]") {
  int versions[] = {0, 1, 2, 3, 4};
  for (const cpu::Isa isa : isa_levels()) {
    const IsaGuard guard(isa);
    REQUIRE(cpu::current_isa() == isa);
    REQUIRE(*cpu::pick(&versions[0], &versions[1], &versions[2], &versions[3], &versions[4]) ==
            static_cast<int>(isa));
  }
}

TEST_CASE("16-bit loads and stores agree with Half and BFloat16 bit for bit on every ISA", "[isa]") {
  std::vector<float> floats;
  for (std::uint64_t u = 0; u < 0x100000000u; u += 10007) {
    floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(u)));
  }
  for (std::uint32_t u = 0; u < 0x10000; ++u) {  // exact values, ties and what lies beside them
    for (const std::uint32_t low : {0x0u, 0x1u, 0x1000u, 0x7fffu, 0x8000u, 0x8001u}) {
      floats.push_back(std::bit_cast<float>((u << 16) | low));
    }
    floats.push_back(Half::from_bits(static_cast<std::uint16_t>(u)));
  }
  const std::int64_t n = static_cast<std::int64_t>(floats.size());
  for (const cpu::Isa isa : isa_levels()) {
    const IsaGuard guard(isa);
    INFO(cpu::isa_name(isa));
    for (const std::int64_t stride : {1, 3}) {
      const auto check = [&]<class T>(T) {
        std::vector<T> narrow(static_cast<std::size_t>(n * stride), T(0.0f));
        cpu::storer<float>(dtype_of<T>)(narrow.data(), stride, floats.data(), n);
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          wrong += narrow[static_cast<std::size_t>(i * stride)].bits !=
                   T(floats[static_cast<std::size_t>(i)]).bits;
        }
        REQUIRE(wrong == 0);
        std::vector<T> all(0x10000u * static_cast<std::size_t>(stride));
        for (std::uint32_t u = 0; u < 0x10000; ++u) {
          all[u * static_cast<std::size_t>(stride)] = T::from_bits(static_cast<std::uint16_t>(u));
        }
        std::vector<float> wide(0x10000);
        cpu::loader<float>(dtype_of<T>)(wide.data(), all.data(), stride, 0x10000);
        for (std::uint32_t u = 0; u < 0x10000; ++u) {
          const float expected = T::from_bits(static_cast<std::uint16_t>(u));
          wrong += std::bit_cast<std::uint32_t>(wide[u]) != std::bit_cast<std::uint32_t>(expected);
        }
        REQUIRE(wrong == 0);
      };
      check(Half(0.0f));
      check(BFloat16(0.0f));
    }
  }
}
