#include "halftone/tests/simt/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "halftone/tests/simt/sanitizer.h"

// The switch saves the registers that calls preserve and exchanges stack pointers. It ends in an ordinary
// return: most fibers wait at the same place of the code, so that the processor's own stack of return
// addresses is right.
#if HALFTONE_SIMT_SWITCH && defined(__x86_64__)
asm(R"(
  .text
  .globl simt_switch
  .type simt_switch, @function
simt_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
  .size simt_switch, .-simt_switch
)");
#elif HALFTONE_SIMT_SWITCH
asm(R"(
  .text
  .globl simt_switch
  .type simt_switch, %function
simt_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size simt_switch, .-simt_switch
)");
#endif

namespace simt {
namespace {

constexpr std::size_t kGuardBytes = 4096;
/// For ThreadSanitizer: the engine says what orders threads; a switch as such orders nothing.
constexpr unsigned kNoSync = 1;

thread_local Fiber* running = nullptr;
/// The fiber that was left for the running one.
thread_local Fiber* left = nullptr;

}  // namespace

Fiber::Fiber() {
  if (sanitizer::is_thread_sanitizer()) tsan_ = __tsan_get_current_fiber();
}

Fiber::Fiber(void (*entry)()) : entry_(entry), stack_bytes_(kStackBytes) {
  if (sanitizer::is_address_sanitizer() || sanitizer::is_thread_sanitizer()) stack_bytes_ *= 4;
  mapping_ = mmap(nullptr, kGuardBytes + stack_bytes_, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED || mprotect(mapping_, kGuardBytes, PROT_NONE) != 0) std::abort();
  stack_bottom_ = static_cast<char*>(mapping_) + kGuardBytes;
  // Stacks that begin at the same place of their pages would compete for the same lines of the cache.
  static thread_local std::size_t colors = 0;
  color_ = colors++ % 16 * 256;
  if (sanitizer::is_thread_sanitizer()) tsan_ = __tsan_create_fiber(0);
  prepare();
}

Fiber::~Fiber() {
  if (mapping_ == nullptr) return;
  if (sanitizer::is_thread_sanitizer()) __tsan_destroy_fiber(tsan_);
  sanitizer::unpoison(stack_bottom_, stack_bytes_);
  munmap(mapping_, kGuardBytes + stack_bytes_);
}

bool Fiber::is_in_guard(const void* address) const {
  const auto* byte = static_cast<const char*>(address);
  const auto* guard = static_cast<const char*>(mapping_);
  return mapping_ != nullptr && byte >= guard && byte < guard + kGuardBytes;
}

void Fiber::reset() {
  sanitizer::unpoison(stack_bottom_, stack_bytes_);
  fake_stack_ = nullptr;
  if (sanitizer::is_thread_sanitizer()) {
    // What the fiber did was before what the host does from now on: coming from there with synchronisation
    // says so.
    void* const host = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_, kNoSync);
    __tsan_switch_to_fiber(host, 0);
    __tsan_destroy_fiber(tsan_);
    tsan_ = __tsan_create_fiber(0);
  }
  prepare();
}

void Fiber::switch_annotated(Fiber& next) {
  left = this;
  running = &next;
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(&fake_stack_, next.stack_bottom_, next.stack_bytes_);
  }
  if (__tsan_switch_to_fiber != nullptr) __tsan_switch_to_fiber(next.tsan_, kNoSync);
  transfer_to(next);
  arrive();
}

void Fiber::arrive() {
  if (__sanitizer_finish_switch_fiber == nullptr) return;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(running->fake_stack_, &bottom, &bytes);
  if (left->mapping_ != nullptr) return;
  left->stack_bottom_ = bottom;
  left->stack_bytes_ = bytes;
}

void Fiber::begin() {
  arrive();
  running->entry_();
}

#if HALFTONE_SIMT_SWITCH

void Fiber::prepare() {
  void (*const first)() = sanitizer::kIsActive ? &Fiber::begin : entry_;
  auto* top = reinterpret_cast<void**>(const_cast<char*>(static_cast<const char*>(stack_bottom_)) +
                                       stack_bytes_ - color_);
#if defined(__x86_64__)
  // Where a return address would be, then the entry, then the six registers. The stack is then aligned as at
  // the entry of a function.
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(first);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
#else
  top -= 20;
  std::memset(top, 0, 160);
  top[11] = reinterpret_cast<void*>(first);  // x30
#endif
  stack_pointer_ = top;
}

#else

void Fiber::prepare() {
  void (*const first)() = sanitizer::kIsActive ? &Fiber::begin : entry_;
  getcontext(&context_);
  context_.uc_stack.ss_sp = const_cast<void*>(stack_bottom_);
  context_.uc_stack.ss_size = stack_bytes_;
  context_.uc_link = nullptr;
  makecontext(&context_, first, 0);
}

#endif

}  // namespace simt
