// Functions that few programs use. The numbers are libtorch's.

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "halftone/tests/porting/check.h"

namespace {

torch::Tensor floats(const std::vector<double>& values) {
  return torch::tensor(values, torch::kDouble).to(torch::kFloat);
}

template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

void scatter_with_rules() {
  const auto x = torch::arange(6, torch::kFloat).view({2, 3});
  const auto index = torch::tensor({{0, 1, 0, 2}, {2, 2, 1, 0}});
  const auto src = torch::arange(1, 9, torch::kFloat).view({2, 4});
  const auto reduced = [&](const char* rule, bool include_self) {
    return x.scatter_reduce(1, index, src, rule, include_self).flatten();
  };
  PORTING_CLOSE(reduced("sum", true), floats({4, 3, 6, 11, 11, 16}));
  PORTING_CLOSE(reduced("sum", false), floats({4, 2, 4, 8, 7, 11}));
  PORTING_CLOSE(reduced("prod", true), floats({0, 2, 8, 24, 28, 150}));
  PORTING_CLOSE(reduced("prod", false), floats({3, 2, 4, 8, 7, 30}));
  PORTING_CLOSE(reduced("mean", true), floats({4 / 3.0, 1.5, 3, 5.5, 5.5, 16 / 3.0}));
  PORTING_CLOSE(reduced("mean", false), floats({2, 2, 4, 8, 7, 5.5}));
  PORTING_CLOSE(reduced("amax", true), floats({3, 2, 4, 8, 7, 6}));
  PORTING_CLOSE(reduced("amin", true), floats({0, 1, 2, 3, 4, 5}));
  PORTING_CLOSE(reduced("amin", false), floats({1, 2, 4, 8, 7, 5}));
  PORTING_THROWS(reduced("median", true));
  PORTING_CLOSE(x.scatter(1, index, src, "multiply").flatten(), floats({0, 2, 8, 24, 28, 150}));
  const auto whole =
      torch::tensor({5, 7}).scatter_reduce(0, torch::tensor({0, 0, 1}), torch::tensor({2, 3, 4}), "mean");
  PORTING_CLOSE(whole, torch::tensor({3, 5}));

  auto values = torch::ones({4}).set_requires_grad(true);
  torch::zeros({2}).scatter_reduce(0, torch::tensor({0, 1, 1, 1}), values, "mean").sum().backward();
  PORTING_CLOSE(values.grad(), floats({0.5, 0.25, 0.25, 0.25}));
}

void pooling_at_random() {
  const auto plane = torch::sin(torch::arange(50, torch::kFloat)).view({1, 2, 5, 5});
  const auto samples = floats({0.3, 0.7, 0.9, 0.1}).view({1, 2, 2});
  const auto [values, indices] = torch::fractional_max_pool2d(plane, {2, 2}, {3, 3}, samples);
  PORTING_CLOSE(indices.flatten(),
                torch::tensor({1, 2, 8, 6, 7, 14, 20, 21, 19, 1, 2, 8, 6, 7, 8, 21, 21, 19}));
  PORTING_CHECK(std::abs(values[0][1][0][0].item<double>() - 0.7625584602) < 1e-6);

  torch::nn::FractionalMaxPool2d pool(torch::nn::FractionalMaxPool2dOptions(2).output_size(3));
  PORTING_CHECK(pool(plane).sizes() == torch::IntArrayRef({1, 2, 3, 3}));
  torch::nn::FractionalMaxPool2d share(
      torch::nn::FractionalMaxPool2dOptions(2).output_ratio(torch::ExpandingArray<2, double>(0.5)));
  auto input = plane.clone().set_requires_grad(true);
  share(input).sum().backward();
  PORTING_CHECK(input.grad().sum().item<double>() == 8);
}

void weights() {
  const auto v = torch::arange(1, 7, torch::kFloat).view({2, 3});
  const auto g = floats({1, 2}).view({2, 1});
  PORTING_CLOSE(torch::_weight_norm(v, g, 0).flatten(),
                floats({0.2672612369, 0.5345224738, 0.8017836809, 0.9116846323, 1.1396057606, 1.3675270081}));
  PORTING_CLOSE(torch::norm_except_dim(v, 2, 0), floats({3.7416574955, 8.7749643326}).view({2, 1}));
  PORTING_CHECK(std::abs(torch::norm_except_dim(v, 2, -1).item<double>() - 9.5393924713) < 1e-6);

  auto kernel = torch::empty({2, 3, 3});
  torch::nn::init::dirac_(kernel);
  PORTING_CHECK(kernel.sum().item<float>() == 2 && kernel[1][1][1].item<float>() == 1);
  PORTING_THROWS(torch::nn::init::dirac_(torch::empty({2, 2})));
  auto matrix = torch::empty({5, 4});
  torch::nn::init::sparse_(matrix, 0.5);
  PORTING_CLOSE((matrix == 0).sum(0), torch::full({4}, 3, torch::kLong));

  const auto planes = torch::sin(torch::arange(20, torch::kFloat)).view({1, 5, 2, 2});
  torch::nn::CrossMapLRN2d odd(torch::nn::CrossMapLRN2dOptions(3).alpha(0.5).k(2));
  torch::nn::CrossMapLRN2d even(torch::nn::CrossMapLRN2dOptions(4).alpha(0.5).k(2));
  PORTING_CLOSE(odd(planes).flatten().slice(0, 1, 4), floats({0.4548181891, 0.5119806528, 0.0816177353}));
  PORTING_CLOSE(even(planes).flatten().slice(0, 1, 4), floats({0.4652769864, 0.5188168883, 0.0821771398}));
}

void into_given_tensors() {
  const auto a = floats({1, 2}), b = floats({3, 5});
  auto out = torch::empty({0});
  PORTING_CLOSE(torch::add_out(out, a, b, 2), floats({7, 12}));
  PORTING_CLOSE(out, floats({7, 12}));
  torch::matmul_out(out, a.view({1, 2}), b.view({2, 1}));
  PORTING_CLOSE(out, floats({13}).view({1, 1}));
  auto doubles = torch::empty({0}, torch::kDouble);
  torch::mul_out(doubles, a, b);
  PORTING_CLOSE(doubles, torch::tensor({3.0, 10.0}, torch::kDouble));
  auto longs = torch::empty({0}, torch::kLong);
  PORTING_THROWS(torch::exp_out(longs, a));
  PORTING_THROWS(torch::exp_out(out, torch::ones({2}).set_requires_grad(true)));
  auto both = torch::empty({0});
  torch::cat_out(both, {a, b});
  PORTING_CLOSE(both, floats({1, 2, 3, 5}));
}

void forms() {
  PORTING_CLOSE(torch::vander(torch::tensor({2, 3})), torch::tensor({{2, 1}, {3, 1}}));
  PORTING_CLOSE(torch::vander(floats({1, 2, 3}), 4, true),
                floats({1, 1, 1, 1, 1, 2, 4, 8, 1, 3, 9, 27}).view({3, 4}));
  PORTING_CHECK(text(torch::Scalar(2.5)) == "2.5" && text(torch::Scalar(3)) == "3");
  PORTING_CHECK(text(torch::Scalar(true)) == "true");
  PORTING_CHECK(text(torch::ones({1}).layout()) == "Strided");
  PORTING_CHECK(torch::ones({1}).toString() == "CPUFloatType");
  PORTING_CHECK(torch::ones({2}, torch::kHalf).toString() == "CPUHalfType");
  auto matrix = torch::zeros({2, 3});
  const auto accessor = matrix.accessor<float, 2>();
  PORTING_CHECK(accessor.sizes() == torch::IntArrayRef({2, 3}) && accessor.strides()[0] == 3);
  PORTING_CHECK(matrix.use_count() == 1 && !matrix.has_names());
  torch::IValue sizes = matrix.sizes();
  PORTING_CHECK(sizes.toIntVector() == std::vector<std::int64_t>({2, 3}));
}

}  // namespace

int main() {
  torch::manual_seed(4);
  scatter_with_rules();
  pooling_at_random();
  weights();
  into_given_tensors();
  forms();
  return porting::result("rare_functions");
}
