// An operator of your own, declared as the built-in ones are: one struct states its name, its precision
// policy, its shape rule, its kernel, its gradient and its samples. Registered, it takes part in autocast,
// the tape, the registry and gradcheck like any other.

#include <cmath>
#include <cstdio>

#include <halftone/halftone.h>
#include <halftone/ops/operator.h>

namespace ht = halftone;

// y = x * softplus-like gate: "squareplus", (x + sqrt(x^2 + b)) / 2 (Barron 2021, arXiv 2112.11687).
ht::Tensor squareplus(const ht::Tensor& self, double b);

struct Squareplus : ht::ops::Operator {
  static constexpr ht::ops::Schema schema{"squareplus", {"self", "b"}, "(x + sqrt(x * x + b)) / 2"};
  static constexpr ht::Tensor (*api)(const ht::Tensor&, double) = &squareplus;
  static constexpr auto precision = ht::amp::Precision::kFp32Inside;  // the one line that states the policy
  static constexpr ht::ops::Keep saves = ht::ops::keep_input(0);

  static ht::ops::Meta infer(const ht::Tensor& self, double b) {
    if (!(b >= 0)) ht::fail(schema.name, "b must not be negative, got ", b);
    return ht::ops::like(self);
  }

  // Reads any floating dtype, computes in fp32, rounds once: the copies convert.
  static void run(const ht::Tensor& out, const ht::Tensor& self, double b) {
    const ht::NoGradGuard no_grad;
    const bool is_double = self.scalar_type() == ht::kDouble;
    ht::Tensor values = self.to(is_double ? ht::kDouble : ht::kFloat, false, /*copy=*/true).contiguous();
    ht::dispatch_all(values.scalar_type(), [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        T* x = values.data_ptr<T>();
        const T offset = static_cast<T>(b);
        for (std::int64_t i = 0; i < values.numel(); ++i) x[i] = (x[i] + std::sqrt(x[i] * x[i] + offset)) / 2;
      }
    });
    ht::Tensor(out).copy_(values);
  }

  // dy/dx = (1 + x / sqrt(x^2 + b)) / 2, in public operators, so it can be differentiated again.
  static ht::Tensor backward(const ht::ops::Saved& saved, const ht::Tensor& grad, double b) {
    const ht::Tensor x = saved.input(0);
    return grad * (x * (x * x + b).rsqrt() + 1.0) * 0.5;
  }

  static void samples(ht::ops::Samples& s) {
    s(s.rand({2, 3}), 4.0);
    s(s.rand({5}), 1.0);
    s(s.rand({0, 2}), 1.0);
  }
};

ht::Tensor squareplus(const ht::Tensor& self, double b) { return ht::ops::dispatch<Squareplus>(self, b); }

int main() {
  ht::register_operator<Squareplus>();

  // It is in the registry, and its samples drive the same checks as the built-in operators'.
  const ht::ops::OpInfo* info = ht::ops::find_operator("squareplus");
  std::printf("registered: %s, policy %s\n", info->name, ht::amp::precision_name(info->precision));
  for (const ht::ops::Sample& sample : info->samples()) {
    ht::Tensor x = std::get<ht::Tensor>(sample.args[0]).clone().requires_grad_();
    const double b = std::get<double>(sample.args[1]);
    const auto function = [b](const std::vector<ht::Tensor>& in) {
      return std::vector<ht::Tensor>{squareplus(in[0], b)};
    };
    ht::autograd::gradcheck(function, {x});
    ht::autograd::gradgradcheck(function, {x});
  }
  std::puts("gradients agree with finite differences, to second order");

  // Inside a region it follows its policy: half in, half out, fp32 between.
  ht::Tensor x = ht::tensor({-1.0, 0.0, 2.0}).to(ht::kBFloat16).requires_grad_();
  {
    const ht::amp::Autocast autocast(ht::kCPU, ht::kBFloat16);
    ht::Tensor y = squareplus(x, 4.0);
    std::printf("in a bf16 region: %s -> %s\n", ht::dtype_name(x.scalar_type()),
                ht::dtype_name(y.scalar_type()));
    y.sum().backward();
  }
  std::printf("gradient at 2: %.4f\n", x.grad()[2].item<double>());
}
