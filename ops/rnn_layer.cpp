// Recurrent layers over all steps. A step is one product and one cell; the weight's gradient is one product
// over all steps, so it is summed in fp32. Backward is composed of public operators, so it can be
// differentiated again.

#include <algorithm>

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/pointwise.h"
#include "halftone/ops/product.h"
#include "halftone/ops/recurrent_cell.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace ops {
namespace {

/// The rows of each step, and the order in which steps are taken.
class Steps {
 public:
  Steps(const Tensor& batch_sizes, bool reverse) : reverse_(reverse) {
    const Tensor host = batch_sizes.to(kCPU).contiguous();
    std::int64_t at = 0;
    for (std::int64_t t = 0; t < host.numel(); ++t) {
      const std::int64_t batch = host.data_ptr<std::int64_t>()[t];
      offsets_.push_back(at);
      batches_.push_back(batch);
      at += batch;
    }
  }
  std::size_t count() const { return batches_.size(); }
  std::int64_t batch(std::size_t t) const { return batches_[t]; }
  /// The step that is taken `i`-th.
  std::size_t taken(std::size_t i) const { return reverse_ ? count() - 1 - i : i; }
  /// The rows of step `t`.
  Tensor rows(const Tensor& all, std::size_t t) const { return narrow(all, 0, offsets_[t], batches_[t]); }
  /// What step `t` starts from: the rows of the step taken before, or of `first` where that had none.
  Tensor before(const Tensor& all, const Tensor& first, std::size_t t) const {
    const std::size_t start = taken(0);
    if (t == start) return narrow(first, 0, 0, batches_[t]);
    const std::size_t previous = reverse_ ? t + 1 : t - 1;
    const std::int64_t shared = std::min(batches_[previous], batches_[t]);
    const Tensor there = narrow(all, 0, offsets_[previous], shared);
    if (shared == batches_[t]) return there;
    return cat({there, to_dtype(narrow(first, 0, shared, batches_[t] - shared), all.scalar_type())}, 0);
  }
  /// `before` of all steps, in the order of rows.
  Tensor all_before(const Tensor& all, const Tensor& first) const {
    std::vector<Tensor> pieces;
    for (std::size_t t = 0; t < count(); ++t) pieces.push_back(before(all, first, t));
    return cat(pieces, 0);
  }

 private:
  std::vector<std::int64_t> offsets_, batches_;
  bool reverse_;
};

/// A gradient on its way through the steps, last taken first: it has the rows of the step it comes from.
class Carried {
 public:
  /// Makes it fit a step of `batch` rows: those beyond came straight from the first state, new ones are zero.
  void fit(std::int64_t batch) {
    if (!rows_.defined() || rows_.size(0) == batch) return;
    const std::int64_t have = rows_.size(0);
    if (have > batch) {
      for_first_.push_back(narrow(rows_, 0, batch, have - batch));
      rows_ = narrow(rows_, 0, 0, batch);
    } else {
      rows_ = cat({rows_, zeros({batch - have, rows_.size(1)}, rows_.options())}, 0);
    }
  }
  const Tensor& rows() const { return rows_; }
  void set(Tensor rows) { rows_ = std::move(rows); }
  /// The gradient of the first state.
  Tensor finish() const {
    std::vector<Tensor> pieces{rows_};
    pieces.insert(pieces.end(), for_first_.rbegin(), for_first_.rend());
    return pieces.size() == 1 ? rows_ : cat(pieces, 0);
  }

