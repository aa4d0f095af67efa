// The program `halftone`, run on good and on bad input.

#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "halftone/halftone.h"
#include "halftone/tests/support/files.h"

using namespace halftone;
using nlohmann::json;
using test::TempFolder;

namespace {

struct Outcome {
  int status;
  std::string out, err;
};

/// Runs `halftone ARGUMENTS` in a shell.
Outcome halftone_program(const std::string& arguments, const std::string& environment = "") {
  const TempFolder folder;
  const std::string out = folder.file("out"), err = folder.file("err");
  const std::string command = environment + " '" HALFTONE_PROGRAM "' " + arguments + " >" + out + " 2>" + err;
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  return {WEXITSTATUS(status), test::read_bytes(out), test::read_bytes(err)};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The line that begins with `start`.
std::string line_of(const std::string& text, const std::string& start) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind(start, 0) == 0) return line;
  }
  return {};
}

const json& named(const json& list, const std::string& name) {
  for (const json& entry : list) {
    if (entry.at("name") == name) return entry;
  }
  FAIL("no " << name);
  throw;
}

/// Two steps of a small model in fp16, the second with a loss that overflows, as a report in `path`.
void write_trace(const std::string& path, Dtype dtype) {
  manual_seed(3);
  nn::Sequential model(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4));
  const Tensor x = rand({32, 8}), y = randint(4, {32});
  optim::SGD optimizer(model->named_parameters(), optim::SGDOptions(0.1));
  if (dtype == kHalf) optimizer.use_loss_scaling();
  amp::Trace trace;
  trace.watch(model->named_parameters());
  for (int step = 0; step < 2; ++step) {
    optimizer.zero_grad();
    Tensor loss;
    {
      const amp::Autocast autocast(kCPU, dtype);
      loss = nn::functional::cross_entropy(model->forward(step == 1 && dtype == kHalf ? x * 1e6 : x), y);
    }
    optimizer.backward(loss);
    optimizer.step();
  }
  trace.stop();
  trace.write_json_lines(path);
}

}  // namespace

TEST_CASE("the program says how it is used, and which version it is") {
  const Outcome help = halftone_program("--help");
  CHECK(help.status == 0);
  for (const char* part : {"ops", "info", "trace", "inspect", "Exit status"}) CHECK(contains(help.out, part));
  CHECK(contains(halftone_program("--version").out, "halftone "));
  for (const char* wrong :
       {"", "nonsense", "ops --policy half", "ops --family nowhere", "trace", "info extra"}) {
    INFO(wrong);
    const Outcome outcome = halftone_program(wrong);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK_FALSE(outcome.err.empty());
  }
}

TEST_CASE("output that cannot be written is an error") {
  CHECK(WEXITSTATUS(std::system("'" HALFTONE_PROGRAM "' ops >/dev/full 2>/dev/null")) == 1);
}

TEST_CASE("ops prints the registry") {
  const json all = json::parse(halftone_program("ops --json").out);
  REQUIRE(all.size() == registry().size());
  for (const ops::OpInfo* op : registry()) {
    const json& row = named(all, op->name);
    INFO(op->name);
    CHECK(row.at("policy") == amp::precision_name(op->precision));
    CHECK(row.at("args") == op->args);
    CHECK(row.at("doc") == op->doc);
    CHECK(row.at("differentiable") == op->differentiable);
    CHECK_FALSE(row.at("family").get<std::string>().empty());
  }
  CHECK(named(all, "softmax").at("family") == "softmax");

  const Outcome table = halftone_program("ops");
  CHECK(lines(table.out) == registry().size() + 2);  // a heading and the count
  CHECK(contains(line_of(table.out, "softmax("), " fp32 "));
}

