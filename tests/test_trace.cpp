// amp::Trace: what it records, and that it changes nothing.

#include <cmath>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "halftone/halftone.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/training.h"

using namespace halftone;
using test::contains;

namespace {

struct Small {
  nn::Sequential model = [] {
    manual_seed(3);
    return nn::Sequential(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4));
  }();
  Tensor x = rand({32, 8});
  Tensor y = randint(4, {32});

  Tensor loss(Dtype dtype) const {
    const amp::Autocast autocast(test::device_type(), dtype);
    return nn::functional::cross_entropy(model->forward(x), y);
  }
};

const amp::TraceOperator* find(const amp::TraceLog& log, const std::string& name, amp::TracePhase phase,
                               const std::string& module = "") {
  for (const amp::TraceOperator& op : log.operators) {
    if (op.name == name && op.phase == phase && (module.empty() || op.module == module)) return &op;
  }
  return nullptr;
}

std::int64_t count(const amp::TraceLog& log, amp::TraceCast::Source source) {
  std::int64_t n = 0;
  for (const amp::TraceCast& cast : log.casts) n += cast.source == source;
  return n;
}

std::int64_t bytes_of(const std::vector<amp::TraceBytes>& parts, ScalarType dtype) {
  for (const amp::TraceBytes& part : parts) {
    if (part.dtype == dtype) return part.bytes;
  }
  return 0;
}

}  // namespace

TEST_CASE("a trace names operators, dtypes, policies and modules, forward and backward") {
  const Small small;
  amp::Trace trace;
  trace.watch(small.model->named_parameters());
  small.loss(kHalf).backward();
  trace.stop();
  const amp::TraceLog& log = trace.log();

  const auto* linear = find(log, "linear", amp::TracePhase::kForward, "2");
  REQUIRE(linear);
  CHECK(linear->policy == amp::Precision::kLow);
  CHECK(linear->autocast);
  CHECK(linear->cast_to == kHalf);
  CHECK(linear->inputs.at(1).name == "2.weight");
  CHECK(linear->inputs.at(1).dtype == kFloat);
  CHECK(linear->outputs.at(0).dtype == kHalf);
  CHECK(linear->outputs.at(0).sizes == Dims{32, 4});

  const auto* relu = find(log, "relu", amp::TracePhase::kForward);
  REQUIRE(relu);
  CHECK(relu->policy == amp::Precision::kAny);
  CHECK(relu->outputs.at(0).dtype == kHalf);
  const auto* loss = find(log, "cross_entropy_loss", amp::TracePhase::kForward);
  REQUIRE(loss);
  CHECK(loss->policy == amp::Precision::kFp32);
  CHECK(loss->outputs.at(0).dtype == kFloat);

  const auto* node = find(log, "linear", amp::TracePhase::kBackward, "0");
  REQUIRE(node);
  CHECK(node->kind == amp::TraceKind::kNode);
  CHECK(node->inputs.at(0).dtype == kHalf);
  bool inside = false;
  for (const auto& op : log.operators) {
    inside = inside || (op.parent >= 0 && &log.operators[static_cast<std::size_t>(op.parent)] == node);
  }
  CHECK(inside);
}

TEST_CASE("times nest: a call holds the calls inside, and own times add up to the whole") {
  const Small small;
  amp::Trace trace;
  small.loss(kBFloat16).backward();
  trace.stop();
  double own = 0;
  for (const amp::TraceOperator& op : trace.log().operators) {
    CHECK(op.time >= op.self);
    CHECK(op.self >= 0);
    own += op.self;
    if (op.parent < 0) continue;
    const auto& outer = trace.log().operators[static_cast<std::size_t>(op.parent)];
    CHECK(op.depth == outer.depth + 1);
    CHECK(op.start >= outer.start - 1e-3);
    CHECK(op.start + op.time <= outer.start + outer.time + 1e-3);
  }
  CHECK(own > 0);
  CHECK(own <= trace.log().time);
}