 private:
  Tensor rows_;
  std::vector<Tensor> for_first_;
};

/// x + y, either of which may be undefined; zeros like `like` when both are.
Tensor plus(const Tensor& x, const Tensor& y, const Tensor& like) {
  if (x.defined() && y.defined()) return x + y;
  if (!x.defined() && !y.defined()) return zeros_like(like);
  return x.defined() ? x : y;
}

Tensor rows_of(const Steps& steps, const Tensor& all, std::size_t t) {
  return all.defined() ? steps.rows(all, t) : all;
}

/// Throws Error unless the operands fit together. `gates`: blocks of H columns.
void check_layer(const char* op, std::int64_t gates, const Tensor& x, const Tensor& w, const Tensor& bias,
                 const Tensor& hx, const Tensor& batch_sizes) {
  check_defined(op, "input_gates", x);
  check_defined(op, "w_hh", w);
  check_defined(op, "hx", hx);
  if (hx.dim() != 2) fail(op, "expected a hidden state (N, H), got ", hx);
  const std::int64_t n = hx.size(0), h = hx.size(1);
  if (!(w.sizes() == IntArrayRef({gates * h, h}))) {
    fail(op, "expected w_hh (", gates * h, ", ", h, ") for the hidden state ", hx, ", got ", w);
  }
  if (bias.defined() && !(bias.sizes() == IntArrayRef({gates * h}))) {
    fail(op, "expected a bias (", gates * h, "), got ", bias);
  }
  check_defined(op, "batch_sizes", batch_sizes);
  if (batch_sizes.dim() != 1 || batch_sizes.scalar_type() != kLong || batch_sizes.numel() == 0) {
    fail(op, "expected int64 batch_sizes of one step or more, got ", batch_sizes);
  }
  const Tensor host = batch_sizes.to(kCPU).contiguous();
  std::int64_t total = 0, last = n;
  for (std::int64_t t = 0; t < host.numel(); ++t) {
    const std::int64_t batch = host.data_ptr<std::int64_t>()[t];
    if (batch < 0 || batch > last || (t == 0 && batch != n)) {
      fail(op, "batch_sizes must start with the batch ", n, " and not increase, got ", batch, " in step ", t);
    }
    total += batch;
    last = batch;
  }
  if (!(x.sizes() == IntArrayRef({total, gates * h}))) {
    fail(op, "expected input_gates (", total, ", ", gates * h, "), got ", x);
  }
  check_product_operands(op, {&x, &w, &bias, &hx});
  if (!x.is_floating_point()) fail(op, "expected floating tensors, got ", x);
}

/// out = rows @ w^T + addend (or bias), rounded once.
void recurrent_product(const Tensor& out, const Tensor& rows, const Tensor& w, const Tensor& addend,
                       const Tensor& bias) {
  Epilogue epilogue;
  MatrixStack extra;
  if (addend.defined()) {
    epilogue.beta = 1;
    extra = matrices(addend);
  }
  if (bias.defined()) {
    epilogue.bias = bias.data_ptr();
    epilogue.bias_dtype = bias.scalar_type();
  }
  run_product(out.device(), matrices(out), matrices(rows), transposed(matrices(w)), epilogue,
              addend.defined() ? &extra : nullptr);
}

/// The gradient of w_hh: the product of all steps.
Tensor weight_gradient(const Saved& s, int input, const Tensor& gates, const Tensor& states) {
  return matmul_to_size(transpose(gates, 0, 1), to_dtype(states, gates.scalar_type()), s.sizes(input),
                        s.dtype(input));
}

/// For samples.
Tensor rows_per_step(std::initializer_list<std::int64_t> rows) {
  const Tensor out = empty({static_cast<std::int64_t>(rows.size())}, TensorOptions(kLong).device(kCPU));
  std::copy(rows.begin(), rows.end(), out.data_ptr<std::int64_t>());
  return out;
}

}  // namespace

struct LstmLayer : Operator {
  static constexpr Schema schema{"lstm_layer",
                                 {"input_gates", "w_hh", "hx", "cx", "batch_sizes", "reverse"},
                                 "lstm_gates(input_gates[t] + h @ w_hh.t(), c) for all steps t"};
  static constexpr std::tuple<Tensor, Tensor, Tensor> (*api)(const Tensor&, const Tensor&, const Tensor&,
                                                             const Tensor&, const Tensor&,
                                                             bool) = &halftone::lstm_layer;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(1) | keep_input(2, {1}) | keep_input(3) | keep_input(4) |
                                keep_result(0) | keep_result(1) | keep_result(2);
  // Gates and hidden states are results in the low dtype, and the next step reads them.
  static constexpr Ulp ulp{.f32 = 16, .f16 = 32, .bf16 = 32};

