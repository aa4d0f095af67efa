// Illegal accesses: what touched which memory, as far as the address tells, and then the end of the process.

#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "halftone/tests/simt/control.h"
#include "halftone/tests/simt/device_memory.h"
#include "halftone/tests/simt/engine.h"
#include "halftone/tests/simt/runtime.h"

namespace simt {
namespace {

struct sigaction previous_segv;
struct sigaction previous_bus;

/// The handler's own stack: the one in use may be the cause.
class SignalStack {
 public:
  SignalStack() {
    memory_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) std::abort();
  }
  ~SignalStack() {
    stack_t present{};
    if (sigaltstack(nullptr, &present) == 0 && present.ss_sp == memory_) {
      present.ss_flags = SS_DISABLE;
      sigaltstack(&present, nullptr);
    }
    munmap(memory_, kBytes);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

  /// Unless somebody else, such as a test framework or a sanitizer, provides one.
  void offer() const {
    stack_t present{};
    sigaltstack(nullptr, &present);
    if ((present.ss_flags & SS_DISABLE) == 0) return;
    stack_t own{};
    own.ss_sp = memory_;
    own.ss_size = kBytes;
    sigaltstack(&own, nullptr);
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{64} << 10;
  void* memory_ = nullptr;
};

/// Who touched the address.
void describe_culprit(char* text, std::size_t size) {
  if (const Engine* engine = Engine::running()) {
    std::snprintf(text, size, "%s", engine->describe_thread().c_str());
  } else {
    std::snprintf(text, size, "%s", OperationScope::is_active() ? "an operation of the device" : "HOST code");
  }
}

[[noreturn]] void die(const char* text) {
  const std::size_t length = std::strlen(text);
  if (write(STDERR_FILENO, text, length) < 0) _exit(control::kIllegalAccessExit + 1);
  if (Engine::running() == nullptr) {
    void* frames[48];
    backtrace_symbols_fd(frames, backtrace(frames, 48), STDERR_FILENO);
  }
  _exit(control::kIllegalAccessExit);
}

[[noreturn]] void explain_device_access(const void* address, const char* culprit) {
  char text[2048];
  const Allocation* allocation = DeviceMemory::instance().find(address);
  if (allocation == nullptr) {
    std::snprintf(text, sizeof(text), "simt: %s touched device address %p, which was never allocated\n",
                  culprit, address);
  } else {
    const long offset = static_cast<const char*>(address) - allocation->data;
    const char* what = "within";
    if (offset < 0) what = "before its start";
    if (offset >= static_cast<long>(allocation->bytes)) what = "behind its end";
    if (allocation->freed) what = "FREED";
    std::snprintf(text, sizeof(text),
                  "simt: %s touched device address %p: allocation #%llu of %zu bytes, offset %ld (%s)\n",
                  culprit, address, static_cast<unsigned long long>(allocation->number), allocation->bytes,
                  offset, what);
  }
  die(text);
}

void handle_fault(int signal, siginfo_t* info, void*) {
  const void* address = info->si_addr;
  if (DeviceMemory::instance().is_device_address(address)) {
    if (OperationScope::is_active() && DeviceMemory::instance().open_at(address)) return;
    char culprit[1024];
    describe_culprit(culprit, sizeof(culprit));
    explain_device_access(address, culprit);
  }
  if (const Engine* engine = Engine::running()) {
    char culprit[1024];
    describe_culprit(culprit, sizeof(culprit));
    char text[2048];
    const char* what = "touched memory that is not the device's";
    if (engine->is_stack_overflow(address)) what = "used more stack than a kernel has here";
    if (engine->is_shared_overflow(address))
      what = "touched memory behind the dynamic shared memory of its block";
    std::snprintf(text, sizeof(text), "simt: %s %s (address %p)\n", culprit, what, address);
    die(text);
  }
  // Not ours: as it would have been without us, when the instruction is tried again.
  sigaction(signal, signal == SIGSEGV ? &previous_segv : &previous_bus, nullptr);
}

}  // namespace

void install_fault_handler() {
  static thread_local const SignalStack stack;
  struct sigaction present {};
  sigaction(SIGSEGV, nullptr, &present);
  // Test frameworks put handlers of their own in front and take them away again, with whatever came in
  // between.
  if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == handle_fault) return;
  stack.offer();
  struct sigaction action {};
  action.sa_sigaction = handle_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}

}  // namespace simt
