#include "halftone/bench/suite/case.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "halftone/autograd/grad_mode.h"

namespace halftone::bench {
namespace {

constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16};

std::size_t axis_count(std::string_view axes) {
  if (axes.empty()) return 0;
  std::size_t count = 1;
  for (std::size_t at = axes.find(" x "); at != axes.npos; at = axes.find(" x ", at + 3)) ++count;
  return count;
}

/// Half the distance between the smallest numbers of a type: the most that rounding near zero costs.
double smallest_step(Dtype dtype) {
  return dtype == kHalf ? 0x1p-25 : dtype == kBFloat16 || dtype == kFloat ? 0x1p-126 : 0;
}

}  // namespace

const char* precision_name(Precision precision) {
  constexpr const char* kNames[] = {"fp32", "tf32", "bf16", "fp16"};
  return kNames[static_cast<int>(precision)];
}

Precision precision_from(std::string_view name) {
  for (const Precision p : kPrecisions) {
    if (name == precision_name(p)) return p;
  }
  fail("bench", "no precision is called '", name, "'; there are fp32, tf32, bf16 and fp16");
}

Dtype dtype_of(Precision precision) {
  return precision == Precision::kBf16 ? kBFloat16 : precision == Precision::kFp16 ? kHalf : kFloat;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t n : shape) text += (text.empty() ? "" : "x") + std::to_string(n);
  return text.empty() ? "-" : text;
}

Shape shape_from(std::string_view text) {
  Shape shape;
  for (const char *at = text.data(), *const end = at + text.size();; ++at) {
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1 || (next != end && *next != 'x'))
      fail("bench", "a shape is written like 128x784x512, in positive numbers; got '", text, "'");
    shape.push_back(size);
    at = next;
    if (at == end) return shape;
  }
}

double worst_error(const Tensor& result, const Reference& reference) {
  const NoGradGuard no_grad;
  const Tensor got = result.detach().to(kCPU).to(kDouble).contiguous();
  const Tensor exact = reference.exact.contiguous();
  const Tensor terms = (reference.terms.defined() ? reference.terms : exact.abs()).contiguous();
  if (got.sizes() != exact.sizes() || terms.sizes() != exact.sizes()) return INFINITY;
  const Dtype dtype = result.scalar_type();
  const double per_term = (reference.length + 2) * 0x1p-24 + reference.input_roundoff;
  const double last = reference.roundings * unit_roundoff(dtype), step = smallest_step(dtype);
  const double *g = got.data_ptr<double>(), *e = exact.data_ptr<double>(), *t = terms.data_ptr<double>();
  double worst = 0;
  for (std::int64_t i = 0; i < exact.numel(); ++i) {
    if (g[i] == e[i]) continue;  // infinities too
    const double excess = std::fabs(g[i] - e[i]) / (per_term * t[i] + last * std::fabs(e[i]) + step);
    worst = std::isnan(excess) ? INFINITY : std::max(worst, excess);
    if (std::isinf(worst)) break;
  }
  return worst;
}

double Work::check() const {
  const std::vector<Tensor> got = results();
  const std::vector<Reference> expected = references();
  if (got.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, worst_error(got[i], expected[i]));
  return worst;
}

double Case::bytes() const {
  double sum = 0;
  for (const Traffic& pass : passes) sum += static_cast<double>(pass.bytes());
  return sum;
}

std::string Case::group() const { return concat(family, "/", name, "/", shape); }

std::string Case::id() const { return concat(group(), "/", precision_name(setting.precision)); }

const std::vector<Family>& families() {
  static const std::vector<Family> all{gemm_family(),   elementwise_family(), reduce_family(),
                                       norm_family(),   softmax_family(),     attention_family(),
                                       conv_family(),   optimizer_family(),   cast_family(),
                                       scaler_family(), step_family(),        overhead_family()};
  return all;
}

const Family& find_family(std::string_view name) {
  std::string names;
  for (const Family& family : families()) {
    if (name == family.name) return family;
    names += concat(names.empty() ? "" : ", ", family.name);
  }
  fail("bench", "no family is called '", name, "'; there are ", names);
}

std::vector<Case> cases_of(const Family& family, const Shape& shape, const Setting& setting) {
  const std::size_t expected = axis_count(family.axes);
  if (shape.size() != expected && expected == 0)
    fail("bench", "the cases of ", family.name, " have no sizes to choose; got ", shape_text(shape));
  if (shape.size() != expected)
    fail("bench", "a shape of ", family.name, " is ", family.axes, "; got ", shape_text(shape));
  std::vector<Case> cases = family.cases(shape, setting);
  for (Case& c : cases) {
    c.family = family.name;
    c.shape = shape_text(shape);
    c.setting = setting;
  }
  return cases;
}

}  // namespace halftone::bench
