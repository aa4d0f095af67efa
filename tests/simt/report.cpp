#include "halftone/tests/simt/report.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "halftone/tests/simt/control.h"

namespace simt {
namespace {

struct Reports {
  std::mutex mutex;
  std::vector<std::string> texts;
  bool overlooked = false;  // a bug was reported and nobody asked
};

/// Lives until the process ends: other static objects may still use the device.
Reports& reports() {
  static auto* const all = new Reports;
  return *all;
}

/// Bugs that a program swallowed, such as a failed launch whose error nobody asked for, are failures all the
/// same.
void fail_if_overlooked() {
  if (!reports().overlooked) return;
  std::fflush(nullptr);
  _exit(control::kOverlookedReportExit);
}

void keep(const std::string& text, bool is_bug) {
  std::fprintf(stderr, "simt: %s\n", text.c_str());
  Reports& all = reports();
  const std::lock_guard lock(all.mutex);
  all.texts.push_back(text);
  if (!is_bug) return;
  all.overlooked = true;
  static const int registered = std::atexit(fail_if_overlooked);
  static_cast<void>(registered);
}

}  // namespace

void report(const std::string& text) { keep(text, true); }
void note(const std::string& text) { keep(text, false); }

std::string format(const char* pattern, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof(text), pattern, arguments);
  va_end(arguments);
  return text;
}

namespace control {

std::string last_report() {
  Reports& all = reports();
  const std::lock_guard lock(all.mutex);
  all.overlooked = false;
  return all.texts.empty() ? std::string() : all.texts.back();
}

std::vector<std::string> take_reports() {
  Reports& all = reports();
  const std::lock_guard lock(all.mutex);
  all.overlooked = false;
  std::vector<std::string> taken;
  taken.swap(all.texts);
  return taken;
}

}  // namespace control
}  // namespace simt