TEST_CASE("ops filters by name, policy and family") {
  for (const json& row : json::parse(halftone_program("ops --json --policy low --family matmul").out)) {
    CHECK(row.at("policy") == "low");
    CHECK(row.at("family") == "matmul");
  }
  CHECK(json::parse(halftone_program("ops --json 'log_softma?'").out).size() == 1);
  for (const json& row : json::parse(halftone_program("ops --json softmax").out)) {
    CHECK(contains(row.at("name"), "softmax"));
  }
  CHECK(json::parse(halftone_program("ops --json no_such_operator").out).empty());
  const Outcome none = halftone_program("ops no_such_operator");
  CHECK(none.status == 1);
  CHECK(contains(none.err, "no operator fits"));
}

TEST_CASE("info tells what is here") {
  const json info =
      json::parse(halftone_program("info --json", "HALFTONE_ISA=baseline OMP_NUM_THREADS=3").out);
  CHECK(info.at("processor").at("level in use") == "baseline");
  CHECK(info.at("processor").at("threads") == "3");
  CHECK(info.at("library").at("operators") == std::to_string(registry().size()));
  CHECK(info.at("environment").at("OMP_NUM_THREADS") == "'3'");
  CHECK(contains(info.at("environment").at("HALFTONE_CUDA_CACHING"), "not set: "));
  CHECK(info.at("autocast dtype unless one is given").at("cpu") == "bfloat16");
  const std::string devices = info.at("CUDA").at("devices");
  CHECK(contains(devices, "none: ") == !cuda::is_available());

  const Outcome text = halftone_program("info", "HALFTONE_ISA=6502");
  CHECK(text.status == 0);  // what the variable cannot do is told, and the rest with it
  CHECK(contains(line_of(text.out, "  level in use"), "6502"));
}

TEST_CASE("the library reads no environment variable but those that info names") {
  namespace fs = std::filesystem;
  std::size_t files = 0;
  for (const char* layer :
       {"engine", "kernels", "ops", "autograd", "amp", "optim", "nn", "data", "io", "distributed"}) {
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(fs::path(HALFTONE_SOURCE_DIR) / layer)) {
      if (!entry.is_regular_file() || entry.path().filename() == "environment.h") continue;
      ++files;
      INFO(entry.path());
      CHECK_FALSE(contains(test::read_bytes(entry.path().string()), "getenv"));
    }
  }
  CHECK(files > 100);
}

TEST_CASE("trace prints, converts and compares reports") {
  const TempFolder folder;
  const std::string half = folder.file("half.jsonl"), full = folder.file("full.jsonl");
  write_trace(half, kHalf);
  write_trace(full, kFloat);

  const Outcome table = halftone_program("trace " + half);
  CHECK(table.status == 0);
  for (const char* part : {"operators by time", "casts that autocast inserted", "fresh float32 -> float16",
                           "step 1: skipped, scale 65536 -> 32768 (backoff)", "first infinite or NaN"}) {
    INFO(part);
    CHECK(contains(table.out, part));
  }
  CHECK(contains(halftone_program("trace --top 1 " + half).out, "more rows"));

  const Outcome both = halftone_program("trace --top 0 " + full + " " + half);
  CHECK(both.status == 0);
  CHECK(line_of(both.out, "skipped ").find(" 1") != std::string::npos);
  CHECK(contains(both.out, "linear, forward\n  before: float32 float32 float32 -> float32\n"));
  CHECK(contains(both.out, "before: none\nafter:  1"));

  const std::string page = folder.file("page.html"), events = folder.file("events.json");
  CHECK(halftone_program("trace " + half + " --html " + page + " --chrome " + events).status == 0);
  CHECK(contains(test::read_bytes(page), "<html"));
  CHECK(json::parse(test::read_bytes(events)).at("traceEvents").size() > 10);
}

TEST_CASE("trace refuses what is no report") {
  const TempFolder folder;
  const std::string good = folder.file("good.jsonl"), bad = folder.file("bad.jsonl");
  write_trace(good, kFloat);
  const std::string text = test::read_bytes(good);
  for (const std::string& broken :
       {std::string(), std::string("not json\n"), text.substr(0, text.size() / 2),
        text + "{\"type\": \"unheard of\"}\n", std::string("{\"type\": \"trace\", \"version\": 99}\n")}) {
    test::write_bytes(bad, broken);
    const Outcome outcome = halftone_program("trace " + bad);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.err, bad));
  }
  CHECK(halftone_program("trace " + folder.file("nowhere")).status == 1);
  CHECK(halftone_program("trace " + good + " --html /no/such/folder/page.html").status == 1);
}