  static std::array<Meta, 3> infer(const Tensor& x, const Tensor& w, const Tensor& hx, const Tensor& cx,
                                   const Tensor& batch_sizes, bool) {
    check_layer(schema.name, 4, x, w, {}, hx, batch_sizes);
    check_defined(schema.name, "cx", cx);
    if (!(cx.sizes() == hx.sizes()) || !cx.is_floating_point() || cx.device() != hx.device()) {
      fail(schema.name, "expected a cell state like the hidden state ", hx, ", got ", cx);
    }
    Meta cells = like(x, {x.size(0), hx.size(1)}, accumulate_type(x.scalar_type()));
    cells.explicit_dtype = true;
    return {like(x, {x.size(0), hx.size(1)}), cells, like(x)};
  }
  static void run(const std::array<Tensor, 3>& out, const Tensor& x, const Tensor& w, const Tensor& hx,
                  const Tensor& cx, const Tensor& batch_sizes, bool reverse) {
    const NoGradGuard no_grad;
    const Steps steps(batch_sizes, reverse);
    for (std::size_t i = 0; i < steps.count(); ++i) {
      const std::size_t t = steps.taken(i);
      if (steps.batch(t) == 0) continue;
      const Tensor gates = steps.rows(out[2], t);
      recurrent_product(gates, steps.before(out[0], hx, t), w, steps.rows(x, t), {});
      run_lstm_gates(steps.rows(out[0], t), steps.rows(out[1], t), gates, steps.before(out[1], cx, t));
    }
  }
  static Gradients backward(const Saved& s, const Gradients& g, bool reverse) {
    const Steps steps(s.input(4), reverse);
    const Tensor w = s.input(1), cx = s.input(3), hidden = s.result(0), cells = s.result(1),
                 gates = s.result(2);
    Carried carried_h, carried_c;
    std::vector<Tensor> pieces(steps.count());
    for (std::size_t i = steps.count(); i-- > 0;) {
      const std::size_t t = steps.taken(i);
      carried_h.fit(steps.batch(t));
      carried_c.fit(steps.batch(t));
      const Tensor c = steps.rows(cells, t);
      const auto [grad_gates, grad_c] =
          lstm_gates_backward(plus(rows_of(steps, g[0], t), carried_h.rows(), c),
                              plus(rows_of(steps, g[1], t), carried_c.rows(), c), steps.rows(gates, t),
                              steps.before(cells, cx, t), c);
      pieces[t] = plus(grad_gates, rows_of(steps, g[2], t), grad_gates);
      carried_h.set(mm(pieces[t], w));
      carried_c.set(grad_c);
    }
    const Tensor grad_gates = cat(pieces, 0);
    Gradients grads{grad_gates, Tensor(), carried_h.finish(), carried_c.finish(), Tensor()};
    if (s.needs(1)) grads[1] = weight_gradient(s, 1, grad_gates, steps.all_before(hidden, s.input(2)));
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({4, 8}), s.rand({8, 2}, -1, 1), s.rand({2, 2}), s.rand({2, 2}), rows_per_step({2, 2}), false);
    s(s.rand({4, 4}), s.rand({4, 1}, -1, 1), s.rand({3, 1}), s.rand({3, 1}), rows_per_step({3, 1}), true);
    s(s.rand({4, 4}), s.rand({4, 1}, -1, 1), s.rand({2, 1}), s.rand({2, 1}), rows_per_step({2, 1, 1}), false);
    s(s.rand({0, 8}), s.rand({8, 2}), s.rand({0, 2}), s.rand({0, 2}), rows_per_step({0, 0}), false);
  }
};
HALFTONE_REGISTER_OPERATOR(LstmLayer)

struct GruLayer : Operator {
  static constexpr Schema schema{"gru_layer",
                                 {"input_gates", "w_hh", "bias", "hx", "batch_sizes", "reverse"},
                                 "gru_gates(input_gates[t], h @ w_hh.t() + bias, h) for all steps t"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, const Tensor&, const Tensor&,
                                                     const Tensor&, const Tensor&,
                                                     bool) = &halftone::gru_layer;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves =
      keep_input(0) | keep_input(1) | keep_input(3) | keep_input(4) | keep_result(0) | keep_result(1);
  static constexpr Ulp ulp{.f32 = 16, .f16 = 32, .bf16 = 32};

