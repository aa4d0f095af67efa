// Scaled dot product attention. Backward keeps the operands only: a block of attention weights costs little
// to compute again, and the whole matrix of them is never in memory.

#include "halftone/kernels/attention.h"

#include <cmath>
#include <limits>

#include "halftone/ops/operator.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace ops {
namespace {

/// Batch dimensions that query, key, value and mask broadcast to, and the sizes of their matrices.
struct AttentionSizes {
  Dims batch;
  std::int64_t length, keys, features, value_features;

  Dims with(std::int64_t rows, std::int64_t cols) const {
    Dims sizes = batch;
    sizes.push_back(rows);
    sizes.push_back(cols);
    return sizes;
  }
  Dims query() const { return with(length, features); }
  Dims key() const { return with(keys, features); }
  Dims value() const { return with(keys, value_features); }
  Dims result() const { return with(length, value_features); }
  Dims mask() const { return with(length, keys); }
};

IntArrayRef batch_of(const Tensor& x) { return {x.sizes().data(), x.sizes().size() - 2}; }

AttentionSizes attention_sizes(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                               const Tensor& mask) {
  if (q.dim() < 2 || k.dim() < 2 || v.dim() < 2) {
    fail(op, "expected query (..., L, E), key (..., S, E) and value (..., S, Ev), got ", q, ", ", k, ", ", v);
  }
  if (q.size(-1) != k.size(-1)) fail(op, "query ", q, " and key ", k, " differ in their last size");
  if (k.size(-2) != v.size(-2)) fail(op, "key ", k, " and value ", v, " differ in the number of keys");
  AttentionSizes s{broadcast_shapes(op, broadcast_shapes(op, batch_of(q), batch_of(k)), batch_of(v)),
                   q.size(-2), k.size(-2), q.size(-1), v.size(-1)};
  if (!mask.defined()) return s;
  if (mask.scalar_type() != kBool && !mask.is_floating_point()) {
    fail(op, "expected a bool or floating attn_mask, got ", mask);
  }
  if (mask.dim() >= 2) s.batch = broadcast_shapes(op, s.batch, batch_of(mask));
  if (!(broadcast_shapes(op, s.mask(), mask.sizes()) == s.mask())) {
    fail(op, "attn_mask ", mask, " does not broadcast to (..., ", s.length, ", ", s.keys, ")");
  }
  return s;
}

void check_operands(const char* op, std::initializer_list<const Tensor*> tensors) {
  const Tensor& first = **tensors.begin();
  for (const Tensor* t : tensors) {
    if (!t->is_floating_point()) fail(op, "expected floating tensors, got ", *t);
    if (t->device() != first.device())
      fail(op, "expected one device, got ", first.device(), " and ", t->device());
  }
}

void check_dropout(const char* op, double p) {
  if (!(p >= 0 && p <= 1)) fail(op, "expected a dropout_p in [0, 1], got ", p);
}

AttentionOptions options_of(double scale, bool causal, double dropout_p, std::int64_t seed,
                            std::int64_t offset) {
  return {scale, causal, dropout_p, PhiloxPlace(seed, offset).state()};
}

Tensor expanded(const Tensor& x, IntArrayRef sizes) { return x.defined() ? expand(x, sizes) : x; }

const AttentionKernels& kernels(const Tensor& x) { return kernels_for<AttentionKernels>(x.device()); }

Tensor swap_last(const Tensor& x) { return transpose(x, -2, -1); }
Tensor row_sum(const Tensor& x) { return sum(x, -1, true); }

/// The attention weights, composed of public operators; wide operands.
Tensor attention_weights(const Tensor& q, const Tensor& k, const Tensor& mask, bool causal, double scale) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  Tensor scores = matmul(q, swap_last(k)) * scale;
  if (mask.defined() && mask.scalar_type() == kBool) {
    scores = masked_fill(scores, logical_not(mask), kHidden);
  } else if (mask.defined()) {
    scores = scores + wide(mask);
  }
  const TensorOptions flags = TensorOptions(kBool).device(q.device());
  if (causal) scores = masked_fill(scores, logical_not(tril(ones({q.size(-2), k.size(-2)}, flags))), kHidden);
  if (k.size(-2) == 0) return scores;
  const Tensor blind = eq(amax(scores.detach(), -1, true), kHidden);
  return masked_fill(softmax(masked_fill(scores, blind, 0), -1), blind, 0);
}

}  // namespace

