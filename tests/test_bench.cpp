// The benchmark suite: what it declares, that it refuses wrong results, and what it writes. How long anything
// takes is not tested.

#include <sched.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "halftone/bench/suite/suite.h"
#include "halftone/tests/support/device.h"

using namespace halftone;
using namespace halftone::bench;
using Catch::Matchers::Contains;

namespace {

constexpr Precision kAll[] = {Precision::kFp32, Precision::kBf16, Precision::kFp16};

Device device() { return test::device_type(); }

/// Families whose smallest cases an emulated device runs in little time.
bool is_small(const Family& family) { return test::on_cpu() || std::string_view(family.name) != "step"; }

template <class F>
void for_each_smallest_case(F&& f) {
  for (const Family& family : families()) {
    if (!is_small(family)) continue;
    for (const Precision precision : kAll) {
      for (const Case& c : cases_of(family, family.smallest, {precision, device()})) f(c);
    }
  }
}

/// One family, as little as can be measured.
Options little() {
  Options options;
  options.families = {"cast"};
  options.shapes = {"64", "128"};
  options.quick = true;
  options.repetitions = 3;
  options.sample_ms = 0.01;
  return options;
}

/// A run of little(), made once, and what was seen of it.
struct LittleRun {
  int begun = 0, results = 0;
  bool moved = false;  ///< whether this thread may run elsewhere than before
  int threads_before = get_num_threads(), threads_after = 0;
  Report report;

  LittleRun() {
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof before, &before);
    report = run_suite(
        little(), [&](const Report&) { ++begun; }, [&](const Result&) { ++results; });
    sched_getaffinity(0, sizeof after, &after);
    moved = !CPU_EQUAL(&before, &after);
    threads_after = get_num_threads();
  }
};
const LittleRun& little_run() {
  static const LittleRun run;
  return run;
}
const Report& little_report() { return little_run().report; }

/// A case whose result is off by `error`, and which counts its runs.
Case planted(double error, int& runs) {
  Case c;
  c.family = "planted", c.name = "case", c.shape = "1";
  c.prepare = [=, &runs] {
    const Tensor right = ones({4}, TensorOptions(kFloat).device(kCPU));
    return Work{[&runs] { ++runs; }, [=] { return std::vector<Tensor>{right + error}; },
                [=] {
                  return std::vector<Reference>{{right.to(kDouble), {}}};
                }};
  };
  return c;
}

/// A result file with one case.
std::string file_with(const std::string& name, double median, double first, double third, double share = 0) {
  return nlohmann::json{{"benchmarks",
                         {{{"name", name},
                           {"real_time", median},
                           {"time_unit", "us"},
                           {"real_time_q1", first},
                           {"real_time_q3", third},
                           {"ceiling_%", share}}}}}
      .dump();
}