TEST_CASE("casts: fresh once, cached afterwards, none with a half shadow") {
  const Small small;
  SECTION("weights are cast once in a region") {
    amp::Trace trace;
    trace.watch(small.model->named_parameters());
    {
      const amp::Autocast autocast(test::device_type(), kHalf);
      small.model->forward(small.x);
      small.model->forward(small.x);
    }
    trace.stop();
    CHECK(count(trace.log(), amp::TraceCast::Source::kFresh) == 4 + 2);  // parameters, x twice
    CHECK(count(trace.log(), amp::TraceCast::Source::kCached) == 4);
    for (const amp::TraceCast& cast : trace.log().casts) {
      CHECK(cast.from == kFloat);
      CHECK(cast.to == kHalf);
      CHECK(trace.log().operators.at(static_cast<std::size_t>(cast.op)).name == "linear");
      if (cast.tensor != "0.weight") continue;
      const bool fresh = cast.source == amp::TraceCast::Source::kFresh;
      CHECK(cast.bytes_read == (fresh ? 16 * 8 * 4 : 0));
      CHECK(cast.bytes_written == (fresh ? 16 * 8 * 2 : 0));
    }
  }
  SECTION("a shadow needs none") {
    optim::SGD optimizer(small.model->named_parameters(), optim::SGDOptions(0.1));
    optimizer.use_half_shadow(kHalf);
    small.loss(kHalf).backward();
    optimizer.step();
    amp::Trace trace;
    small.loss(kHalf);
    trace.stop();
    CHECK(count(trace.log(), amp::TraceCast::Source::kShadow) == 4);
  }
}

TEST_CASE("saved bytes agree with autograd::saved_bytes, by dtype") {
  const Small small;
  for (Dtype dtype : {kFloat, kHalf}) {
    amp::Trace trace;
    const Tensor loss = small.loss(dtype);
    trace.stop();
    std::int64_t sum = 0;
    for (const amp::TraceBytes& part : trace.log().saved_bytes()) sum += part.bytes;
    CHECK(sum == static_cast<std::int64_t>(autograd::saved_bytes(loss)));
    CHECK((bytes_of(trace.log().saved_bytes(), kHalf) > 0) == (dtype == kHalf));
  }
}

TEST_CASE("scale events: skip with backoff, growth, and the step they belong to") {
  Tensor w = test::parameter({0, 0});  // so that the scaled loss does not overflow itself
  optim::SGD optimizer({{"w", w}}, optim::SGDOptions(0));
  optimizer.use_loss_scaling(amp::LossScalingOptions().init_scale(1024).growth_interval(1));
  amp::Trace trace;
  trace.watch("w", w);
  for (const double factor : {1.0, 1e38, 1.0}) {
    optimizer.zero_grad();
    optimizer.backward((w * factor).sum());
    optimizer.step();
  }
  trace.stop();
  const auto& scales = trace.log().scales;
  REQUIRE(scales.size() == 3);
  CHECK((scales[0].grew && scales[0].before == 1024 && scales[0].after == 2048));
  CHECK((scales[1].skipped && scales[1].backed_off && scales[1].after == 1024));
  CHECK((!scales[2].skipped && scales[2].step == 2));
  REQUIRE(trace.log().steps.size() == 3);
  CHECK(trace.log().steps[0].applied);
  CHECK(trace.log().steps[1].skipped_nonfinite);
  CHECK(trace.log().steps[1].overflowed == std::vector<std::string>{"w"});
  CHECK(optimizer.last_report().scale_after() == 2048);
  REQUIRE(trace.log().nonfinite.size() == 1);
  CHECK(trace.log().nonfinite[0].step == 1);
  CHECK(trace.log().nonfinite[0].phase == amp::TracePhase::kBackward);
  CHECK(trace.log().nonfinite[0].scale == 2048);
  CHECK(trace.log().nonfinite[0].fp32_too == true);
  CHECK(contains(trace.table(), "skipped, scale 2048 -> 1024 (backoff)"));
}

