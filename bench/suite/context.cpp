#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "halftone/bench/suite/report.h"
#include "halftone/engine/cuda.h"
#include "halftone/kernels/cpu/isa.h"

namespace halftone::bench {
namespace {

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

/// What stands behind a name in /proc/cpuinfo.
std::string processor_field(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with(name) && colon != line.npos) return line.substr(colon + 2);
  }
  return "";
}

/// "48K", "2048K", "300M" as the kernel writes them.
std::int64_t size_from(const std::string& text) {
  const std::int64_t number = std::atoll(text.c_str());
  return text.ends_with('K') ? number << 10 : text.ends_with('M') ? number << 20 : number;
}

/// Processors in a list such as "0-1,4".
int count_processors(const std::string& list) {
  int count = 0;
  for (const char* at = list.c_str(); *at;) {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10);
    if (end == at) break;
    const long last = *end == '-' ? std::strtol(end + 1, &end, 10) : first;
    count += static_cast<int>(last - first + 1);
    at = *end == ',' ? end + 1 : end;
  }
  return count;
}

std::vector<Context::Cache> caches() {
  std::vector<Context::Cache> all;
  for (int i = 0;; ++i) {
    const std::string folder = concat("/sys/devices/system/cpu/cpu0/cache/index", i, "/");
    if (!std::filesystem::exists(folder)) return all;
    all.push_back({first_line(folder + "type"), std::atoi(first_line(folder + "level").c_str()),
                   std::max(1, count_processors(first_line(folder + "shared_cpu_list"))),
                   size_from(first_line(folder + "size"))});
  }
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &parts);
  return text;
}

}  // namespace

Context make_context(Device device, int threads, bool pinned, bool cold) {
  Context c;
  c.date = date_now();
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  c.host = host;
  std::error_code ignored;
  c.executable = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  c.processor = processor_field("model name");
  c.isa = cpu::isa_name(cpu::current_isa());
#ifdef NDEBUG
  c.build = "release";
#else
  c.build = "debug";
#endif
  c.processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  c.mhz = static_cast<int>(std::atof(processor_field("cpu MHz").c_str()));
  const std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  c.scaling = !governor.empty() && governor != "performance";
  c.threads = threads, c.pinned = pinned, c.cold = cold;
  c.device = device.is_cuda() ? cuda::device_name(device.index()) : device.str();
  c.load.resize(3);
  c.load.resize(static_cast<std::size_t>(std::max(0, getloadavg(c.load.data(), 3))));
  c.caches = caches();
  return c;
}

bool Report::all_right() const {
  for (const Result& result : results) {
    if (!result.is_right()) return false;
  }
  return true;
}

}  // namespace halftone::bench
