// Connectionist temporal classification (Graves et al., ICML 2006), with sums over paths in logarithms, fp32
// or fp64. A path goes through the target with a blank before, between and after its labels.

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace ops {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// The places of a path and how it may move, for N targets of up to S labels: L = 2 S + 1 places.
struct Lattice {
  Tensor labels;     ///< (N, L), the label of each place
  Tensor may_skip;   ///< (N, L), whether a path may come from two places before
  Tensor log_probs;  ///< (T, N, L), of each place's label, wide
  std::int64_t steps, batch, places;
};

Lattice lattice_of(const Tensor& log_probs, const Tensor& targets, std::int64_t blank) {
  Lattice x;
  x.steps = log_probs.size(0), x.batch = log_probs.size(1), x.places = 2 * targets.size(1) + 1;
  const TensorOptions integers = TensorOptions(kLong).device(log_probs.device());
  x.labels = full({x.batch, x.places}, blank, integers);
  slice(x.labels, 1, 1, std::nullopt, 2).copy_(targets);
  x.may_skip = zeros({x.batch, x.places}, TensorOptions(kBool).device(log_probs.device()));
  if (x.places > 2) {
    const Tensor here = narrow(x.labels, 1, 2, x.places - 2), before = narrow(x.labels, 1, 0, x.places - 2);
    narrow(x.may_skip, 1, 2, x.places - 2).copy_(logical_and(ne(here, blank), ne(here, before)));
  }
  x.log_probs =
      wide(gather(as_wide(log_probs), 2, expand(unsqueeze(x.labels, 0), {x.steps, x.batch, x.places})));
  return x;
}

/// Columns moved by `by`: the places that come in are never reached.
Tensor moved(const Tensor& x, std::int64_t by) {
  const std::int64_t places = x.size(1), kept = std::max<std::int64_t>(places - std::abs(by), 0);
  const Tensor out = full(x.sizes(), kNever, x.options());
  if (kept == 0) return out;
  narrow(out, 1, by > 0 ? by : 0, kept).copy_(narrow(x, 1, by > 0 ? 0 : -by, kept));
  return out;
}

Tensor log_sum(const std::vector<Tensor>& terms) { return logsumexp(stack(terms, 0), 0); }

/// (N, L): true at the places where a path may end.
Tensor ends_of(const Lattice& x, const Tensor& target_lengths) {
  const Tensor place = arange(x.places, target_lengths.options()), last = unsqueeze(target_lengths * 2, 1);
  return logical_or(eq(place, last), eq(place, last - 1));
}

/// (T, N, L): the logarithm of the sum over the ways to reach a place at a step.
void fill_alpha(const Tensor& alpha, const Lattice& x) {
  for (std::int64_t t = 0; t < x.steps; ++t) {
    const Tensor out = alpha.select(0, t), here = x.log_probs.select(0, t);
    if (t == 0) {
      out.fill_(kNever);
      const std::int64_t starts = std::min<std::int64_t>(2, x.places);
      narrow(out, 1, 0, starts).copy_(narrow(here, 1, 0, starts));
      continue;
    }
    const Tensor before = alpha.select(0, t - 1);
    out.copy_(here + log_sum({before, moved(before, 1),
                              masked_fill(moved(before, 2), logical_not(x.may_skip), kNever)}));
  }
}

/// (T, N, L): the logarithm of the share of paths that are at a place at a step.
Tensor log_shares(const Tensor& alpha, const Lattice& x, const Tensor& losses, const Tensor& input_lengths,
                  const Tensor& target_lengths) {
  const Tensor shares = full(alpha.sizes(), kNever, alpha.options());
  // A path may skip a place ahead where the place after that one may be skipped to.
  const Tensor skip_ahead = moved(where(x.may_skip, zeros_like(x.log_probs.select(0, 0)), kNever), -2);
  const Tensor ends = ends_of(x, target_lengths);
  Tensor beta = full({x.batch, x.places}, kNever, alpha.options());
  for (std::int64_t t = x.steps; t-- > 0;) {
    const Tensor here = x.log_probs.select(0, t);
    const Tensor after = beta;  // includes the step after
    const Tensor going_on = log_sum({after, moved(after, -1), moved(after, -2) + skip_ahead});
    const Tensor is_last = unsqueeze(eq(input_lengths, t + 1), 1);
    const Tensor ahead = where(logical_and(is_last, ends), 0, going_on);
    shares.select(0, t).copy_(alpha.select(0, t) + ahead + unsqueeze(losses, 1));
    beta = here + ahead;
  }
  return masked_fill(shares, unsqueeze(isinf(losses), 1), kNever);
}

void check_lengths(const char* op, const char* name, const Tensor& lengths, std::int64_t batch,
                   std::int64_t most) {
  check_defined(op, name, lengths);
  if (lengths.dim() != 1 || lengths.numel() != batch || lengths.scalar_type() != kLong) {
    fail(op, "expected ", batch, " int64 ", name, ", got ", lengths);
  }
  const Tensor host = lengths.to(kCPU).contiguous();
  for (std::int64_t i = 0; i < batch; ++i) {
    const std::int64_t length = host.data_ptr<std::int64_t>()[i];
    if (length < 0 || length > most) fail(op, "expected ", name, " of 0 to ", most, ", got ", length);
  }
}

}  // namespace