TEST_CASE("inspect measures what 16 bits would lose") {
  const TempFolder folder;
  const std::string path = folder.file("weights.safetensors");
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // As float16: 0, zero (2^-25 is a tie that goes to zero), subnormal (2^-14 is the first normal), normal,
  // the largest that does not overflow, and the first that does.
  const std::vector<float> values = {0,       0x1p-25f, -0x1.8p-25f, 0x1p-14f, 1,         -65519.996f,
                                     65520.f, inf,      -inf,        nan,      0x1p-140f, 3.4e38f};
  const Tensor special = tensor(values);
  io::save_safetensors(path,
                       io::NamedTensors{{"special", special},
                                        {"counts", tensor(std::vector<std::int64_t>{-3, 0, 7})},
                                        {"nothing", empty({0, 4})},
                                        {"half", tensor(values).to(kHalf)}},
                       {{"epoch", "int:3"}});
  const Outcome outcome = halftone_program("inspect --json --histogram special " + path);
  REQUIRE(outcome.status == 0);
  const json file = json::parse(outcome.out);
  CHECK(file.at("format") == "safetensors");
  CHECK(file.at("metadata").at("epoch") == "int:3");
  REQUIRE(file.at("tensors").size() == 4);

  const json& row = named(file.at("tensors"), "special");
  CHECK(row.at("dtype") == "float32");
  CHECK(row.at("shape") == std::vector<int>{12});
  CHECK(row.at("zeros") == 1);
  CHECK(row.at("nan") == 1);
  CHECK(row.at("infinite") == 2);
  CHECK(row.at("min") == Approx(-65519.996));
  CHECK(row.at("max") == Approx(3.4e38));
  CHECK(row.at("mean_magnitude") == Approx(3.4e38 / 9));
  // The numbers that conversion itself gives.
  for (const Dtype dtype : {kHalf, kBFloat16}) {
    const Tensor after = special.to(dtype).to(kFloat);
    std::int64_t flushed = 0, overflow = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto rounded = after[static_cast<std::int64_t>(i)].item<float>();
      flushed += values[i] != 0 && rounded == 0;
      overflow += std::isfinite(values[i]) && std::isinf(rounded);
    }
    const json& losses = row.at(dtype == kHalf ? "as_float16" : "as_bfloat16");
    CHECK(losses.at("flushed") == flushed);
    CHECK(losses.at("overflow") == overflow);
  }
  CHECK(row.at("as_float16").at("subnormal") == 1);
  CHECK(row.at("as_bfloat16").at("flushed") == 1);
  CHECK(row.at("as_float16").at("flushed") == 2);
  CHECK(row.at("exponents").at("zeros") == 1);

  const json& counts = named(file.at("tensors"), "counts");
  CHECK(counts.at("min") == -3);
  CHECK(counts.at("max") == 7);
  CHECK_FALSE(counts.contains("as_float16"));
  CHECK_FALSE(named(file.at("tensors"), "nothing").contains("min"));

  const Outcome table = halftone_program("inspect --histogram special " + path);
  CHECK(table.status == 0);
  CHECK(contains(line_of(table.out, "special "), "[12]"));
  CHECK(contains(line_of(table.out, "15 "), "#"));
  CHECK(contains(line_of(table.out, "-25 "), "subnormal"));
}

