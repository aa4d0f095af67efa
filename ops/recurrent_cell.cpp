// LSTM and GRU cells after their matrix products, fused: gates are sums that have not gone through their
// sigmoid or tanh, so that backward computes those again in fp32 from what is kept.

#include "halftone/ops/recurrent_cell.h"

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/kernels/copy.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/pointwise.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace ops {
namespace {

/// Throws Error unless gates is (N, count H) for states (N, H), all floating and on one device.
void check_gates(const char* op, std::int64_t count, const Tensor& gates,
                 std::initializer_list<const Tensor*> states) {
  check_defined(op, "gates", gates);
  if (gates.dim() != 2) fail(op, "expected gates (N, ", count, " H), got ", gates);
  for (const Tensor* state : states) {
    check_defined(op, "a state", *state);
    if (state->dim() != 2 || state->size(0) != gates.size(0) || state->size(1) * count != gates.size(1)) {
      fail(op, "expected gates (N, ", count, " H) and states (N, H), got ", gates, " and ", *state);
    }
    if (!state->is_floating_point() || !gates.is_floating_point()) {
      fail(op, "expected floating tensors, got ", gates, " and ", *state);
    }
    if (state->device() != gates.device()) {
      fail(op, "expected one device, got ", gates.device(), " and ", state->device());
    }
  }
}

/// Column block `i` of (N, count H).
Tensor block(const Tensor& gates, std::int64_t i, std::int64_t h) { return narrow(gates, 1, i * h, h); }

/// Into a result that autograd knows nothing of.
void copy_into(const Tensor& out, const Tensor& src) {
  kernels_for<CopyKernels>(out.device()).copy(out, src);
}

Tensor wide_like(const Tensor& x) { return allocate(like(x, x.sizes(), accumulate_type(x.scalar_type()))); }

/// `x` with the derivative of tanh or sigmoid at it.
struct Gate {
  Tensor value, slope;
};
Gate tanh_gate(const Tensor& x) { return {tanh(x), sigmoid(x * 2) * sigmoid(x * -2) * 4}; }
Gate sigmoid_gate(const Tensor& x) {
  const Tensor y = sigmoid(x);
  return {y, y * sigmoid(neg(x))};
}

Tensor wide_or_zeros(const Tensor& x, const Tensor& like) { return x.defined() ? wide(x) : zeros_like(like); }

}  // namespace

void run_lstm_gates(const Tensor& h_out, const Tensor& c_out, const Tensor& gates, const Tensor& cx) {
  const NoGradGuard no_grad;
  const std::int64_t h = cx.size(1);
  const Tensor i = block(gates, 0, h), f = block(gates, 1, h), g = block(gates, 2, h), o = block(gates, 3, h);
  pointwise(Fn::kLstmCell, c_out, {&i, &f, &g, &cx});
  pointwise(Fn::kSigmoidTimesTanh, h_out, {&o, &c_out});
}

/// With d = grad_c + grad_h o (1 - t^2), t = tanh(cy), the gradients are d g i', d c f', d i g', grad_h t o'
/// for the gates and d f for cx; i' is the derivative of i.
struct LstmGatesBackward : Operator {
  static constexpr Schema schema{
      "lstm_gates_backward",
      {"grad_h", "grad_c", "gates", "cx", "cy"},
      "gradients of lstm_gates with respect to gates and cx; cy is its second result"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, const Tensor&, const Tensor&,
                                                     const Tensor&,
                                                     const Tensor&) = &halftone::lstm_gates_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2) | keep_input(3) | keep_input(4);

  static std::array<Meta, 2> infer(const Tensor& grad_h, const Tensor& grad_c, const Tensor& gates,
                                   const Tensor& cx, const Tensor& cy) {
    check_gates(schema.name, 4, gates, {&grad_h, &grad_c, &cx, &cy});
    return {like(gates), like(cx)};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& grad_h, const Tensor& grad_c,
                  const Tensor& gates, const Tensor& cx, const Tensor& cy) {
    const NoGradGuard no_grad;
    const std::int64_t h = cx.size(1);
    const Tensor i = block(gates, 0, h), f = block(gates, 1, h), g = block(gates, 2, h),
                 o = block(gates, 3, h);
    const Tensor d = wide_like(cy);
    pointwise(Fn::kLstmCellBackward, d, {&grad_c, &grad_h, &o, &cy});
    pointwise(Fn::kSigmoidTimesTanhBackwardGate, block(out[0], 0, h), {&d, &i, &g});
    pointwise(Fn::kSigmoidTimesBackwardGate, block(out[0], 1, h), {&d, &f, &cx});
    pointwise(Fn::kSigmoidTimesTanhBackward, block(out[0], 2, h), {&d, &i, &g});
    pointwise(Fn::kSigmoidTimesTanhBackwardGate, block(out[0], 3, h), {&grad_h, &o, &cy});
    pointwise(Fn::kSigmoidTimes, out[1], {&f, &d});
  }
  /// With v the gradients of the results, S = vi g i' + vf c f' + vg i g' + vc f and P = vo t o', the sum of
  /// their products with the results is d S + grad_h P.
  static Gradients backward(const Saved& s, const Gradients& v) {
    const Tensor gh = wide(s.input(0)), gc = wide(s.input(1)), gates = wide(s.input(2)), c = wide(s.input(3));
    const std::int64_t h = c.size(1);
    const Gate i = sigmoid_gate(block(gates, 0, h)), f = sigmoid_gate(block(gates, 1, h)),
               g = tanh_gate(block(gates, 2, h)), o = sigmoid_gate(block(gates, 3, h)),
               t = tanh_gate(wide(s.input(4)));
    const Tensor all = wide_or_zeros(v[0], gates), vc = wide_or_zeros(v[1], c);
    const Tensor vi = block(all, 0, h), vf = block(all, 1, h), vg = block(all, 2, h), vo = block(all, 3, h);
    const auto bend = [](const Gate& sigmoid) { return sigmoid.slope * (1 - sigmoid.value * 2); };

    const Tensor d = gc + gh * o.value * t.slope;
    const Tensor sum = vi * g.value * i.slope + vf * c * f.slope + vg * i.value * g.slope + vc * f.value;
    const Tensor grad_i = d * (vi * g.value * bend(i) + vg * i.slope * g.slope);
    const Tensor grad_f = d * (vf * c * bend(f) + vc * f.slope);
    const Tensor grad_g = d * (vi * i.slope * g.slope - vg * i.value * g.value * g.slope * 2);
    const Tensor grad_o = sum * gh * t.slope * o.slope + gh * vo * t.value * bend(o);
    const Tensor grad_t = gh * vo * o.slope - sum * gh * o.value * t.value * 2;
    return {sum * o.value * t.slope + vo * t.value * o.slope, sum, cat({grad_i, grad_f, grad_g, grad_o}, 1),
            d * vf * f.slope, grad_t * t.slope};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 3}), s.rand({2, 12}), s.rand({2, 3}), s.rand({2, 3}));
    s(s.rand({3, 1}), s.rand({3, 1}), s.rand({3, 4}, -8, 8), s.rand({3, 1}), s.rand({3, 1}));
    s(s.rand({0, 2}), s.rand({0, 2}), s.rand({0, 8}), s.rand({0, 2}), s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(LstmGatesBackward)

struct LstmGates : Operator {
  static constexpr Schema schema{
      "lstm_gates",
      {"gates", "cx"},
      "c = sigmoid(f) cx + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c) of the gate sums i, f, g, o"};
  static constexpr std::tuple<Tensor, Tensor> (*api)(const Tensor&, const Tensor&) = &halftone::lstm_gates;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_result(1);

  static std::array<Meta, 2> infer(const Tensor& gates, const Tensor& cx) {
    check_gates(schema.name, 4, gates, {&cx});
    return {like(gates, cx.sizes()), like(cx)};
  }
  static void run(const std::array<Tensor, 2>& out, const Tensor& gates, const Tensor& cx) {
    run_lstm_gates(out[0], out[1], gates, cx);
  }
  static Gradients backward(const Saved& s, const Gradients& g) {
    const Tensor c = s.result(1);
    const auto [gates, cx] =
        lstm_gates_backward(g[0].defined() ? g[0] : zeros_like(c), g[1].defined() ? g[1] : zeros_like(c),
                            s.input(0), s.input(1), c);
    return {gates, cx};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 12}), s.rand({2, 3}));
    s(s.rand({3, 4}, -8, 8), s.rand({3, 1}));
    s(s.rand({0, 8}), s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(LstmGates)

namespace {

/// The sums of both sides for reset and update, and for the candidate.
struct GruParts {
  Tensor reset, update, candidate;
};

GruParts gru_parts(const Tensor& x, const Tensor& hidden, std::int64_t h) {
  GruParts parts;
  const Tensor sums = allocate(like(x, {x.size(0), 2 * h}, accumulate_type(x.scalar_type())));
  const Tensor from_x = narrow(x, 1, 0, 2 * h), from_h = narrow(hidden, 1, 0, 2 * h);
  pointwise(Fn::kAdd, sums, {&from_x, &from_h}, {{1}});
  parts.reset = block(sums, 0, h);
  parts.update = block(sums, 1, h);
  parts.candidate = allocate(like(x, {x.size(0), h}, accumulate_type(x.scalar_type())));
  const Tensor xn = block(x, 2, h), hn = block(hidden, 2, h);
  pointwise(Fn::kGruCandidate, parts.candidate, {&parts.reset, &xn, &hn});
  return parts;
}

}  // namespace

void run_gru_gates(const Tensor& h_out, const Tensor& x, const Tensor& hidden, const Tensor& hx) {
  const NoGradGuard no_grad;
  const GruParts parts = gru_parts(x, hidden, hx.size(1));
  pointwise(Fn::kGruHidden, h_out, {&parts.update, &parts.candidate, &hx});
}

/// With D = grad (1 - z) n', the gradients are D hn r', grad (h - n) z', D for the input's sums, the same
/// with D r in the last place for the hidden state's, and grad z for hx.
struct GruGatesBackward : Operator {
  static constexpr Schema schema{"gru_gates_backward",
                                 {"grad", "input_gates", "hidden_gates", "hx"},
                                 "gradients of gru_gates with respect to its three operands"};
  static constexpr std::tuple<Tensor, Tensor, Tensor> (*api)(const Tensor&, const Tensor&, const Tensor&,
                                                             const Tensor&) = &halftone::gru_gates_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2) | keep_input(3);

  static std::array<Meta, 3> infer(const Tensor& grad, const Tensor& x, const Tensor& hidden,
                                   const Tensor& hx) {
    check_gates(schema.name, 3, x, {&grad, &hx});
    check_gates(schema.name, 3, hidden, {&hx});
    return {like(x), like(hidden), like(hx)};
  }
  static void run(const std::array<Tensor, 3>& out, const Tensor& grad, const Tensor& x, const Tensor& hidden,
                  const Tensor& hx) {
    const NoGradGuard no_grad;
    const std::int64_t h = hx.size(1);
    const GruParts parts = gru_parts(x, hidden, h);
    const Tensor hn = block(hidden, 2, h), d = wide_like(hx);
    pointwise(Fn::kGruCandidateBackward, d, {&grad, &parts.update, &parts.candidate});
    for (const Tensor* gates : {&out[0], &out[1]}) {
      pointwise(Fn::kSigmoidTimesBackwardGate, block(*gates, 0, h), {&d, &parts.reset, &hn});
      pointwise(Fn::kGruUpdateGateBackward, block(*gates, 1, h),
                {&grad, &parts.update, &parts.candidate, &hx});
    }
    copy_into(block(out[0], 2, h), d);
    pointwise(Fn::kSigmoidTimes, block(out[1], 2, h), {&parts.reset, &d});
    pointwise(Fn::kSigmoidTimes, out[2], {&parts.update, &grad});
  }
  /// With v the gradients of the results, u the sum of those for a gate on both sides, A = (1 - z) n' and
  /// M = ur hn r' + pn + qn r, the sum of their products with the results is grad (A M + (h - n) z' uz + z
  /// vh).
  static Gradients backward(const Saved& s, const Gradients& v) {
    const Tensor grad = wide(s.input(0)), x = wide(s.input(1)), hidden = wide(s.input(2)),
                 hx = wide(s.input(3));
    const std::int64_t h = hx.size(1);
    const Tensor hn = block(hidden, 2, h);
    const Gate r = sigmoid_gate(block(x, 0, h) + block(hidden, 0, h));
    const Gate z = sigmoid_gate(block(x, 1, h) + block(hidden, 1, h));
    const Gate n = tanh_gate(block(x, 2, h) + r.value * hn);
    const Tensor p = wide_or_zeros(v[0], x), q = wide_or_zeros(v[1], hidden), vh = wide_or_zeros(v[2], hx);
    const Tensor ur = block(p, 0, h) + block(q, 0, h), uz = block(p, 1, h) + block(q, 1, h);
    const Tensor pn = block(p, 2, h), qn = block(q, 2, h);

    const Tensor closed = 1 - z.value, a = closed * n.slope;
    const Tensor m = ur * hn * r.slope + pn + qn * r.value;
    const Tensor grad_g = a * m + (hx - n.value) * z.slope * uz + z.value * vh;
    const Tensor grad_z =
        grad * (z.slope * vh - z.slope * n.slope * m + (hx - n.value) * z.slope * (1 - z.value * 2) * uz);
    const Tensor grad_n = grad * n.slope * (closed * n.value * m * -2 - z.slope * uz);
    const Tensor grad_r =
        grad * a * (ur * hn * r.slope * (1 - r.value * 2) + qn * r.slope) + grad_n * hn * r.slope;
    const Tensor grad_hn = grad * a * ur * r.slope + grad_n * r.value;
    return {grad_g, cat({grad_r, grad_z, grad_n}, 1), cat({grad_r, grad_z, grad_hn}, 1), grad * z.slope * uz};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), s.rand({2, 9}), s.rand({2, 9}), s.rand({2, 3}));
    s(s.rand({3, 1}), s.rand({3, 3}, -4, 4), s.rand({3, 3}, -4, 4), s.rand({3, 1}));
    s(s.rand({0, 2}), s.rand({0, 6}), s.rand({0, 6}), s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(GruGatesBackward)

struct GruGates : Operator {
  static constexpr Schema schema{
      "gru_gates",
      {"input_gates", "hidden_gates", "hx"},
      "n + z (hx - n), n = tanh(xn + r hn): the new state of a GRU cell from the sums of both sides"};
  static constexpr auto api = &halftone::gru_gates;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2);

  static Meta infer(const Tensor& x, const Tensor& hidden, const Tensor& hx) {
    check_gates(schema.name, 3, x, {&hx});
    check_gates(schema.name, 3, hidden, {&hx});
    return like(x, hx.sizes());
  }
  static void run(const Tensor& out, const Tensor& x, const Tensor& hidden, const Tensor& hx) {
    run_gru_gates(out, x, hidden, hx);
  }
  static Gradients backward(const Saved& s, const Tensor& g) {
    const auto [x, hidden, hx] = gru_gates_backward(g, s.input(0), s.input(1), s.input(2));
    return {x, hidden, hx};
  }
  static void samples(Samples& s) {
    s(s.rand({2, 9}), s.rand({2, 9}), s.rand({2, 3}));
    s(s.rand({3, 3}, -4, 4), s.rand({3, 3}, -4, 4), s.rand({3, 1}));
    s(s.rand({0, 6}), s.rand({0, 6}), s.rand({0, 2}));
  }
};
HALFTONE_REGISTER_OPERATOR(GruGates)

}  // namespace ops

