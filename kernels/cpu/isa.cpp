#include "halftone/kernels/cpu/isa.h"

#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cmath>
#include <string_view>

#include "halftone/engine/environment.h"
#include "halftone/engine/error.h"

namespace halftone::cpu {

namespace {

constexpr Isa kAll[kIsaCount] = {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx};

bool has_f16c() {  // __builtin_cpu_supports of older clang does not know the name
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1u << 29)) != 0;
}

/// Asks Linux for the tile registers, which a process has to do once before their first use.
bool request_tiles() {
#if defined(__linux__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool has_amx() {  // CPUID leaf 7; __builtin_cpu_supports of older compilers does not know the names
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & kBf16) == 0 || (edx & kTile) == 0)
    return false;
  static const bool granted = request_tiles();
  return granted;
}

bool has(Isa isa) {
  __builtin_cpu_init();
  switch (isa) {
    case Isa::kBaseline:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    case Isa::kAvx512:
      return has(Isa::kAvx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case Isa::kAvx512Bf16:
      return has(Isa::kAvx512) && __builtin_cpu_supports("avx512bf16");
    case Isa::kAmx:
      return has(Isa::kAvx512Bf16) && has_amx();
  }
  return false;
}

void require(Isa isa) {
  if (has(isa)) return;
  fail("HALFTONE_ISA", "this processor has no ", std::string_view(isa_name(isa)), "; its highest level is ",
       std::string_view(isa_name(highest_isa())));
}

Isa choose() {
  const char* forced = kIsaVariable.value();
  if (forced == nullptr || *forced == '\0') return highest_isa();
  for (const Isa isa : kAll) {
    if (std::string_view(isa_name(isa)) == forced) {
      require(isa);
      return isa;
    }
  }
  fail("HALFTONE_ISA", "expected baseline, avx2, avx512, avx512_bf16 or amx, got '", std::string_view(forced),
       "'");
}

std::atomic<Isa>& current() {
  static std::atomic<Isa> isa{choose()};  // a throw leaves it to the next caller to try again
  return isa;
}

}  // namespace

Isa current_isa() { return current().load(std::memory_order_relaxed); }

Isa highest_isa() {
  Isa highest = Isa::kBaseline;
  for (const Isa isa : kAll) {
    if (has(isa)) highest = isa;
  }
  return highest;
}

void set_isa_for_testing(Isa isa) {
  require(isa);
  current().store(isa, std::memory_order_relaxed);
}

const char* isa_name(Isa isa) {
  constexpr const char* names[kIsaCount] = {"baseline", "avx2", "avx512", "avx512_bf16", "amx"};
  return names[static_cast<int>(isa)];
}

}  // namespace halftone::cpu