TEST_CASE("inspect reads npy, npz and checkpoints") {
  const TempFolder folder;
  io::save_npy(folder.file("a"), tensor({1.0, -2.5}));  // told by its content, not by its name
  const json npy = json::parse(halftone_program("inspect --json " + folder.file("a")).out);
  CHECK(npy.at("format") == "npy");
  CHECK(npy.at("tensors").at(0).at("min") == -2.5);

  io::save_npz(folder.file("b.npz"), io::NamedTensors{{"w", ones({3})}});
  const json npz = json::parse(halftone_program("inspect --json " + folder.file("b.npz")).out);
  CHECK(npz.at("format") == "npz");
  CHECK(npz.at("tensors").at(0).at("name") == "w");

  nn::Linear model(3, 2);
  optim::Adam optimizer(model->parameters(), optim::AdamOptions(1e-3));
  model->forward(ones({1, 3})).sum().backward();
  optimizer.step();
  io::save_checkpoint(folder.file("c"), {{"model", *model}, {"optimizer", optimizer}});
  const json checkpoint = json::parse(halftone_program("inspect --json " + folder.file("c")).out);
  CHECK(named(checkpoint.at("tensors"), "model.weight").at("shape") == std::vector<int>{2, 3});
}

TEST_CASE("inspect refuses damaged files") {
  const TempFolder folder;
  const std::string good = folder.file("good"), bad = folder.file("bad");
  io::save_safetensors(good, io::NamedTensors{{"w", ones({64})}});
  const std::string bytes = test::read_bytes(good);
  for (const std::string& broken :
       {std::string(), std::string("PK\3\4 no archive"), std::string("\x93NUMPY"),
        bytes.substr(0, bytes.size() - 1), bytes + "x", std::string(1000, '\xff')}) {
    test::write_bytes(bad, broken);
    const Outcome outcome = halftone_program("inspect " + bad);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.err, bad));
    CHECK(outcome.out.empty());
  }
  CHECK(halftone_program("inspect " + folder.file("nowhere")).status == 1);
  const Outcome unknown = halftone_program("inspect --histogram v " + good);
  CHECK(unknown.status == 1);
  CHECK(contains(unknown.err, "no tensor 'v'"));
}

TEST_CASE("bench measures, writes what it measured, and compares") {
  const TempFolder folder;
  const std::string written = folder.file("a.json"), csv = folder.file("a.csv"), html = folder.file("a.html");
  const Outcome run = halftone_program(
      "bench gemm --shape 8x8x8 --dtype fp32,bf16 --filter NN --quick --repetitions 2 --sample-ms 0.01 "
      "--json " +
      written + " --csv " + csv + " --html " + html);
  REQUIRE(run.status == 0);
  CHECK(contains(line_of(run.out, "gemm/NN/8x8x8"), "fp32"));
  const json report = json::parse(test::read_bytes(written));
  CHECK_FALSE(report.at("benchmarks").empty());
  CHECK(lines(test::read_bytes(csv)) == 3);  // a head and two precisions
  CHECK(contains(test::read_bytes(html), "gemm/NN"));

  const Outcome compared = halftone_program("bench --compare " + written + " " + written);
  CHECK(compared.status == 0);
  CHECK(contains(compared.out, "gemm/NN/8x8x8"));
  CHECK(contains(halftone_program("bench --list").out, "overhead"));
}

TEST_CASE("bench refuses what it cannot measure, before it measures") {
  const TempFolder folder;
  const auto refused = [](const std::string& arguments, const std::string& reason) {
    const Outcome run = halftone_program("bench " + arguments);
    CAPTURE(arguments, run.out, run.err);
    CHECK(run.status != 0);
    CHECK(contains(run.err, reason));
  };
  refused("nonsense", "gemm, elementwise, reduce");
  refused("gemm --dtype fp8", "fp32, tf32, bf16 and fp16");
  refused("gemm --shape 8x8", "m x k x n");
  refused("gemm --shape axb", "positive numbers");
  refused("gemm --filter nothing", "no case is left");
  refused("gemm --threads 0", "at least one thread");
  refused("gemm --repetitions 0", "--repetitions");
  refused("gemm --sample-ms -1", "--sample-ms");
  refused("gemm --json '" + folder.file("missing/a.json") + "'", "cannot write");
  refused("--compare '" + folder.file("absent") + "' '" + folder.file("absent") + "'", "cannot read");
}