std::tuple<Tensor, Tensor> lstm_gates(const Tensor& gates, const Tensor& cx) {
  auto out = ops::dispatch<ops::LstmGates>(gates, cx);
  return {std::move(out[0]), std::move(out[1])};
}

std::tuple<Tensor, Tensor> lstm_gates_backward(const Tensor& grad_h, const Tensor& grad_c,
                                               const Tensor& gates, const Tensor& cx, const Tensor& cy) {
  auto out = ops::dispatch<ops::LstmGatesBackward>(grad_h, grad_c, gates, cx, cy);
  return {std::move(out[0]), std::move(out[1])};
}

Tensor gru_gates(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx) {
  return ops::dispatch<ops::GruGates>(input_gates, hidden_gates, hx);
}

std::tuple<Tensor, Tensor, Tensor> gru_gates_backward(const Tensor& grad, const Tensor& input_gates,
                                                      const Tensor& hidden_gates, const Tensor& hx) {
  auto out = ops::dispatch<ops::GruGatesBackward>(grad, input_gates, hidden_gates, hx);
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

namespace {

void check_cell(const char* op, std::int64_t gates, const Tensor& input, const Tensor& hx, const Tensor& w_ih,
                const Tensor& w_hh) {
  for (const auto& [name, tensor] : {std::pair<const char*, const Tensor*>{"input", &input},
                                     {"hx", &hx},
                                     {"w_ih", &w_ih},
                                     {"w_hh", &w_hh}}) {
    ops::check_defined(op, name, *tensor);
    if (tensor->dim() != 2) fail(op, "expected two dimensions for ", name, ", got ", *tensor);
  }
  const std::int64_t h = hx.size(1);
  if (!(w_ih.sizes() == IntArrayRef({gates * h, input.size(1)})) ||
      !(w_hh.sizes() == IntArrayRef({gates * h, h}))) {
    fail(op, "expected weights (", gates * h, ", ", input.size(1), ") and (", gates * h, ", ", h,
         ") for input ", input, " and hidden state ", hx, ", got ", w_ih, " and ", w_hh);
  }
  if (input.size(0) != hx.size(0))
    fail(op, "input ", input, " and hidden state ", hx, " differ in their batch");
}

Tensor product(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return bias.defined() ? linear(x, weight, bias) : linear(x, weight);
}

}  // namespace

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const TensorList& hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  if (hx.size() != 2) fail("lstm_cell", "expected two hidden states (h, c), got ", hx.size());
  check_cell("lstm_cell", 4, input, hx[0], w_ih, w_hh);
  const Tensor gates = product(input, w_ih, b_ih) + product(hx[0], w_hh, b_hh);
  return lstm_gates(gates, hx[1]);
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
  check_cell("gru_cell", 3, input, hx, w_ih, w_hh);
  return gru_gates(product(input, w_ih, b_ih), product(hx, w_hh, b_hh), hx);
}

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  check_cell("rnn_tanh_cell", 1, input, hx, w_ih, w_hh);
  return tanh(product(input, w_ih, b_ih) + product(hx, w_hh, b_hh));
}

Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  check_cell("rnn_relu_cell", 1, input, hx, w_ih, w_hh);
  return relu(product(input, w_ih, b_ih) + product(hx, w_hh, b_hh));
}

}  // namespace halftone