Verdict verdict(const std::string& before, const std::string& after) {
  const std::vector<Comparison> all = compare(before, after);
  REQUIRE(all.size() == 1);
  return all[0].verdict;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("every family has cases in every precision, and declares their work") {
  std::set<std::string> ids;
  for (const Family& family : families()) {
    for (const Precision precision : kAll) {
      const std::vector<Case> cases = cases_of(family, family.smallest, {precision, device()});
      INFO(family.name << " " << precision_name(precision));
      CHECK(!cases.empty());
      for (const Case& c : cases) {
        INFO(c.id());
        CHECK(ids.insert(c.id()).second);
        CHECK((c.bound != Bound::kArithmetic || c.flops > 0));
        CHECK((c.bound != Bound::kMemory || c.bytes() > 0));
      }
    }
    for (const std::vector<Shape>* shapes : {&family.shapes, &family.quick, &family.device}) {
      for (const Shape& shape : *shapes) CHECK(!cases_of(family, shape, {}).empty());
    }
  }
  const Family& gemm = find_family("gemm");
  CHECK(!cases_of(gemm, gemm.smallest, {Precision::kTf32, Device(kCUDA)}).empty());
}

TEST_CASE("a product declares its flops and bytes") {
  const Case c = cases_of(find_family("gemm"), {64, 32, 16}, {Precision::kBf16, Device(kCPU)})[0];
  CHECK(c.id() == "gemm/NN/64x32x16/bf16");
  CHECK(c.flops == 2 * 64 * 32 * 16);
  CHECK(c.bytes() == 2 * (64 * 32 + 32 * 16) + 4 * 64 * 16);
  CHECK(c.bound == Bound::kArithmetic);
}

TEST_CASE("every case is right on its smallest shape, and a wrong result is seen") {
  for_each_smallest_case([](const Case& c) {
    INFO(c.id());
    const Work work = c.prepare();
    const std::vector<Tensor> right = work.results();
    const std::vector<Reference> references = work.references();
    REQUIRE(!right.empty());
    REQUIRE(right.size() == references.size());
    for (std::size_t i = 0; i < right.size(); ++i) {
      CHECK(worst_error(right[i], references[i]) <= 1);
      const Tensor wrong = right[i].detach().to(kCPU).clone().contiguous();
      Tensor first = wrong.view({-1})[0];
      first.fill_(first.item<double>() * 3 + 7);
      CHECK(worst_error(wrong, references[i]) > 1);
      first.fill_(NAN);
      CHECK(worst_error(wrong, references[i]) > 1);
    }
  });
}

TEST_CASE("a check compares every result") {
  int runs = 0;
  Work work = planted(0, runs).prepare();
  CHECK(work.check() == 0);
  CHECK(planted(1e-3, runs).prepare().check() > 1);
  work.results = [] { return std::vector<Tensor>{}; };
  CHECK(work.check() > 1);
}

TEST_CASE("errors are counted in units of what is allowed") {
  const Tensor exact = full({2}, 2.0, TensorOptions(kDouble).device(kCPU));
  const double last = 1.01 * 0x1p-11 * 2, terms = 3 * 0x1p-24 * 2;  // of float16, and of a sum of one term
  const Tensor off = full({2}, 2 + 0x1p-9, TensorOptions(kHalf).device(kCPU));
  const double error = worst_error(off, {exact, {}, 1});
  CHECK(error == Approx(0x1p-9 / (last + terms)).epsilon(1e-3));
  CHECK(worst_error(exact.to(kHalf), {exact, {}}) == 0);
  CHECK(std::isinf(worst_error(full({3}, 2.0), {exact, {}})));
}

TEST_CASE("a wrong case is not timed, a right one is") {
  int wrong_runs = 0, right_runs = 0;
  Options options = little();
  const std::vector<Result> results =
      run_group({planted(1e-3, wrong_runs), planted(0, right_runs)}, {}, options);
  CHECK(wrong_runs == 0);
  CHECK(!results[0].is_right());
  CHECK(results[0].seconds == 0);
  CHECK_THAT(table_line(results[0]), Contains("WRONG") && Contains("not timed"));
  CHECK(right_runs > 0);
  CHECK(results[1].is_right());
  CHECK(results[1].samples == 3);
  CHECK(results[1].iterations > 0);
  Report report;
  report.results = results;
  CHECK(!report.all_right());
  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json["benchmarks"][0]["error_occurred"] == true);
  CHECK(!json["benchmarks"][1].contains("error_occurred"));
  CHECK_THAT(to_html(report), Contains("not timed"));
}

TEST_CASE("groups put the precisions of one operator and shape side by side") {
  const auto groups = chosen_cases(little());
  REQUIRE(groups.size() == 4);  // two operators, two shapes
  for (const std::vector<Case>& group : groups) {
    REQUIRE(group.size() == 3);
    CHECK(group[0].group() == group[2].group());
    CHECK(group[1].setting.precision == Precision::kBf16);
  }
  Options some = little();
  some.filter = "to_fp32/128";
  some.precisions = {"fp16"};
  const auto fewer = chosen_cases(some);
  REQUIRE(fewer.size() == 1);
  REQUIRE(fewer[0].size() == 1);
  CHECK(fewer[0][0].id() == "cast/to_fp32/128/fp16");
}

TEST_CASE("a run says what it measured, and puts threads and processors back") {
  const LittleRun& run = little_run();
  const Report& report = run.report;
  CHECK(!run.moved);
  CHECK(run.threads_after == run.threads_before);
  CHECK(run.begun == 1);
  CHECK(run.results == 12);  // two operators, two shapes, three precisions
  REQUIRE(report.results.size() == 12);
  for (const Result& r : report.results) {
    INFO(r.id());
    CHECK(r.seconds > 0);
    CHECK(r.first_quartile <= r.seconds);
    CHECK(r.seconds <= r.third_quartile);
    CHECK(r.limit > 0);
    CHECK(r.samples == 3);
    CHECK_THAT(table_line(r), Contains(r.group()) && Contains("GB/s"));
  }
  CHECK(report.ceilings.fp32 > 0);
  CHECK(report.ceilings.levels.size() == 3);
  CHECK_THAT(table_head(report),
             Contains("ceilings of this machine") && Contains("GFLOP/s") && Contains("L2"));
}