TEST_CASE("a step of L-BFGS holds its evaluations: forward, backward, and its own arithmetic") {
  Tensor w = test::parameter({3, -2});
  optim::LBFGS optimizer({w}, optim::LBFGSOptions(1).line_search_fn("strong_wolfe").max_iter(3));
  optimizer.use_loss_scaling(amp::LossScalingOptions().init_scale(1024));
  double factor = 1;
  amp::Trace trace;
  for (const double now : {1.0, 1e38}) {
    factor = now;
    optimizer.step([&] {
      optimizer.zero_grad();
      Tensor loss = (w * w * w * w).sum() * factor;
      optimizer.backward(loss);
      return loss;
    });
  }
  trace.stop();
  const amp::TraceLog& log = trace.log();
  REQUIRE(log.steps.size() == 2);
  CHECK(log.steps[0].optimizer == "LBFGS");
  CHECK(log.steps[0].applied);
  CHECK(log.steps[1].skipped_nonfinite);
  REQUIRE(log.scales.size() == 2);
  CHECK((log.scales[1].skipped && log.scales[1].step == 1));
  std::int64_t steps = 0;
  for (const amp::TraceOperator& op : log.operators) steps += op.kind == amp::TraceKind::kStep;
  CHECK(steps == 2);
  CHECK(find(log, "LBFGS", amp::TracePhase::kStep));
  CHECK(find(log, "mul", amp::TracePhase::kForward));
  CHECK(find(log, "mul", amp::TracePhase::kBackward));
  CHECK(find(log, "dot", amp::TracePhase::kStep));  // of the gradient with the direction
  CHECK_FALSE(find(log, "dot", amp::TracePhase::kForward));
}

TEST_CASE("exponent histograms say what fp16 would lose") {
  const Tensor values =
      tensor({0.0, 1.0, 1.5, -3.0, 0x1p-24, 0x1p-25, 0x1p-30, 0x1p-15, 65519.0, 65520.0, 1e30});
  const amp::ExponentHistogram h = amp::exponent_histogram(values);
  CHECK(h.elements == 11);
  CHECK(h.zeros == 1);
  CHECK(h.flushed == 2);
  CHECK(h.subnormal == 2);
  CHECK(h.overflow == 2);
  CHECK(h.smallest == 0x1p-30);
  CHECK(h.largest == static_cast<double>(1e30f));
  CHECK(h.first_exponent == -30);
  CHECK(h.counts[30] == 2);  // 1 and 1.5
  CHECK(h.share_flushed_at(0x1p10) == 0.0);
  CHECK(h.share_flushed_at(0x1p-10) == 0.3);  // 2^-34, 2^-35, 2^-40 of ten
  CHECK_THROWS_AS(amp::exponent_histogram(Tensor()), Error);
  CHECK_THROWS_AS(amp::exponent_histogram(randint(4, {2})), Error);
  CHECK(amp::exponent_histogram(zeros({0})).suggested_scale() == 0);

  const amp::ExponentHistogram small = amp::exponent_histogram(full({4}, 3e-6), 1);
  CHECK(small.suggested_scale() * 3e-6 < 32768);
  CHECK(small.suggested_scale() * 3e-6 >= 16384);
  const amp::ExponentHistogram bad = amp::exponent_histogram(tensor({INFINITY, NAN, -INFINITY}));
  CHECK((bad.infinite == 2 && bad.nan == 1 && bad.counts.empty()));
}

TEST_CASE("gradients of watched tensors are counted, leaves and others") {
  Tensor w = test::parameter({2, 4});
  const Tensor h = w * 2;
  amp::Trace trace;
  trace.watch("w", w);
  trace.watch("h", h);
  amp::LossScaling scaling = amp::LossScaling::fixed(8);
  scaling.scale(h.sum()).backward();
  trace.stop();
  std::vector<std::string> seen;
  for (const auto& histogram : trace.log().histograms) {
    if (!histogram.is_gradient) continue;
    seen.push_back(histogram.name);
    CHECK(histogram.scale == 8);
    CHECK(histogram.largest == (histogram.name == "w" ? 16 : 8));
    CHECK(histogram.suggested_scale() == (histogram.name == "w" ? 8192 : 16384));
  }
  CHECK(seen == std::vector<std::string>{"h", "w"});
  CHECK(trace.log().suggested_scale() == 8192);
}

