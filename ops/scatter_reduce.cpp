// scatter with a rule for places that several elements go to. Positions along dim are taken one after the
// other: within one position no two elements share a place.

#include "halftone/engine/tensor.h"
#include "halftone/ops/inplace.h"

namespace halftone {
namespace {

enum class Rule { kSum, kProd, kMean, kAmax, kAmin };

Rule rule_of(const char* op, std::string_view reduce) {
  if (reduce == "sum") return Rule::kSum;
  if (reduce == "prod") return Rule::kProd;
  if (reduce == "mean") return Rule::kMean;
  if (reduce == "amax") return Rule::kAmax;
  if (reduce == "amin") return Rule::kAmin;
  fail(op, "reduce must be \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", got \"", reduce, "\"");
}

/// What combines with any x to x.
Scalar neutral(Rule rule, ScalarType dtype) {
  if (rule == Rule::kProd) return 1;
  if (rule == Rule::kSum || rule == Rule::kMean) return 0;
  if (is_floating_point(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return rule == Rule::kAmax ? -infinity : infinity;
  }
  if (dtype == kBool || dtype == kByte) return rule == Rule::kAmax ? 0 : dtype == kBool ? 1 : 255;
  if (dtype == kInt) {
    using Limits = std::numeric_limits<std::int32_t>;
    return rule == Rule::kAmax ? Limits::min() : Limits::max();
  }
  using Limits = std::numeric_limits<std::int64_t>;
  return rule == Rule::kAmax ? Limits::min() : Limits::max();
}

Tensor combined(Rule rule, const Tensor& a, const Tensor& b) {
  if (rule == Rule::kProd) return mul(a, b);
  return rule == Rule::kAmax ? maximum(a, b) : minimum(a, b);
}

Tensor in_turn(const char* op, Rule rule, const Tensor& self, std::int64_t dim, const Tensor& index,
               const Tensor& src) {
  if (index.dim() != src.dim() || index.dim() != self.dim()) {
    fail(op, "expected self, index and src of as many dimensions, got ", self, ", ", index, " and ", src);
  }
  Tensor result = self;
  const std::int64_t along = self.dim() == 0 ? 0 : wrap_dim(op, dim, self.dim());
  const std::int64_t positions = index.dim() == 0 ? 1 : index.size(along);
  for (std::int64_t i = 0; i < positions; ++i) {
    const Tensor at = index.dim() == 0 ? index : narrow(index, along, i, 1);
    Tensor from = src.dim() == 0 ? src : narrow(src, along, i, 1);
    for (std::int64_t d = 0; d < at.dim(); ++d) from = narrow(from, d, 0, at.size(d));
    result = scatter(result, dim, at, combined(rule, gather(result, dim, at), from));
  }
  return result;
}

}  // namespace

Tensor scatter_reduce(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self) {
  const char* const op = "scatter_reduce";
  const Rule rule = rule_of(op, reduce);
  const Tensor start = include_self ? self : scatter(self, dim, index, neutral(rule, self.scalar_type()));
  if (rule != Rule::kSum && rule != Rule::kMean) return in_turn(op, rule, start, dim, index, src);
  const Tensor sums = scatter_add(start, dim, index, src);
  if (rule == Rule::kSum) return sums;
  const TensorOptions counting = TensorOptions(kLong).device(self.device());
  Tensor counts =
      include_self ? ones(self.sizes(), counting) : scatter(ones(self.sizes(), counting), dim, index, 0);
  counts = scatter_add(counts, dim, index, ones(src.sizes(), counting));
  if (self.is_floating_point()) return sums / to_dtype(counts, sums.scalar_type());
  return div(sums, to_dtype(counts, sums.scalar_type()), "floor");
}

Tensor& scatter_reduce_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, bool include_self) {
  return ops::write_back(
      "scatter_reduce_", self,
      [&](const Tensor& x) { return scatter_reduce(x, dim, index, src, reduce, include_self); }, index, src);
}

Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
               std::string_view reduce) {
  if (reduce == "add") return scatter_add(self, dim, index, src);
  if (reduce == "multiply") return in_turn("scatter", Rule::kProd, self, dim, index, src);
  fail("scatter", "reduce must be \"add\" or \"multiply\", got \"", reduce, "\"; scatter_reduce has more");
}

Tensor& scatter_(Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                 std::string_view reduce) {
  if (reduce == "add") return scatter_add_(self, dim, index, src);
  return ops::write_back(
      "scatter_", self, [&](const Tensor& x) { return scatter(x, dim, index, src, reduce); }, index, src);
}

}  // namespace halftone