TEST_CASE("cold runs time single calls") {
  Options options = little();
  options.shapes = {"64"}, options.precisions = {"fp32"}, options.filter = "to_fp32", options.cold = true;
  options.repetitions = 1;
  const std::vector<Result> results = run_group(chosen_cases(options)[0], {}, options);
  REQUIRE(results.size() == 1);
  CHECK(results[0].seconds > 0);
  CHECK(results[0].limit > 0);
}

TEST_CASE("JSON has Google Benchmark's schema, and says again what was measured") {
  const Report& report = little_report();
  const auto json = nlohmann::json::parse(to_json(report));
  for (const char* key : {"date", "host_name", "executable", "num_cpus", "mhz_per_cpu", "cpu_scaling_enabled",
                          "caches", "load_avg", "library_build_type", "ceiling_flops_fp32"})
    CHECK(json["context"].contains(key));
  REQUIRE(json["benchmarks"].size() == report.results.size());
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const auto& entry = json["benchmarks"][i];
    const Result& r = report.results[i];
    CHECK(entry["name"] == r.id());
    CHECK(entry["run_name"] == r.id());
    CHECK(entry["run_type"] == "iteration");
    CHECK(entry["iterations"] == r.iterations);
    CHECK(entry["time_unit"] == "ns");
    CHECK(entry["real_time"].get<double>() == Approx(1e9 * r.seconds));
    CHECK(entry["cpu_time"].get<double>() == Approx(1e9 * r.cpu_seconds));
    CHECK(entry["bytes_per_second"].get<double>() == Approx(r.bytes / r.seconds));
    CHECK(entry["ceiling_%"].get<double>() == Approx(100 * r.limit / r.seconds));
    CHECK(!entry.contains("flops_per_second"));  // a conversion has none
  }
  // Against itself nothing has changed.
  for (const Comparison& c : compare(to_json(report), to_json(report))) {
    CHECK(c.verdict == Verdict::kSame);
    CHECK(c.ratio() == Approx(1));
  }
}

TEST_CASE("CSV has a head and one line per case") {
  const std::string csv = to_csv(little_report());
  CHECK(count(csv, "\n") == 1 + little_report().results.size());
  CHECK_THAT(csv, Catch::Matchers::StartsWith(
                      "family,name,shape,precision,threads,cold,iterations,samples,seconds,"));
  CHECK_THAT(csv, Contains("\ncast,from_fp32,64,bf16,1,0,"));
  const std::string head = csv.substr(0, csv.find('\n'));
  const std::string last = csv.substr(csv.rfind('\n', csv.size() - 2) + 1);
  CHECK(count(head, ",") == count(last, ","));
}

TEST_CASE("the page stands alone and has tables and plots") {
  Report report = little_report();
  Result product{"gemm", "NN", "8x8x8", "fp32"};
  product.seconds = product.first_quartile = product.third_quartile = 1e-6;
  product.flops = 1024, product.bytes = 768, product.bound = Bound::kArithmetic, product.samples = 3;
  report.results.push_back(product);
  const std::string page = to_html(report);
  CHECK_THAT(page, Catch::Matchers::StartsWith("<!doctype html>"));
  CHECK_THAT(page, Contains("prefers-color-scheme: dark") && Contains("width=device-width"));
  CHECK_THAT(page, !Contains("http:") && !Contains("https:") && !Contains("src=") && !Contains("<script"));
  CHECK_THAT(page, Contains("<h2>cast</h2>") && Contains("<h2>gemm</h2>"));
  CHECK_THAT(page, Contains("aria-label=\"from_fp32\"") && Contains("aria-label=\"time relative to fp32\"") &&
                       Contains("aria-label=\"roofline\""));
  // Throughput of two operators at two sizes in three precisions, and one point under the roofline.
  CHECK(count(page, "<circle") == 2 * 2 * 3 + 1);
  CHECK(count(page, "<svg") == 4);
  CHECK(count(page, "<svg") == count(page, "</svg>"));
}