  static std::array<Meta, 2> infer(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& hx,
                                   const Tensor& batch_sizes, bool) {
    check_layer(schema.name, 3, x, w, bias, hx, batch_sizes);
    return {like(x, {x.size(0), hx.size(1)}), like(x)};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& x, const Tensor& w, const Tensor& bias,
                  const Tensor& hx, const Tensor& batch_sizes, bool reverse) {
    const NoGradGuard no_grad;
    const Steps steps(batch_sizes, reverse);
    const Tensor dense_bias = bias.defined() ? bias.contiguous() : bias;
    for (std::size_t i = 0; i < steps.count(); ++i) {
      const std::size_t t = steps.taken(i);
      if (steps.batch(t) == 0) continue;
      const Tensor before = steps.before(out[0], hx, t), products = steps.rows(out[1], t);
      recurrent_product(products, before, w, {}, dense_bias);
      run_gru_gates(steps.rows(out[0], t), steps.rows(x, t), products, before);
    }
  }
  static Gradients backward(const Saved& s, const Gradients& g, bool reverse) {
    const Steps steps(s.input(4), reverse);
    const Tensor x = s.input(0), w = s.input(1), hx = s.input(3), hidden = s.result(0),
                 products = s.result(1);
    Carried carried;
    std::vector<Tensor> x_pieces(steps.count()), h_pieces(steps.count());
    for (std::size_t i = steps.count(); i-- > 0;) {
      const std::size_t t = steps.taken(i);
      carried.fit(steps.batch(t));
      const Tensor h = steps.rows(hidden, t);
      const auto [grad_x, grad_products, grad_h] =
          gru_gates_backward(plus(rows_of(steps, g[0], t), carried.rows(), h), steps.rows(x, t),
                             steps.rows(products, t), steps.before(hidden, hx, t));
      x_pieces[t] = grad_x;
      h_pieces[t] = plus(grad_products, rows_of(steps, g[1], t), grad_products);
      carried.set(addmm(grad_h, h_pieces[t], w));
    }
    const Tensor grad_products = cat(h_pieces, 0);
    Gradients grads{cat(x_pieces, 0), Tensor(), Tensor(), carried.finish(), Tensor()};
    if (s.needs(1)) grads[1] = weight_gradient(s, 1, grad_products, steps.all_before(hidden, hx));
    if (s.needs(2)) grads[2] = sum(grad_products, 0, false, s.dtype(2));
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({4, 6}), s.rand({6, 2}, -1, 1), s.rand({6}), s.rand({2, 2}), rows_per_step({2, 2}), false);
    s(s.rand({4, 3}), s.rand({3, 1}, -1, 1), std::nullopt, s.rand({3, 1}), rows_per_step({3, 1}), true);
    s(s.rand({4, 3}), s.rand({3, 1}, -1, 1), s.rand({3}), s.rand({2, 1}), rows_per_step({2, 1, 1}), false);
    s(s.rand({0, 6}), s.rand({6, 2}), s.rand({6}), s.rand({0, 2}), rows_per_step({0, 0}), false);
  }
};
HALFTONE_REGISTER_OPERATOR(GruLayer)

namespace {

bool is_tanh(const char* op, std::string_view nonlinearity) {
  if (nonlinearity != "tanh" && nonlinearity != "relu") {
    fail(op, "nonlinearity must be \"tanh\" or \"relu\", got \"", nonlinearity, "\"");
  }
  return nonlinearity == "tanh";
}

/// grad times the derivative, given the function's result.
Tensor through(const Tensor& grad, const Tensor& result, bool tanh_form) {
  if (!tanh_form) return where(result > 0, grad, 0);
  const Tensor y = wide(result);
  return to_dtype(wide(grad) * (1 - y * y), grad.scalar_type());
}

}  // namespace

struct RnnLayer : Operator {
  static constexpr Schema schema{"rnn_layer",
                                 {"input_gates", "w_hh", "hx", "nonlinearity", "batch_sizes", "reverse"},
                                 "nonlinearity(input_gates[t] + h @ w_hh.t()) for all steps t"};
  static constexpr auto api = &halftone::rnn_layer;
  static constexpr auto precision = amp::Precision::kLow;
  static constexpr Keep saves = keep_input(1) | keep_input(2, {1}) | keep_input(3) | keep_result(0);
  static constexpr Ulp ulp{.f32 = 16, .f16 = 32, .bf16 = 32};

