// First figures of a GPU: copies, products, softmax and the optimizer step, on the device's own clock.
// Products are compared with the best product measured in the same run, memory-bound work with a
// device-to-device copy.
//
//   bench_gpu            prints a table; says so where there is no device

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "halftone/halftone.h"

namespace ht = halftone;

namespace {

constexpr int kRepeats = 9;

/// Median milliseconds of one call, after two that warm up.
double milliseconds(const std::function<void()>& call) {
  call();
  call();
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) {
    ht::cuda::Event begin(true), end(true);
    begin.record();
    call();
    end.record();
    end.synchronize();
    times.push_back(begin.elapsed_time(end));
  }
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

void print(const std::string& what, double ms, double amount, const char* unit, double ceiling) {
  const double rate = amount / (ms * 1e-3) / 1e12;
  std::printf("%-44s %9.4f ms %9.2f %s", what.c_str(), ms, rate, unit);
  if (ceiling > 0) std::printf("  %5.1f %%", 100 * rate / ceiling);
  std::printf("\n");
}

ht::Tensor random(std::vector<std::int64_t> sizes, ht::Dtype dtype) {
  return ht::randn(sizes, ht::TensorOptions(ht::kFloat).device(ht::kCUDA)).to(dtype);
}

/// TFLOP/s of n x n products; the largest size is the ceiling of the others.
void products(ht::Dtype dtype) {
  constexpr std::int64_t kSizes[] = {8192, 4096, 2048, 1024, 512, 128};
  double ceiling = 0;
  for (const std::int64_t n : kSizes) {
    const ht::Tensor a = random({n, n}, dtype), b = random({n, n}, dtype);
    const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    const double ms = milliseconds([&] { (void)ht::mm(a, b); });
    ceiling = std::max(ceiling, flops / (ms * 1e-3) / 1e12);
    print(ht::concat("mm ", ht::dtype_name(dtype), " ", n), ms, flops, "TFLOP/s", ceiling);
  }
}

}  // namespace

int main() {
  if (!ht::cuda::is_available()) {
    std::printf("bench_gpu: %s\n", ht::cuda::why_unavailable().c_str());
    return 0;
  }
  std::printf("%s; median of %d, rates in units of 1e12\n", ht::cuda::device_name().c_str(), kRepeats);
  const ht::NoGradGuard no_grad;
  for (const ht::Dtype dtype : {ht::kFloat, ht::kBFloat16, ht::kHalf}) products(dtype);

  constexpr std::int64_t kElements = std::int64_t{1} << 28;
  ht::Tensor from = random({kElements}, ht::kFloat), to = ht::empty_like(from);
  const double bytes = 2.0 * 4.0 * kElements;
  const double copy = milliseconds([&] { to.copy_(from); });
  const double ceiling = bytes / (copy * 1e-3) / 1e12;
  print("copy float32", copy, bytes, "TB/s", 0);
  for (const ht::Dtype dtype : {ht::kFloat, ht::kBFloat16, ht::kHalf}) {
    const ht::Tensor x = from.to(dtype), rows = x.view({-1, 4096});
    const double moved = 2.0 * static_cast<double>(x.nbytes());
    print(ht::concat("relu ", ht::dtype_name(dtype)), milliseconds([&] { (void)ht::relu(x); }), moved, "TB/s",
          ceiling);
    print(ht::concat("softmax over 4096 ", ht::dtype_name(dtype)),
          milliseconds([&] { (void)ht::softmax(rows, -1); }), moved, "TB/s", ceiling);
  }

  // AdamW reads gradient, weight and two moments and writes three of them; the finite check reads the
  // gradient once more.
  ht::Tensor weight = random({kElements / 4}, ht::kFloat).requires_grad_();
  weight.mutable_grad() = random({kElements / 4}, ht::kFloat);
  for (const bool scaled : {false, true}) {
    ht::optim::AdamW optimizer({weight}, ht::optim::AdamWOptions(1e-3));
    if (scaled) optimizer.use_loss_scaling(ht::amp::LossScaling::dynamic());
    print(scaled ? "AdamW, 67 M weights, loss scaling" : "AdamW, 67 M weights",
          milliseconds([&] { optimizer.step(); }), (scaled ? 8.0 : 7.0) * 4.0 * kElements / 4, "TB/s",
          ceiling);
  }
}