TEST_CASE("comparisons take the spread into account") {
  const std::string base = file_with("a", 100, 98, 103);
  CHECK(verdict(base, file_with("a", 101, 99, 104)) == Verdict::kSame);   // within 2 %
  CHECK(verdict(base, file_with("a", 110, 102, 119)) == Verdict::kSame);  // the quartiles overlap
  CHECK(verdict(base, file_with("a", 110, 108, 112)) == Verdict::kSlower);
  CHECK(verdict(base, file_with("a", 90, 89, 92)) == Verdict::kFaster);
  CHECK(verdict(base, R"({"benchmarks": [{"name": "a", "real_time": 90, "time_unit": "us"}]})") ==
        Verdict::kUnclear);
  // The whole machine was slower in the second run; the case was, too, beyond that.
  CHECK(verdict(file_with("a", 100, 98, 103, 80), file_with("a", 150, 148, 152, 80)) == Verdict::kSame);
  CHECK(verdict(file_with("a", 100, 98, 103, 80), file_with("a", 150, 148, 152, 60)) == Verdict::kSlower);
  CHECK(verdict(file_with("a", 150, 148, 152, 60), file_with("a", 100, 98, 103, 80)) == Verdict::kFaster);
  const std::vector<Comparison> both = compare(base, file_with("b", 1, 1, 1));
  REQUIRE(both.size() == 2);
  CHECK(both[0].verdict == Verdict::kAdded);
  CHECK(both[1].verdict == Verdict::kRemoved);
  const std::string table = comparison_table(compare(base, file_with("a", 110, 108, 112)));
  CHECK_THAT(table, Contains("1.100") && Contains("slower") && Contains("1 slower"));
}

TEST_CASE("comparisons read repetitions of Google Benchmark") {
  const auto repeated = [](double first, double second, double third) {
    nlohmann::json entries = nlohmann::json::array();
    for (const double time : {first, second, third})
      entries.push_back({{"name", "a/repeats:3"},
                         {"run_name", "a"},
                         {"run_type", "iteration"},
                         {"real_time", time},
                         {"time_unit", "ms"}});
    entries.push_back({{"name", "a_mean"}, {"run_name", "a"}, {"run_type", "aggregate"}, {"real_time", 7}});
    return nlohmann::json{{"benchmarks", entries}}.dump();
  };
  const std::vector<Comparison> all = compare(repeated(1, 1.1, 1.2), repeated(2, 2.1, 2.2));
  REQUIRE(all.size() == 1);
  CHECK(all[0].before == Approx(1.1e-3));
  CHECK(all[0].verdict == Verdict::kSlower);
}

TEST_CASE("bad options are named") {
  const auto with = [](auto change) {
    Options options = little();
    change(options);
    return options;
  };
  const auto run = [](const Options& options) { run_suite(options, {}, {}); };
  CHECK_THROWS_WITH(run(with([](Options& o) { o.families = {"gem"}; })),
                    Contains("'gem'") && Contains("gemm, elementwise"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.precisions = {"fp8"}; })),
                    Contains("'fp8'") && Contains("bf16"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.precisions = {"tf32"}; })),
                    Contains("tf32") && Contains("CPU"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.shapes = {"8xx8"}; })),
                    Contains("'8xx8'") && Contains("128x784x512"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.shapes = {"0"}; })), Contains("positive"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.shapes = {"8x8"}; })),
                    Contains("cast") && Contains("elements"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.families = {"overhead"}; })), Contains("no sizes"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.filter = "nothing"; })), Contains("'nothing'"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.threads = 0; })), Contains("thread") && Contains("0"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.threads = 4096; })), Contains("cannot pin 4096"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.repetitions = -1; })), Contains("-1"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.sample_ms = -2; })), Contains("-2"));
  CHECK_THROWS_WITH(run(with([](Options& o) { o.device = "tpu"; })), Contains("tpu"));
  if (!cuda::is_available())
    CHECK_THROWS_WITH(run(with([](Options& o) { o.device = "cuda"; })), Contains("cannot measure 'cuda'"));
  CHECK_THROWS_WITH(compare("[]", "[]", "old.json"), Contains("old.json") && Contains("benchmarks"));
  CHECK_THROWS_WITH(compare(R"({"benchmarks": [{"name": 3}]})", "{}", "old.json"), Contains("old.json"));
}
