// halftone bench: the benchmark suite (bench/suite) from the command line.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "halftone/bench/suite/suite.h"
#include "halftone/tools/commands.h"

namespace halftone::tool {
namespace {

struct BenchOptions {
  bench::Options run;
  std::vector<std::string> compared;
  std::string csv, json, html;
  bool no_pin = false, list = false;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("bench", "cannot read '", path, "'");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Opened before anything is measured, so that a wrong path is known at once.
class OutputFile {
 public:
  explicit OutputFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    file_.open(path_, std::ios::binary);
    if (!file_) fail("bench", "cannot write '", path_, "'");
  }
  bool wanted() const { return !path_.empty(); }
  void write(const std::string& text) {
    file_ << text;
    file_.flush();
    if (!file_) fail("bench", "writing '", path_, "' failed");
  }

 private:
  std::string path_;
  std::ofstream file_;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void list_families() {
  for (const bench::Family& family : bench::families()) {
    std::printf("%-12s %s\n", family.name, family.doc);
    if (!*family.axes) continue;
    std::printf("%-12s shapes %s:", "", family.axes);
    for (const bench::Shape& shape : family.shapes) std::printf(" %s", bench::shape_text(shape).c_str());
    std::printf("\n");
  }
}

void run_bench(const BenchOptions& options) {
  if (options.list) return list_families();
  if (!options.compared.empty()) {
    const std::string &before = options.compared[0], &after = options.compared[1];
    print(bench::comparison_table(bench::compare(read_file(before), read_file(after), before, after)));
    return;
  }
  bench::Options run = options.run;
  run.pin = !options.no_pin;
  bench::chosen_cases(run);  // throws on wrong options, before files are opened
  OutputFile csv(options.csv), json(options.json), html(options.html);
  const bench::Report report = bench::run_suite(
      run, [](const bench::Report& begun) { print(bench::table_head(begun)); },
      [](const bench::Result& result) { print(bench::table_line(result)); });
  if (csv.wanted()) csv.write(bench::to_csv(report));
  if (json.wanted()) json.write(bench::to_json(report));
  if (html.wanted()) html.write(bench::to_html(report));
  if (!report.all_right()) fail("bench", "a result was wrong and was not timed; see above");
}

}  // namespace

void add_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  bench::Options& run = options->run;
  CLI::App* command = app.add_subcommand("bench", "Measures operators beside this machine's own ceilings");
  command->add_option("FAMILY", run.families, "gemm, elementwise, ...; all without one (see --list)");
  command->add_flag("--list", options->list, "Print the families and their shapes");
  command->add_option("--dtype", run.precisions, "fp32,bf16,fp16; on a CUDA device tf32 too")->delimiter(',');
  command->add_option("--shape", run.shapes, "Sizes instead of the family's own, e.g. 512x512x512,64x64x64")
      ->delimiter(',');
  command->add_option("--filter", run.filter, "Only cases whose family/name/shape contains this");
  command->add_option("--device", run.device, "cpu, cuda or cuda:N")->capture_default_str();
  command->add_option("--threads", run.threads, "Threads that kernels may use")->capture_default_str();
  command->add_flag("--no-pin", options->no_pin, "Leave threads free to move between processors");
  command->add_flag("--cold", run.cold, "Every call with its operands out of the caches");
  command->add_flag("--quick", run.quick, "Few shapes, few and short samples: a first impression");
  command->add_option("--repetitions", run.repetitions, "Samples of every case (11; --quick 5)")
      ->check(CLI::PositiveNumber);
  command->add_option("--sample-ms", run.sample_ms, "Least length of a sample (3; --quick 1)")
      ->check(CLI::PositiveNumber);
  command->add_option("--csv", options->csv, "Write the results as CSV to this file");
  command->add_option("--json", options->json, "... in Google Benchmark's JSON schema");
  command->add_option("--html", options->html, "... as a page with plots");
  command
      ->add_option("--compare", options->compared, "Two JSON files, the older one first: ratios and verdicts")
      ->expected(2);
  command->footer(
      "Every result is checked against float64 before it is timed; docs/bench.md says how to read the "
      "numbers.\n"
      "The same shapes beside libtorch, oneDNN, OpenBLAS and Eigen: scripts/bench (the target "
      "bench_report).");
  command->callback([options] { run_bench(*options); });
}

}  // namespace halftone::tool
