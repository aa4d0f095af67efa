// Operators that compute every element from the elements at the same place. They are called by name, with the
// attributes of their own samples in the registry, on random numbers between the samples' smallest and
// largest; what accuracy is asked of them stands there too.

#include <algorithm>

#include "halftone/bench/suite/families/operands.h"
#include "halftone/ops/registry.h"

namespace halftone::bench {
namespace {

using ops::Value;

/// An operator of the registry, and the text among its arguments that tells two of its forms apart.
struct Named {
  const char *name, *op, *attribute;
};
constexpr Named kOperators[] = {{"add", "add", ""},
                                {"mul", "mul", ""},
                                {"relu", "relu", ""},
                                {"relu_gradient", "relu_backward", ""},
                                {"exp", "exp", ""},
                                {"log", "log", ""},
                                {"tanh", "tanh", ""},
                                {"silu", "silu", ""},
                                {"silu_gradient", "silu_backward", ""},
                                {"gelu", "gelu", "none"},
                                {"gelu_tanh", "gelu", "tanh"},
                                {"gelu_gradient", "gelu_backward", "none"}};

/// Whether every tensor of a sample has the same sizes and some elements, and the attribute is there.
bool fits(const ops::Sample& sample, std::string_view attribute) {
  const Tensor* first = nullptr;
  bool found = attribute.empty();
  for (const Value& value : sample.args) {
    if (const auto* text = std::get_if<std::string>(&value)) found = found || *text == attribute;
    const auto* tensor = std::get_if<Tensor>(&value);
    if (!tensor) continue;
    if (!first) first = tensor;
    if (tensor->numel() == 0 || tensor->sizes() != first->sizes()) return false;
  }
  return found && first;
}

std::vector<Value> arguments(const ops::OpInfo& op, const Named& named, const Shape& shape,
                             const Setting& setting) {
  manual_seed(1);
  for (const ops::Sample& sample : op.samples()) {
    if (!fits(sample, named.attribute)) continue;
    std::vector<Value> args = sample.args;
    for (Value& value : args) {
      if (auto* tensor = std::get_if<Tensor>(&value)) {
        const double low = tensor->min().item<double>(), high = tensor->max().item<double>();
        *tensor = uniform(shape, setting, low, high);
      } else if (auto* dtype = std::get_if<ScalarType>(&value)) {
        *dtype = setting.dtype();
      }
    }
    return args;
  }
  fail("bench", "no sample of ", named.op, " fits '", named.name, "'");
}

std::vector<Value> in_float64(std::vector<Value> args) {
  for (Value& value : args) {
    if (auto* tensor = std::get_if<Tensor>(&value)) *tensor = exactly(*tensor);
    if (auto* dtype = std::get_if<ScalarType>(&value)) *dtype = kDouble;
  }
  return args;
}

/// Elements do not depend on each other, so one difference per operand gives all derivatives. `kRoundings`
/// inside the formula is what the registry's tests allow a sample of that many elements.
Reference reference_of(const ops::OpInfo& op, const std::vector<Value>& args, Dtype dtype) {
  constexpr double kStep = 0x1p-20, kRoundings = 6;
  const std::vector<Value> inputs = in_float64(args);
  const Tensor exact = op.call(inputs)[0];
  Tensor terms = zeros_like(exact);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto* tensor = std::get_if<Tensor>(&inputs[i]);
    if (!tensor) continue;
    std::vector<Value> moved = inputs;
    moved[i] = *tensor * (1 + kStep);
    terms = terms + (op.call(moved)[0] - exact).abs() / kStep;
  }
  const double ulps = dtype == kHalf ? op.ulp.f16 : dtype == kBFloat16 ? op.ulp.bf16 : op.ulp.f32;
  return {exact, terms, kRoundings, 0, 2 * (0.5 + ulps)};
}

Case named_case(const Named& named, const Shape& shape, const Setting& setting) {
  const ops::OpInfo* op = ops::find_operator(named.op);
  if (!op) fail("bench", "the registry has no operator '", named.op, "'");
  const std::int64_t n = bytes_of(shape[0] * shape[1], setting);
  const bool two =
      std::find(op->args.begin(), op->args.end(), "other") != op->args.end() || op->args[0] == "grad";
  Case c;
  c.name = named.name;
  c.passes = {{two ? std::vector<std::int64_t>{n, n} : std::vector<std::int64_t>{n}, {}, {n}}};
  c.prepare = [=] {
    const std::vector<Value> args = arguments(*op, named, shape, setting);
    return work_of([=] { return op->call(args)[0]; },
                   [=] { return reference_of(*op, args, setting.dtype()); });
  };
  return c;
}

Case transposed_addition(const Shape& shape, const Setting& setting) {
  const std::int64_t n = bytes_of(shape[0] * shape[1], setting);
  Case c;
  c.name = "add_transposed";
  c.passes = {{{n, n}, {}, {n}}};
  c.prepare = [=] {
    manual_seed(1);
    const Tensor x = uniform(shape, setting), across = uniform({shape[1], shape[0]}, setting).t();
    return work_of([=] { return x + across; },
                   [=] {
                     const Tensor a = exactly(x), b = exactly(across);
                     return Reference{a + b, a.abs() + b.abs()};
                   });
  };
  return c;
}

Case dropout_case(const Shape& shape, const Setting& setting) {
  const std::int64_t n = bytes_of(shape[0] * shape[1], setting);
  Case c;
  c.name = "dropout";
  c.passes = {{{n}, {}, {n}}};
  c.prepare = [=] {
    manual_seed(1);
    const Tensor x = uniform(shape, setting);
    return work_of([=] { return philox_dropout(x, 0.1, 1, 0); },
                   [=] {
                     return Reference{philox_dropout(exactly(x), 0.1, 1, 0), {}};
                   });
  };
  return c;
}

/// As many rows as the shape has, out of a table of a thousand.
Case embedding_case(const Shape& shape, const Setting& setting) {
  const std::int64_t n = bytes_of(shape[0] * shape[1], setting);
  Case c;
  c.name = "embedding";
  c.passes = {{{n}, {}, {n}}};
  c.prepare = [=] {
    manual_seed(1);
    const Tensor table = uniform({1000, shape[1]}, setting), rows = integers(1000, {shape[0]}, setting);
    return work_of([=] { return embedding(table, rows); },
                   [=] {
                     return Reference{exactly(table).index_select(0, rows.to(kCPU)), {}};
                   });
  };
  return c;
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  std::vector<Case> all;
  for (const Named& named : kOperators) all.push_back(named_case(named, shape, setting));
  all.push_back(transposed_addition(shape, setting));
  all.push_back(dropout_case(shape, setting));
  all.push_back(embedding_case(shape, setting));
  for (Case& c : all) c.bound = Bound::kMemory;
  return all;
}

}  // namespace

Family elementwise_family() {
  return {"elementwise",    "activations, their gradients, arithmetic, dropout, embedding",
          "rows x columns", {{256, 256}, {1024, 1024}, {8192, 1024}},
          {{256, 256}},     {{1024, 1024}, {65536, 4096}},
          {4, 8},           cases};
}

}  // namespace halftone::bench