struct AttentionBackward : Operator {
  static constexpr Schema schema{"scaled_dot_product_attention_backward",
                                 {"grad", "query", "key", "value", "attn_mask", "mask_grad", "dropout_p",
                                  "is_causal", "scale", "seed", "offset"},
                                 "gradients of scaled_dot_product_attention, the weights computed again"};
  static constexpr std::vector<Tensor> (*api)(
      const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool, double, bool, double,
      std::int64_t, std::int64_t) = &halftone::scaled_dot_product_attention_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2) | keep_input(3) | keep_input(4);

  static std::array<Meta, 4> infer(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v,
                                   const Tensor& mask, bool mask_grad, double dropout_p, bool, double,
                                   std::int64_t, std::int64_t) {
    const AttentionSizes s = attention_sizes(schema.name, q, k, v, mask);
    check_operands(schema.name, {&grad, &q, &k, &v});
    check_dropout(schema.name, dropout_p);
    if (!(grad.sizes() == s.result())) fail(schema.name, "expected a gradient ", s.result(), ", got ", grad);
    if (mask_grad && !(mask.defined() && mask.is_floating_point())) {
      fail(schema.name, "mask_grad needs a floating attn_mask");
    }
    return {like(q, s.query()), like(k, s.key()), like(v, s.value()),
            mask_grad ? like(mask, s.mask()) : like(q, {0})};
  }
  static void run(const std::array<Tensor, 4>& out, const Tensor& grad, const Tensor& q, const Tensor& k,
                  const Tensor& v, const Tensor& mask, bool mask_grad, double dropout_p, bool is_causal,
                  double scale, std::int64_t seed, std::int64_t offset) {
    const NoGradGuard no_grad;
    const AttentionSizes s = attention_sizes(schema.name, q, k, v, mask);
    kernels(q).backward(out[0], out[1], out[2], mask_grad ? out[3] : Tensor(), grad, expanded(q, s.query()),
                        expanded(k, s.key()), expanded(v, s.value()), expanded(mask, s.mask()),
                        options_of(scale, is_causal, dropout_p, seed, offset));
  }
  /// With A = dropout(g v^T), Z = P (A - sum(P A)) the gradient of the scores, and the gradients vq, vk, vv,
  /// vm of the results: W = scale (vq k^T + q vk^T) + vm and U = dropout(g vv^T) are the gradients of Z and P
  /// where they are used, Y = P (W - sum(P W)) that of A, X that of the scores.
  static Gradients backward(const Saved& s, const Gradients& v, bool mask_grad, double dropout_p,
                            bool is_causal, double scale, std::int64_t seed, std::int64_t offset) {
    const Tensor g = wide(s.input(0)), q = wide(s.input(1)), k = wide(s.input(2)), value = wide(s.input(3));
    const Tensor mask = s.input(4);
    const auto drop = [&](const Tensor& x) {
      return dropout_p == 0 ? x : philox_dropout(x, dropout_p, seed, offset);
    };
    const Tensor over_batch = matmul(g, swap_last(value));
    const Tensor p = expand(attention_weights(q, k, mask, is_causal, scale), over_batch.sizes());
    const Tensor a = drop(over_batch), z = p * (a - row_sum(p * a));
    const Tensor vq = wide(v[0]), vk = wide(v[1]), vv = wide(v[2]), vm = mask_grad ? wide(v[3]) : Tensor();

    const auto plus = [](const Tensor& x, const Tensor& y) { return x.defined() ? x + y : y; };
    Tensor w, h;
    if (vq.defined()) w = matmul(vq, swap_last(k)) * scale;
    if (vk.defined()) w = plus(w, matmul(q, swap_last(vk)) * scale);
    if (vm.defined()) w = plus(w, vm);
    Tensor grad_g, grad_v;
    if (w.defined()) {
      const Tensor pw = row_sum(p * w), y = drop(p * (w - pw));
      h = w * (a - row_sum(p * a)) - a * pw;
      grad_g = matmul(y, value);
      grad_v = matmul(swap_last(y), g);
    }
    if (vv.defined()) {
      h = plus(h, drop(matmul(g, swap_last(vv))));
      grad_g = plus(grad_g, matmul(drop(p), vv));
    }
    const Tensor x = p * (h - row_sum(p * h));
    Tensor grad_q = matmul(x, k) * scale, grad_k = matmul(swap_last(x), q) * scale;
    if (vk.defined()) grad_q = grad_q + matmul(z, vk) * scale;
    if (vq.defined()) grad_k = grad_k + matmul(swap_last(z), vq) * scale;
    return {grad_g, grad_q, grad_k, grad_v, s.needs(4) ? x : Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3, 2}), s.rand({2, 3, 2}), s.rand({2, 4, 2}), s.rand({2, 4, 2}), std::nullopt, false, 0.0,
      false, 0.7, 7, 0);
    s(s.rand({3, 2}, -1, 1), s.rand({3, 2}, -1, 1), s.rand({3, 2}, -1, 1), s.rand({3, 2}, -1, 1),
      std::nullopt, false, 0.5, true, 1.0, 8, 3);
    s(s.rand({2, 2, 1}), s.rand({2, 1}), s.rand({2, 3, 1}), s.rand({3, 1}), s.rand({2, 3}), true, 0.0, false,
      1.0, 7, 0);
    s(s.rand({0, 2}), s.rand({0, 2}), s.rand({3, 2}), s.rand({3, 2}), std::nullopt, false, 0.0, false, 1.0, 7,
      0);
  }
};
HALFTONE_REGISTER_OPERATOR(AttentionBackward)