struct CtcLoss : Operator {
  static constexpr Schema schema{
      "ctc_loss",
      {"log_probs", "targets", "input_lengths", "target_lengths", "blank"},
      "-log of the probability of each target (N, S), its labels in log_probs (T, N, C) with blanks between"};
  static Tensor call(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                     const Tensor& target_lengths, std::int64_t blank) {
    return std::get<0>(both(log_probs, targets, input_lengths, target_lengths, blank));
  }
  static std::tuple<Tensor, Tensor> both(const Tensor& log_probs, const Tensor& targets,
                                         const Tensor& input_lengths, const Tensor& target_lengths,
                                         std::int64_t blank) {
    const auto out = dispatch<CtcLoss>(log_probs, targets, input_lengths, target_lengths, blank);
    return {out[0], out[1]};
  }
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                 std::int64_t) = &call;
  static constexpr auto precision = amp::Precision::kFp32;
  static constexpr bool mixed_inputs = true;
  // Its gradient is a recursion over all steps of its own.
  static constexpr bool twice = false;
  static constexpr Keep saves =
      keep_input(0) | keep_input(1) | keep_input(2) | keep_input(3) | keep_result(0) | keep_result(1);

  static std::array<Meta, 2> infer(const Tensor& log_probs, const Tensor& targets,
                                   const Tensor& input_lengths, const Tensor& target_lengths,
                                   std::int64_t blank) {
    check_defined(schema.name, "log_probs", log_probs);
    check_defined(schema.name, "targets", targets);
    if (log_probs.dim() != 3 || !log_probs.is_floating_point() || log_probs.size(0) == 0) {
      fail(schema.name, "expected floating log_probs (T, N, C) of at least one step, got ", log_probs);
    }
    const std::int64_t batch = log_probs.size(1), classes = log_probs.size(2);
    if (targets.dim() != 2 || targets.size(0) != batch || targets.scalar_type() != kLong) {
      fail(schema.name, "expected int64 targets (", batch, ", S), got ", targets);
    }
    for (const Tensor* other : {&targets, &input_lengths, &target_lengths}) {
      if (other->defined() && other->device() != log_probs.device()) {
        fail(schema.name, "expected one device, got ", log_probs.device(), " and ", other->device());
      }
    }
    if (blank < 0 || blank >= classes)
      fail(schema.name, "blank must be a class below ", classes, ", got ", blank);
    check_lengths(schema.name, "input_lengths", input_lengths, batch, log_probs.size(0));
    check_lengths(schema.name, "target_lengths", target_lengths, batch, targets.size(1));
    const ScalarType dtype = accumulate_type(log_probs.scalar_type());
    Meta alpha = like(log_probs, {log_probs.size(0), batch, 2 * targets.size(1) + 1}, dtype);
    alpha.explicit_dtype = true;
    return {like(log_probs, {batch}), alpha};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& log_probs, const Tensor& targets,
                  const Tensor& input_lengths, const Tensor& target_lengths, std::int64_t blank) {
    const NoGradGuard no_grad;
    if (log_probs.size(1) == 0) return;
    const Lattice x = lattice_of(log_probs, targets, blank);
    fill_alpha(out[1], x);
    const Tensor last = clamp_min(input_lengths - 1, 0);
    const Tensor at_end =
        squeeze(gather(out[1], 0, expand(reshape(last, {1, x.batch, 1}), {1, x.batch, x.places})), 0);
    const Tensor losses =
        neg(logsumexp(masked_fill(at_end, logical_not(ends_of(x, target_lengths)), kNever), 1));
    // Without a step there is one path, of nothing.
    const Tensor nothing = masked_fill(zeros_like(losses), target_lengths > 0, -kNever);
    out[0].copy_(where(input_lengths > 0, losses, nothing));
  }
  static Gradients backward(const Saved& s, const Gradients& g, std::int64_t blank) {
    if (GradMode::is_enabled()) {
      fail(schema.name, "has no derivative of its gradient: it cannot be differentiated twice");
    }
    Gradients grads(4, Tensor());
    if (!g[0].defined()) return grads;
    const Tensor log_probs = s.input(0);
    const Lattice x = lattice_of(log_probs, s.input(1), blank);
    const Tensor shares = exp(log_shares(s.result(1), x, wide(s.result(0)), s.input(2), s.input(3)));
    const Tensor weighted = neg(shares) * reshape(wide(g[0]), {1, x.batch, 1});
    grads[0] = scatter_add(zeros(log_probs.sizes(), weighted.options()), 2,
                           expand(unsqueeze(x.labels, 0), weighted.sizes()), weighted);
    return grads;
  }
  static void samples(Samples& s) {
    const auto lengths = [](std::vector<std::int64_t> values) {
      const Tensor out = empty({static_cast<std::int64_t>(values.size())}, TensorOptions(kLong).device(kCPU));
      std::copy(values.begin(), values.end(), out.data_ptr<std::int64_t>());
      return out;
    };
    s(s.rand({4, 2, 4}, -3, -0.1), s.randint({2, 2}, 1, 4), lengths({4, 4}), lengths({1, 1}), 0);
    s(s.rand({5, 1, 3}, -3, -0.1), s.randint({1, 3}, 0, 2), lengths({5}), lengths({2}), 2);
    s(s.rand({3, 2, 4}, -3, -0.1), s.randint({2, 1}, 1, 4), lengths({2, 3}), lengths({1, 0}), 0);
    s(s.rand({2, 0, 4}), s.randint({0, 1}, 1, 4), lengths({}), lengths({}), 0);
  }
};
HALFTONE_REGISTER_OPERATOR(CtcLoss)

