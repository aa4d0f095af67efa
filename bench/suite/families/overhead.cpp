// What calling an operator costs besides its kernel: the smallest tensors, plain, recorded, and under
// autocast, and traced.

#include <optional>

#include "halftone/amp/autocast.h"
#include "halftone/amp/trace.h"
#include "halftone/autograd/autograd.h"
#include "halftone/bench/suite/families/operands.h"

namespace halftone::bench {
namespace {

Work add_work(const Setting& setting) {
  manual_seed(1);
  const Tensor a = uniform({4}, setting), b = uniform({4}, setting);
  return work_of([=] { return a + b; },
                 [=] {
                   const Tensor x = exactly(a), y = exactly(b);
                   return Reference{x + y, x.abs() + y.abs()};
                 });
}

Work add_in_place(const Setting& setting) {
  manual_seed(1);
  const Tensor a = uniform({4}, setting), b = uniform({4}, setting);
  Work work;
  work.run = [sum = a.clone(), b]() mutable { sum.add_(b); };
  work.results = [=] {
    Tensor sum = a.clone();
    sum.add_(b);
    return std::vector<Tensor>{sum};
  };
  work.references = [=] {
    const Tensor x = exactly(a), y = exactly(b);
    return std::vector<Reference>{{x + y, x.abs() + y.abs()}};
  };
  return work;
}

Work relu_work(const Setting& setting) {
  manual_seed(1);
  const Tensor a = uniform({4}, setting);
  return work_of([=] { return relu(a); }, [=] { return Reference{relu(exactly(a)), {}}; });
}

Work transpose_work(const Setting& setting) {
  manual_seed(1);
  const Tensor a = uniform({4, 4}, setting);
  return work_of([=] { return a.t(); }, [=] { return Reference{exactly(a).t(), {}}; });
}

Reference product_reference(const Tensor& x, const Tensor& w, double input_roundoff = 0) {
  const Tensor a = exactly(x), b = exactly(w);
  return {matmul(a, b), matmul(a.abs(), b.abs()), 4, input_roundoff};
}

Work product_work(const Setting& setting) {
  manual_seed(1);
  const Tensor x = uniform({4, 4}, setting), w = uniform({4, 4}, setting);
  return work_of([=] { return matmul(x, w); }, [=] { return product_reference(x, w); });
}

/// Of fp32 tensors: each call converts both.
Work product_under_autocast(const Setting& setting) {
  manual_seed(1);
  const Setting fp32{Precision::kFp32, setting.device};
  const Tensor x = uniform({4, 4}, fp32), w = uniform({4, 4}, fp32).requires_grad_();
  const auto call = [=] {
    const amp::Autocast autocast(setting.device.type(), setting.dtype());
    return matmul(x, w);
  };
  return work_of(call, [=] { return product_reference(x, w, 2 * unit_roundoff(setting.dtype())); });
}

enum class Tracing { kOff, kOn, kWithoutChecks };

/// A hundred such products in one region, all of them under one trace that records them, or none.
Work hundred_products(const Setting& setting, Tracing tracing) {
  manual_seed(1);
  const Setting fp32{Precision::kFp32, setting.device};
  const Tensor x = uniform({4, 4}, fp32), w = uniform({4, 4}, fp32).requires_grad_();
  const auto call = [=] {
    std::optional<amp::Trace> trace;
    if (tracing != Tracing::kOff) {
      amp::TraceOptions options;
      options.check_values = tracing == Tracing::kOn;
      trace.emplace(options);
    }
    const amp::Autocast autocast(setting.device.type(), setting.dtype());
    Tensor y;
    for (int i = 0; i < 100; ++i) y = matmul(x, w);
    return y;
  };
  return work_of(call, [=] { return product_reference(x, w, 2 * unit_roundoff(setting.dtype())); });
}
Work hundred_untraced(const Setting& setting) { return hundred_products(setting, Tracing::kOff); }
Work hundred_traced(const Setting& setting) { return hundred_products(setting, Tracing::kOn); }
Work hundred_unchecked(const Setting& setting) { return hundred_products(setting, Tracing::kWithoutChecks); }

Work recorded_product(const Setting& setting) {
  manual_seed(1);
  const Tensor x = uniform({4, 4}, setting), w = uniform({4, 4}, setting).requires_grad_();
  return work_of([=] { return x * w; }, [=] { return Reference{exactly(x) * exactly(w), {}}; });
}

Work forward_and_backward(const Setting& setting) {
  manual_seed(1);
  const Tensor x = uniform({4, 4}, setting), w = uniform({4, 4}, setting).requires_grad_();
  const auto call = [=] {
    w.mutable_grad() = Tensor();
    const Tensor y = (x * w).sum();
    y.backward();
    return y;
  };
  Work work;
  work.run = [=] { call(); };
  work.results = [=] {
    const Tensor y = call().detach();
    return std::vector<Tensor>{y, w.grad()};
  };
  work.references = [=] {
    const Tensor products = exactly(x) * exactly(w);
    // In half the products are rounded once before they are added.
    return std::vector<Reference>{{products.sum(), products.abs().sum(), 16, unit_roundoff(setting.dtype())},
                                  {exactly(x), {}}};
  };
  return work;
}

/// A hundred recorded additions of one element, and their backward.
Work chain(const Setting& setting) {
  manual_seed(1);
  constexpr int kLinks = 100;
  const Tensor x = uniform({1}, setting).requires_grad_(), step = uniform({1}, setting) * 0;
  const auto call = [=] {
    x.mutable_grad() = Tensor();
    Tensor y = x;
    for (int i = 0; i < kLinks; ++i) y = y + step;
    y.backward();
    return y;
  };
  Work work;
  work.run = [=] { call(); };
  work.results = [=] {
    const Tensor y = call().detach();
    return std::vector<Tensor>{y, x.grad()};
  };
  work.references = [=] {
    const Tensor value = exactly(x);
    return std::vector<Reference>{{value, {}}, {ones_like(value), {}}};
  };
  return work;
}

std::vector<Case> cases(const Shape&, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  struct Entry {
    const char* name;
    Work (*prepare)(const Setting&);
  };
  std::vector<Entry> entries{{"add", add_work},
                             {"add_in_place", add_in_place},
                             {"relu", relu_work},
                             {"transpose", transpose_work},
                             {"matmul_4x4", product_work},
                             {"mul_recorded", recorded_product},
                             {"forward_and_backward", forward_and_backward},
                             {"chain_of_100", chain}};
  if (setting.precision != Precision::kFp32) {
    entries.push_back({"matmul_4x4_autocast", product_under_autocast});
    entries.push_back({"100_matmuls_autocast", hundred_untraced});
    entries.push_back({"100_matmuls_traced", hundred_traced});
    entries.push_back({"100_matmuls_traced_unchecked", hundred_unchecked});
  }
  std::vector<Case> all;
  for (const Entry& entry : entries) {
    Case c;
    c.name = entry.name;
    c.prepare = [=, prepare = entry.prepare] { return prepare(setting); };
    all.push_back(std::move(c));
  }
  return all;
}

}  // namespace

Family overhead_family() {
  return {"overhead", "operators on the smallest tensors: dispatch, recording, autocast, trace",
          "",         {{}},
          {{}},       {{}},
          {},         cases};
}

}  // namespace halftone::bench