struct Attention : Operator {
  static constexpr Schema schema{"scaled_dot_product_attention",
                                 {"query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale"},
                                 "softmax(query @ key.t() * scale + attn_mask) @ value"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, double, bool,
                                 std::optional<double>) = &halftone::scaled_dot_product_attention;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2) | keep_input(3);

  static Meta infer(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double, bool,
                    double, std::int64_t, std::int64_t) {
    const AttentionSizes s = attention_sizes(schema.name, q, k, v, mask);
    check_operands(schema.name, {&q, &k, &v});
    if (q.scalar_type() != k.scalar_type() || q.scalar_type() != v.scalar_type()) {
      fail(schema.name, "expected one dtype, got query ", q, ", key ", k, " and value ", v,
           "; convert them, or use an autocast region");
    }
    return like(q, s.result());
  }
  static void run(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                  double dropout_p, bool is_causal, double scale, std::int64_t seed, std::int64_t offset) {
    const NoGradGuard no_grad;
    const AttentionSizes s = attention_sizes(schema.name, q, k, v, mask);
    kernels(out).forward(out, expanded(q, s.query()), expanded(k, s.key()), expanded(v, s.value()),
                         expanded(mask, s.mask()), options_of(scale, is_causal, dropout_p, seed, offset));
  }
  static Gradients backward(const Saved& s, const Tensor& g, double dropout_p, bool is_causal, double scale,
                            std::int64_t seed, std::int64_t offset) {
    const bool mask_grad = s.needs(3);
    // An operand that was broadcast is given in fp32, so that its gradient is summed before it is rounded.
    const auto operand = [&](int i, const Dims& full) {
      const Tensor x = s.input(i);
      return x.defined() && x.is_floating_point() && !(x.sizes() == full) ? wide(x) : x;
    };
    const AttentionSizes full = attention_sizes(schema.name, s.input(0), s.input(1), s.input(2), s.input(3));
    const std::vector<Tensor> grads = scaled_dot_product_attention_backward(
        g, operand(0, full.query()), operand(1, full.key()), operand(2, full.value()),
        mask_grad ? operand(3, full.mask()) : s.input(3), mask_grad, dropout_p, is_causal, scale, seed,
        offset);
    return {grads[0], grads[1], grads[2], mask_grad ? grads[3] : Tensor()};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3, 2}), s.rand({2, 4, 2}), s.rand({2, 4, 3}), std::nullopt, 0.0, false, std::nullopt);
    s(s.rand({3, 2}), s.rand({3, 2}), s.rand({3, 2}), std::nullopt, 0.0, true, 0.7);
    s(s.rand({2, 2, 1}), s.rand({3, 1}), s.rand({2, 3, 2}), s.rand({2, 3}), 0.0, false, 1.0);
    s(s.rand({2, 2, 2}), s.rand({2, 3, 2}), s.rand({2, 3, 2}), s.mask({2, 2, 3}), 0.0, false, std::nullopt);
    s(s.rand({3, 2}), s.rand({4, 2}), s.rand({4, 2}), std::nullopt, 0.5, false, std::nullopt);
    s(s.rand({0, 2}), s.rand({3, 2}), s.rand({3, 2}), std::nullopt, 0.0, false, std::nullopt);
    s(s.rand({2, 2}), s.rand({0, 2}), s.rand({0, 2}), std::nullopt, 0.0, false, std::nullopt);
  }
};
HALFTONE_REGISTER_OPERATOR(Attention)

}  // namespace ops

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale) {
  const char* const op = ops::Attention::schema.name;
  ops::check_dropout(op, dropout_p);
  if (is_causal && attn_mask.defined()) fail(op, "is_causal and attn_mask exclude each other");
  PhiloxPlace at(0, 0);
  if (dropout_p > 0) {
    const ops::AttentionSizes s = ops::attention_sizes(op, query, key, value, attn_mask);
    const auto weights = static_cast<std::uint64_t>(count_elements(s.mask()));
    at = PhiloxPlace(default_generator(query.device()).reserve((weights + 3) / 4));
  }
  const auto features = static_cast<double>(std::max<std::int64_t>(query.dim() > 0 ? query.size(-1) : 1, 1));
  return ops::dispatch<ops::Attention>(query, key, value, attn_mask, dropout_p, is_causal,
                                       scale.value_or(1 / std::sqrt(features)), at.seed, at.offset);
}

std::vector<Tensor> scaled_dot_product_attention_backward(const Tensor& grad, const Tensor& query,
                                                          const Tensor& key, const Tensor& value,
                                                          const Tensor& attn_mask, bool mask_grad,
                                                          double dropout_p, bool is_causal, double scale,
                                                          std::int64_t seed, std::int64_t offset) {
  const auto out = ops::dispatch<ops::AttentionBackward>(grad, query, key, value, attn_mask, mask_grad,
                                                         dropout_p, is_causal, scale, seed, offset);
  return {out.begin(), out.end()};
}

}  // namespace halftone
