// Gradients.

#include "halftone/tests/porting/check.h"

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Cube : torch::autograd::Function<Cube> {
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto x = ctx->get_saved_variables()[0];
    return {grads[0] * 3 * x * x};
  }
};

torch::Tensor leaf(const torch::Tensor& values) { return values.clone().set_requires_grad(true); }

/// The gradient of the sum of what `f` gives.
torch::Tensor gradient(const std::function<torch::Tensor(torch::Tensor)>& f, const torch::Tensor& at) {
  const auto x = leaf(at);
  f(x).sum().backward();
  return x.grad();
}

}  // namespace

int main() {
  const auto p = torch::tensor({1.0, 2.0, 3.0});

  // The tape
  auto x = leaf(p);
  auto y = (x * x).sum();
  PORTING_CHECK(x.is_leaf() && !y.is_leaf() && y.requires_grad() && y.grad_fn() != nullptr);
  y.backward();
  PORTING_CLOSE(x.grad(), p * 2);
  (x * 3).sum().backward();
  PORTING_CLOSE(x.grad(), p * 2 + 3);
  x.mutable_grad().zero_();
  PORTING_CHECK(x.grad().abs().sum().item<float>() == 0);
  x.mutable_grad().reset();
  PORTING_CHECK(!x.grad().defined());
  {
    torch::NoGradGuard guard;
    PORTING_CHECK(!(x * 2).requires_grad());
  }
  PORTING_CHECK((x * 2).requires_grad() && !(x * 2).detach().requires_grad() &&
                torch::GradMode::is_enabled());
  {
    torch::AutoGradMode off(false);
    PORTING_CHECK(!torch::GradMode::is_enabled());
  }
  auto z = (x * x);
  z.backward(torch::tensor({1.0, 0.5, 0.0}), /*retain_graph=*/true);
  PORTING_CLOSE(x.grad(), torch::tensor({2.0, 2.0, 0.0}));
  z.sum().backward();
  PORTING_THROWS(z.sum().backward());
  PORTING_THROWS(p.sum().backward());
  PORTING_THROWS((x * 2).backward());
  PORTING_THROWS(torch::tensor({1, 2}).requires_grad_());

  // grad, higher orders, hooks
  const auto g = torch::autograd::grad({(x * x * x).sum()}, {x}, {}, true, /*create_graph=*/true)[0];
  PORTING_CLOSE(g, 3 * p * p);
  PORTING_CLOSE(torch::autograd::grad({g.sum()}, {x})[0], 6 * p);
  PORTING_THROWS(torch::autograd::grad({x.sum()}, {leaf(p)}));
  auto w = leaf(p);
  PORTING_CHECK(
      !torch::autograd::grad({x.sum()}, {w}, {}, c10::nullopt, false, /*allow_unused=*/true)[0].defined());
  auto h = leaf(p);
  h.register_hook([](torch::Tensor grad) { return grad * 10; });
  h.sum().backward();
  PORTING_CLOSE(h.grad(), torch::full({3}, 10.0));
  auto inner = leaf(p);
  auto middle = inner * 2;
  middle.retain_grad();
  (middle * middle).sum().backward();
  PORTING_CLOSE(middle.grad(), 4 * p);
  PORTING_CLOSE(gradient([](torch::Tensor t) { return Cube::apply(t); }, p), 3 * p * p);

  // In place and views
  auto v = leaf(p);
  auto u = v * 2;
  u.add_(1).mul_(v);
  u.sum().backward();
  PORTING_CLOSE(v.grad(), 4 * p + 1);
  auto s = leaf(p);
  auto copy = s.clone();
  copy[1] = 0;
  copy.slice(0, 2) *= 5;
  copy.sum().backward();
  PORTING_CLOSE(s.grad(), torch::tensor({1.0, 0.0, 5.0}));
  PORTING_THROWS(s.add_(1));
  auto square = leaf(p), result = square.exp();
  result.mul_(2);
  PORTING_THROWS(result.sum().backward());
  {
    torch::NoGradGuard guard;
    s -= 0.5;
  }
  PORTING_CLOSE(s.detach(), p - 0.5);

  // Gradients of many functions
  PORTING_CLOSE(gradient([](torch::Tensor t) { return t.max(); }, p), torch::tensor({0.0, 0.0, 1.0}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return t.index({t > 1}); }, p),
                torch::tensor({0.0, 1.0, 1.0}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return torch::softmax(t, 0)[0]; }, p),
                torch::tensor({0.0819251, -0.0220330, -0.0598920}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return torch::cumprod(t, 0); }, p),
                torch::tensor({9.0, 4.0, 2.0}));
  PORTING_CLOSE(
      gradient([](torch::Tensor t) { return torch::cumprod(t, 0); }, torch::tensor({2.0, 0.0, 3.0})),
      torch::tensor({1.0, 8.0, 0.0}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return torch::logcumsumexp(t, 0); }, torch::zeros({2})),
                torch::tensor({1.5, 0.5}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return std::get<0>(torch::cummax(t, 0)); },
                         torch::tensor({1.0, 3.0, 2.0})),
                torch::tensor({1.0, 2.0, 0.0}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return t.median(); }, p), torch::tensor({0.0, 1.0, 0.0}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return torch::quantile(t, 0.75); }, p),
                torch::tensor({0.0, 0.5, 0.5}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return std::get<0>(t.topk(2)); }, p),
                torch::tensor({0.0, 1.0, 1.0}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return t.norm(); }, torch::tensor({3.0, 4.0})),
                torch::tensor({0.6, 0.8}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return torch::einsum("i,i->", {t, t}); }, p), 2 * p);
  PORTING_CLOSE(gradient([](torch::Tensor t) { return torch::kron(t, torch::ones({2})); }, p),
                torch::full({3}, 2.0));
  PORTING_CLOSE(gradient(
                    [](torch::Tensor t) {
                      return torch::constant_pad_nd(t, {-1, 4});
                    },
                    p),
                torch::tensor({0.0, 1.0, 1.0}));
  PORTING_CLOSE(gradient(
                    [](torch::Tensor t) {
                      return torch::reflection_pad1d(t.view({1, 3}), {1, 2});
                    },
                    p),
                torch::tensor({2.0, 3.0, 1.0}));
  PORTING_CLOSE(gradient(
                    [](torch::Tensor t) {
                      return torch::upsample_linear1d(t.view({1, 1, 3}), {5}, true);
                    },
                    p),
                torch::tensor({1.5, 2.0, 1.5}));
  PORTING_CLOSE(gradient(
                    [](torch::Tensor t) {
                      return torch::upsample_nearest1d(t.view({1, 1, 3}), {7});
                    },
                    p),
                torch::tensor({3.0, 2.0, 2.0}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return t.unfold(0, 2, 1); }, p),
                torch::tensor({1.0, 2.0, 1.0}));
  PORTING_CLOSE(gradient(
                    [](torch::Tensor t) {
                      return torch::diag_embed(t) * torch::ones({3, 3});
                    },
                    p),
                torch::ones({3}));
  PORTING_CLOSE(gradient(
                    [](torch::Tensor t) {
                      return torch::roll(t, 1) * torch::tensor({1.0, 2.0, 3.0});
                    },
                    p),
                torch::tensor({2.0, 3.0, 1.0}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return torch::xlogy(t, t); }, p), torch::log(p) + 1);
  PORTING_CLOSE(gradient([](torch::Tensor t) { return torch::lgamma(t); }, p), torch::digamma(p));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return torch::erfinv(t); }, torch::tensor({0.5})),
                torch::tensor({1.1125952}));
  PORTING_CLOSE(gradient(
                    [](torch::Tensor t) {
                      return torch::cdist(t.view({1, 3}), torch::zeros({1, 3}));
                    },
                    p),
                p / p.norm());
  PORTING_CLOSE(gradient([](torch::Tensor t) { return torch::where(t > 1, t * t, t); }, p),
                torch::tensor({1.0, 4.0, 6.0}));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return t.repeat_interleave(2) + t.repeat({2}); }, p),
                torch::full({3}, 4.0));
  PORTING_CLOSE(gradient([](torch::Tensor t) { return t.to(torch::kDouble).square(); }, p), 2 * p);
  return porting::result("autograd_basics");
}
