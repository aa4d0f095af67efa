// halftone trace: a recorded trace as tables or as a page, and two of them side by side.

#include <fstream>
#include <iterator>
#include <memory>

#include <CLI/CLI.hpp>

#include "halftone/amp/trace.h"
#include "halftone/io/state_file.h"
#include "halftone/tools/commands.h"
#include "halftone/tools/trace_compare.h"

namespace halftone::tool {
namespace {

struct Options {
  std::string report, other, html, chrome;
  std::size_t top = 30;
};

amp::TraceLog read_report(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("trace", "cannot open ", path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  amp::TraceLog log;
  io::naming_source(path, [&] { log = amp::parse_trace_json_lines(text); });
  return log;
}

void run(const Options& options) {
  const amp::TraceLog log = read_report(options.report);
  const std::size_t rows = options.top == 0 ? static_cast<std::size_t>(-1) : options.top;
  if (options.other.empty()) {
    std::fputs(trace_table(log, rows).c_str(), stdout);
  } else {
    std::printf("before: %s\nafter:  %s\n\n%s", options.report.c_str(), options.other.c_str(),
                trace_comparison(log, read_report(options.other), rows).c_str());
  }
  if (!options.html.empty()) amp::write_text_file(options.html, trace_html(log, options.report));
  if (!options.chrome.empty()) amp::write_text_file(options.chrome, trace_chrome_json(log));
}

}  // namespace

void add_trace(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("trace", "Reads what amp::Trace::write_json_lines wrote.");
  const auto options = std::make_shared<Options>();
  command.add_option("report", options->report, "The trace: JSON lines")->required();
  command.add_option("other", options->other, "Another one, to be compared with the first");
  command.add_option("--top", options->top, "Rows of the operators' table; 0: all")->capture_default_str();
  command.add_option("--html", options->html, "Writes the first trace as a page to this file");
  command.add_option("--chrome", options->chrome, "Writes it as trace events, for ui.perfetto.dev");
  command.callback([options] { run(*options); });
}

}  // namespace halftone::tool