TEST_CASE("which operator made the first inf: one layer of six has a weight far too large") {
  struct Case {
    double factor;
    Dtype dtype;
    const char* op;
    bool fp32_too;
  };
  for (const Case& fault : {Case{1e4, kHalf, "linear", false}, Case{1e37, kHalf, "to_dtype", false},
                            Case{1e38, kFloat, "linear", true}}) {
    manual_seed(7);
    nn::Sequential model;
    for (int i = 0; i < 6; ++i) model->push_back("fc" + std::to_string(i + 1), nn::Linear(32, 32));
    NoGradGuard no_grad;
    model->named_parameters()["fc4.weight"].mul_(fault.factor);
    amp::Trace trace;
    trace.watch(model->named_parameters());
    {
      const amp::Autocast autocast(test::device_type(), fault.dtype);
      model->forward(randn({4, 32}) * 200);
    }
    trace.stop();
    REQUIRE(trace.log().nonfinite.size() == 1);
    const amp::TraceNonFinite& first = trace.log().nonfinite[0];
    INFO(first.str());
    CHECK(first.name == fault.op);
    CHECK(first.module == "fc4");
    CHECK(first.phase == amp::TracePhase::kForward);
    CHECK(first.dtype == fault.dtype);
    CHECK(first.infinite + first.nan > 0);
    CHECK(first.largest_input > 0.1 * fault.factor);
    CHECK(first.fp32_too == fault.fp32_too);
    CHECK(contains(first.str(), "fc4"));
  }
}

TEST_CASE("values that come from data or parameters are not laid at an operator's door") {
  Tensor w = test::parameter({1, 2});
  SECTION("data") {
    amp::Trace trace;
    trace.watch("w", w);
    w* tensor({1.0, NAN});
    trace.stop();
    REQUIRE(trace.log().nonfinite.size() == 1);
    CHECK(trace.log().nonfinite[0].origin == amp::TraceNonFinite::Origin::kInput);
    CHECK(trace.log().nonfinite[0].nan == 1);
    CHECK(contains(trace.log().nonfinite[0].str(), "look at the data"));
  }
  SECTION("a parameter") {
    {
      NoGradGuard no_grad;
      w[1] = INFINITY;
    }
    amp::Trace trace;
    trace.watch("layer.w", w);
    w * 2;
    trace.stop();
    REQUIRE(trace.log().nonfinite.size() == 1);
    CHECK(trace.log().nonfinite[0].origin == amp::TraceNonFinite::Origin::kParameter);
    CHECK(trace.log().nonfinite[0].input == "layer.w");
    CHECK(trace.log().nonfinite[0].module == "layer");
  }
  SECTION("a mask of -inf is meant") {
    amp::Trace trace;
    const Tensor scores = w.masked_fill(tensor({0.0, 1.0}).to(kBool), -INFINITY);
    softmax(scores + 1, 0);
    trace.stop();
    CHECK(trace.log().nonfinite.empty());
  }
  SECTION("a backward that divides by zero is named, with the operator it belongs to") {
    Tensor zero = test::parameter({0});
    amp::Trace trace;
    sqrt(zero).sum().backward();
    trace.stop();
    REQUIRE(trace.log().nonfinite.size() == 1);
    CHECK(trace.log().nonfinite[0].phase == amp::TracePhase::kBackward);
    CHECK(trace.log().nonfinite[0].node == "sqrt");
    CHECK(trace.log().nonfinite[0].fp32_too == true);
  }
}

TEST_CASE("finding out whether fp32 overflows disturbs neither buffers nor the random stream") {
  const Tensor x = full({2, 2, 2, 2}, 1e38);
  const auto run = [&](bool traced) {
    manual_seed(5);
    nn::BatchNorm2d norm(2);
    std::optional<amp::Trace> trace;
    if (traced) trace.emplace();
    norm->forward(x * 1e3);
    const Tensor noise = dropout(x * 1e3, 0.5, true);
    return std::pair(norm->named_buffers()["running_mean"].clone(), rand({3}));
  };
  const auto plain = run(false), traced = run(true);
  CHECK(test::same_bits(plain.first, traced.first));
  CHECK(test::same_bits(plain.second, traced.second));
}

TEST_CASE("a traced training is bit for bit the untraced one") {
  const auto train = [](bool traced) {
    Small small;
    optim::AdamW optimizer(small.model->named_parameters(), optim::AdamWOptions(1e-2));
    optimizer.use_loss_scaling();
    std::optional<amp::Trace> trace;
    if (traced) trace.emplace(amp::TraceOptions{.keep_results = true});
    for (int step = 0; step < 5; ++step) {
      optimizer.zero_grad();
      optimizer.backward(small.loss(kHalf));
      optimizer.step();
    }
    std::vector<Tensor> weights;
    for (const Tensor& weight : small.model->parameters()) weights.push_back(weight.detach().clone());
    return weights;
  };
  const auto plain = train(false), traced = train(true);
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(test::same_bits(plain[i], traced[i]));
}

