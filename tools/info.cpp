// halftone info: the library, this machine, and what the one finds on the other.

#include <fstream>
#include <memory>
#include <thread>

#include <zlib.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "halftone/amp/autocast.h"
#include "halftone/amp/trace_text.h"
#include "halftone/engine/cuda.h"
#include "halftone/engine/environment.h"
#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/isa.h"
#include "halftone/ops/registry.h"
#include "halftone/tools/commands.h"

namespace halftone::tool {
namespace {

struct Section {
  const char* name;
  std::vector<std::pair<std::string, std::string>> facts;
};

/// The first line of a file that begins with `key`, behind the colon; empty where there is none.
std::string fact_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t value = line.find_first_not_of(" \t:", line.find(':'));
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return {};
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return concat("g++ ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
#endif
}

Section library() {
  return {"library",
          {{"version", HALFTONE_VERSION},
           {"compiler", compiler()},
           {"build type", HALFTONE_BUILD_TYPE},
           {"operators", std::to_string(registry().size())}}};
}

/// Which kernels run, or why the choice of the user's cannot be followed.
std::string isa_in_use() {
  try {
    return cpu::isa_name(cpu::current_isa());
  } catch (const Error& error) {
    return error.what();
  }
}

Section processor() {
  const std::string model = fact_of("/proc/cpuinfo", "model name");
  return {"processor",
          {{"model", model.empty() ? "unknown" : model},
           {"highest level", cpu::isa_name(cpu::highest_isa())},
           {"level in use", isa_in_use()},
           {"processors", std::to_string(std::thread::hardware_concurrency())},
           {"threads", std::to_string(get_num_threads())}}};
}

Section cuda_devices() {
  Section section{"CUDA", {{"backend", HALFTONE_WITH_CUDA ? "compiled in" : "not compiled in"}}};
  const std::string driver = fact_of("/proc/driver/nvidia/version", "NVRM version");
  section.facts.emplace_back("driver", driver.empty() ? "none loaded" : driver);
  const std::string reason = cuda::why_unavailable();
  section.facts.emplace_back(
      "devices", reason.empty() ? std::to_string(cuda::device_count()) : concat("none: ", reason));
  for (std::size_t i = 0; i < cuda::device_count(); ++i) {
    section.facts.emplace_back(concat("cuda:", i), cuda::device_name(static_cast<int>(i)));
  }
  section.facts.emplace_back("emulated device",
                             HALFTONE_EMULATED_CUDA ? "in this build's tests" : "not built");
  return section;
}

Section parts() {
  return {"optional parts",
          {{"MPI", HALFTONE_WITH_MPI ? "halftone::mpi is built" : "not built"},
           {"zlib", zlibVersion()},
           {"shared library", HALFTONE_SHARED ? "yes" : "no"}}};
}

Section autocast() {
  return {"autocast dtype unless one is given",
          {{"cpu", dtype_name(amp::get_autocast_dtype(kCPU))},
           {"cuda", dtype_name(amp::get_autocast_dtype(kCUDA))}}};
}

Section environment() {
  Section section{"environment", {}};
  for (const EnvironmentVariable& variable : kEnvironmentVariables) {
    const char* value = variable.value();
    section.facts.emplace_back(variable.name,
                               value ? concat("'", value, "'") : concat("not set: ", variable.effect));
  }
  return section;
}

void print_text(const std::vector<Section>& sections) {
  for (const Section& section : sections) {
    std::vector<std::vector<std::string>> rows = {{section.name}};
    for (const auto& [key, value] : section.facts) rows.push_back({"  " + key, value});
    rows.front().resize(2);
    std::fputs(amp::aligned(rows).c_str(), stdout);
  }
}

void print_json(const std::vector<Section>& sections) {
  nlohmann::json all = nlohmann::json::object();
  for (const Section& section : sections) {
    for (const auto& [key, value] : section.facts) all[section.name][key] = value;
  }
  std::puts(all.dump(2).c_str());
}

}  // namespace

void add_info(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("info", "This machine, and what is compiled in.");
  const auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "A JSON object");
  command.callback([json] {
    const std::vector<Section> sections = {library(), processor(), cuda_devices(),
                                           parts(),   autocast(),  environment()};
    *json ? print_json(sections) : print_text(sections);
  });
}

}  // namespace halftone::tool