  static Meta infer(const Tensor& x, const Tensor& w, const Tensor& hx, std::string_view nonlinearity,
                    const Tensor& batch_sizes, bool) {
    check_layer(schema.name, 1, x, w, {}, hx, batch_sizes);
    is_tanh(schema.name, nonlinearity);
    return like(x);
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& hx,
                  std::string_view nonlinearity, const Tensor& batch_sizes, bool reverse) {
    const NoGradGuard no_grad;
    const Steps steps(batch_sizes, reverse);
    const Fn function = is_tanh(schema.name, nonlinearity) ? Fn::kTanh : Fn::kRelu;
    for (std::size_t i = 0; i < steps.count(); ++i) {
      const std::size_t t = steps.taken(i);
      if (steps.batch(t) == 0) continue;
      const Tensor sums = allocate(like(x, {steps.batch(t), x.size(1)}, accumulate_type(x.scalar_type())));
      recurrent_product(sums, steps.before(out, hx, t), w, steps.rows(x, t), {});
      pointwise(function, steps.rows(out, t), {&sums});
    }
  }
  static Gradients backward(const Saved& s, const Tensor& g, std::string_view nonlinearity, bool reverse) {
    const Steps steps(s.input(3), reverse);
    const bool tanh_form = is_tanh(schema.name, nonlinearity);
    const Tensor w = s.input(1), hidden = s.result();
    Carried carried;
    std::vector<Tensor> pieces(steps.count());
    for (std::size_t i = steps.count(); i-- > 0;) {
      const std::size_t t = steps.taken(i);
      carried.fit(steps.batch(t));
      const Tensor h = steps.rows(hidden, t);
      pieces[t] = through(plus(steps.rows(g, t), carried.rows(), h), h, tanh_form);
      carried.set(mm(pieces[t], w));
    }
    const Tensor all = cat(pieces, 0);
    Gradients grads{all, Tensor(), carried.finish(), Tensor()};
    if (s.needs(1)) grads[1] = weight_gradient(s, 1, all, steps.all_before(hidden, s.input(2)));
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({4, 2}), s.rand({2, 2}, -1, 1), s.rand({2, 2}), "tanh", rows_per_step({2, 2}), false);
    s(s.rand({4, 1}), s.rand({1, 1}, -1, 1), s.rand({3, 1}), "tanh", rows_per_step({3, 1}), true);
    s(s.rand({4, 2}), s.rand({2, 2}, -1, 1), s.rand({2, 2}), "relu", rows_per_step({2, 1, 1}), false);
    s(s.rand({0, 2}), s.rand({2, 2}), s.rand({0, 2}), "relu", rows_per_step({0, 0}), false);
  }
};
HALFTONE_REGISTER_OPERATOR(RnnLayer)

}  // namespace ops

std::tuple<Tensor, Tensor, Tensor> lstm_layer(const Tensor& input_gates, const Tensor& w_hh, const Tensor& hx,
                                              const Tensor& cx, const Tensor& batch_sizes, bool reverse) {
  auto out = ops::dispatch<ops::LstmLayer>(input_gates, w_hh, hx, cx, batch_sizes, reverse);
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

std::tuple<Tensor, Tensor> gru_layer(const Tensor& input_gates, const Tensor& w_hh, const Tensor& bias,
                                     const Tensor& hx, const Tensor& batch_sizes, bool reverse) {
  auto out = ops::dispatch<ops::GruLayer>(input_gates, w_hh, bias, hx, batch_sizes, reverse);
  return {std::move(out[0]), std::move(out[1])};
}

Tensor rnn_layer(const Tensor& input_gates, const Tensor& w_hh, const Tensor& hx,
                 std::string_view nonlinearity, const Tensor& batch_sizes, bool reverse) {
  return ops::dispatch<ops::RnnLayer>(input_gates, w_hh, hx, nonlinearity, batch_sizes, reverse);
}

}  // namespace halftone
