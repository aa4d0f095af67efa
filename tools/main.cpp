// `halftone`: a look inside the library, a trace, a file of weights.

#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "halftone/tools/commands.h"

namespace {

constexpr int kFailed = 1, kUsage = 2;

constexpr const char* kAbout = "Looks into halftone, into what it recorded, and into files of weights.";
constexpr const char* kExitCodes =
    "Exit status: 0 when done, 1 when the work failed (an unreadable or damaged file, a full device), "
    "2 when the command line makes no sense.";

int run(int argc, char** argv) {
  CLI::App app{kAbout, "halftone"};
  app.set_version_flag("--version", "halftone " HALFTONE_VERSION);
  app.require_subcommand(1);
  app.footer(kExitCodes);
  halftone::tool::add_ops(app);
  halftone::tool::add_info(app);
  halftone::tool::add_trace(app);
  halftone::tool::add_inspect(app);
  halftone::tool::add_bench(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;  // 0: --help and --version
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int status = kFailed;
  try {
    status = run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "halftone: %s\n", error.what());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fprintf(stderr, "halftone: cannot write the output\n");
    status = kFailed;
  }
  return status;
}