namespace {

/// Throws Error unless the labels that count are classes. Returns them padded, (N, S), with labels of 0 as
/// padding.
Tensor padded_targets(const char* op, const Tensor& targets, const std::vector<std::int64_t>& lengths,
                      std::int64_t classes, Device device) {
  check_defined(op, "targets", targets);
  if (targets.is_floating_point() || targets.scalar_type() == kBool || targets.dim() < 1 ||
      targets.dim() > 2) {
    fail(op, "expected integer targets (N, S) or (sum of target_lengths), got ", targets);
  }
  const auto batch = static_cast<std::int64_t>(lengths.size());
  const std::int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  const bool padded = targets.dim() == 2;
  if (padded && (targets.size(0) != batch || targets.size(1) < longest)) {
    fail(op, "expected targets (", batch, ", ", longest, " or more), got ", targets);
  }
  const Tensor from = targets.to(kCPU, kLong).contiguous();
  const Tensor out = zeros({batch, longest}, TensorOptions(kLong).device(kCPU));
  std::int64_t at = 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    const std::int64_t length = lengths[static_cast<std::size_t>(n)];
    if (padded) at = n * targets.size(1);
    if (at + length > from.numel()) {
      fail(op, "target_lengths add up to more than the ", from.numel(), " targets");
    }
    for (std::int64_t i = 0; i < length; ++i, ++at) {
      const std::int64_t label = from.data_ptr<std::int64_t>()[at];
      if (label < 0 || label >= classes) fail(op, "expected labels of 0 to ", classes - 1, ", got ", label);
      out.data_ptr<std::int64_t>()[n * longest + i] = label;
    }
  }
  return out.to(device);
}

std::vector<std::int64_t> integers(const char* op, const char* name, const Tensor& lengths) {
  check_defined(op, name, lengths);
  if (lengths.is_floating_point() || lengths.dim() > 1)
    fail(op, "expected integer ", name, ", got ", lengths);
  const Tensor host = lengths.to(kCPU, kLong).contiguous();
  return {host.data_ptr<std::int64_t>(), host.data_ptr<std::int64_t>() + host.numel()};
}

Tensor tensor_of(const std::vector<std::int64_t>& values, Device device) {
  const Tensor out = empty({static_cast<std::int64_t>(values.size())}, TensorOptions(kLong).device(kCPU));
  std::copy(values.begin(), values.end(), out.data_ptr<std::int64_t>());
  return out.to(device);
}

}  // namespace
}  // namespace ops

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                IntArrayRef target_lengths, std::int64_t blank, Reduction::Reduction reduction,
                bool zero_infinity) {
  const char* const op = ops::CtcLoss::schema.name;
  ops::check_defined(op, "log_probs", log_probs);
  if (log_probs.dim() != 2 && log_probs.dim() != 3) {
    fail(op, "expected log_probs (T, N, C) or (T, C), got ", log_probs);
  }
  const bool batched = log_probs.dim() == 3;
  const Tensor scores = batched ? log_probs : unsqueeze(log_probs, 1);
  for (const std::int64_t length : target_lengths) {
    if (length < 0) fail(op, "expected target_lengths of 0 or more, got ", length);
  }
  const Tensor lengths = ops::tensor_of(target_lengths.vec(), scores.device());
  Tensor losses = ops::CtcLoss::call(
      scores, ops::padded_targets(op, targets, target_lengths.vec(), scores.size(2), scores.device()),
      ops::tensor_of(input_lengths.vec(), scores.device()), lengths, blank);
  if (zero_infinity) losses = masked_fill(losses, isinf(losses), 0);
  if (reduction == Reduction::None) return batched ? losses : squeeze(losses, 0);
  if (reduction == Reduction::Sum) return sum(losses);
  return mean(losses / clamp_min(to_dtype(lengths, losses.scalar_type()), 1));
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, std::int64_t blank, Reduction::Reduction reduction,
                bool zero_infinity) {
  const char* const op = ops::CtcLoss::schema.name;
  return ctc_loss(log_probs, targets, ops::integers(op, "input_lengths", input_lengths),
                  ops::integers(op, "target_lengths", target_lengths), blank, reduction, zero_infinity);
}

}  // namespace halftone