TEST_CASE("writes in place, views and errors are recorded as such") {
  amp::Trace trace;
  Tensor x = ones({2, 3});
  x.mul_(2);
  x.t();
  CHECK_THROWS_AS(matmul(x, x), Error);
  x + 1;
  trace.stop();
  using Row = std::tuple<std::string, amp::TraceKind, bool, std::int64_t>;
  std::vector<Row> rows;
  for (const auto& op : trace.log().operators) rows.emplace_back(op.name, op.kind, op.failed, op.depth);
  const std::vector<Row> expected = {{"mul", amp::TraceKind::kInPlace, false, 0},
                                     {"transpose", amp::TraceKind::kView, false, 0},
                                     {"matmul", amp::TraceKind::kOperator, true, 0},
                                     {"add", amp::TraceKind::kOperator, false, 0}};
  CHECK(rows == expected);
}

TEST_CASE("limits and misuse of a trace") {
  SECTION("no second one on the thread, and it ends with its scope") {
    {
      const amp::Trace trace;
      CHECK_THROWS_AS(amp::Trace(), Error);
    }
    CHECK_NOTHROW(amp::Trace());
  }
  SECTION("options") {
    CHECK_THROWS_AS(amp::Trace(amp::TraceOptions{.max_operators = 0}), Error);
    amp::Trace trace(amp::TraceOptions{.max_operators = 2});
    CHECK_THROWS_AS(trace.watch("x", Tensor()), Error);
    const Tensor x = ones({2});
    for (int i = 0; i < 5; ++i) x + 1;
    trace.stop();
    trace.stop();
    CHECK(trace.log().operators.size() == 2);
    CHECK(trace.log().dropped == 3);
    CHECK(contains(trace.table(), "3 further calls"));
  }
  SECTION("a file that cannot be written") {
    amp::Trace trace;
    CHECK_THROWS_AS(trace.write_html("/no/such/folder/trace.html"), Error);
  }
}

TEST_CASE("JSON lines can be read again, and hostile names survive") {
  const Small small;
  amp::Trace trace;
  trace.watch(small.model->named_parameters());
  trace.watch("a \"name\"\n</script>\\", ones({2}));
  trace.watch("bytes \xff", ones({2}));
  optim::SGD optimizer(small.model->named_parameters(), optim::SGDOptions(0.1));
  optimizer.use_loss_scaling();
  optimizer.backward(small.loss(kHalf));
  optimizer.step();
  tensor({1.0}) / 0;
  trace.stop();
  const std::string text = amp::trace_json_lines(trace.log());
  const amp::TraceLog read = amp::parse_trace_json_lines(text);
  CHECK(amp::trace_json_lines(read) == text);
  CHECK(read.operators.size() == trace.log().operators.size());
  CHECK(read.histograms.at(4).name == "a \"name\"\n</script>\\");
  CHECK(amp::trace_table(read) == amp::trace_table(amp::parse_trace_json_lines(text)));
  CHECK_THROWS_AS(amp::parse_trace_json_lines(""), Error);
  CHECK_THROWS_AS(amp::parse_trace_json_lines("{\"type\": \"cast\"}\n"), Error);
  CHECK_THROWS_AS(amp::parse_trace_json_lines("not json"), Error);
  CHECK_THROWS_AS(amp::parse_trace_json_lines("{\"type\": \"trace\", \"version\": 2, \"time_us\": 1, "
                                              "\"own_time_us\": 1, \"dropped\": 0}\n"),
                  Error);  // a format of another time

  const nlohmann::json chrome = nlohmann::json::parse(amp::trace_chrome_json(trace.log()));
  std::size_t spans = 0;
  for (const auto& event : chrome.at("traceEvents")) spans += event.at("ph") == "X";
  CHECK(spans == trace.log().operators.size());

  const std::string page = amp::trace_html(trace.log(), "a < b");
  CHECK(contains(page, "<title>a &lt; b</title>"));
  CHECK_FALSE(contains(page, "\"name\\\"\\n</script>"));
  for (const char* address : {"http://", "https://", "src=", "href="}) {
    std::string without = page;
    const std::string svg = "http://www.w3.org/2000/svg";  // a name, not an address
    for (std::size_t at; (at = without.find(svg)) != std::string::npos;) without.erase(at, svg.size());
    CHECK_FALSE(contains(without, address));
  }
}
