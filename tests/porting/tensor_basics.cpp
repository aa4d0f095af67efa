// Making tensors, asking what they are, converting them, reaching their data.

#include "halftone/tests/porting/check.h"

#include <cmath>
#include <vector>

int main() {
  torch::manual_seed(0);

  // Factories and options
  const auto a = torch::tensor({{1, 2, 3}, {4, 5, 6}});
  PORTING_CHECK(a.scalar_type() == torch::kLong && a.dim() == 2 && a.size(0) == 2 && a.size(-1) == 3);
  PORTING_CHECK(torch::tensor({1.5, 2.5}).dtype() == torch::kFloat32);
  PORTING_CHECK(torch::tensor({true, false}).dtype() == torch::kBool);
  PORTING_CHECK(torch::tensor(3).dim() == 0 && torch::tensor(3).item<int64_t>() == 3);
  PORTING_CHECK(torch::tensor({1, 2}, torch::kFloat64).dtype() == torch::kFloat64);
  PORTING_CHECK(torch::tensor({1, 2}, torch::dtype(torch::kInt32)).dtype() == torch::kInt32);
  PORTING_CHECK(torch::tensor(std::vector<float>{1, 2, 3}).dtype() == torch::kFloat);
  PORTING_CLOSE(torch::zeros({2, 2}) + 1, torch::ones({2, 2}));
  PORTING_CHECK(torch::zeros(4).sizes() == torch::IntArrayRef({4}));
  PORTING_CHECK(
      torch::ones({2}, torch::TensorOptions().dtype(torch::kDouble).requires_grad(true)).requires_grad());
  PORTING_CHECK(torch::empty({0, 3}).numel() == 0);
  PORTING_CHECK(torch::full({2}, 7).dtype() == torch::kLong &&
                torch::full({2}, 7.5).dtype() == torch::kFloat);
  PORTING_CHECK(torch::zeros_like(a).dtype() == torch::kLong);
  PORTING_CHECK(torch::ones_like(a, torch::kHalf).dtype() == torch::kHalf);
  PORTING_CLOSE(torch::arange(5), torch::tensor({0, 1, 2, 3, 4}));
  PORTING_CLOSE(torch::arange(1, 2, 0.25), torch::tensor({1.0, 1.25, 1.5, 1.75}));
  PORTING_CLOSE(torch::linspace(0, 1, 5), torch::tensor({0.0, 0.25, 0.5, 0.75, 1.0}));
  PORTING_CLOSE(torch::logspace(0, 3, 4), torch::tensor({1.0, 10.0, 100.0, 1000.0}));
  PORTING_CLOSE(torch::eye(2), torch::tensor({{1.0, 0.0}, {0.0, 1.0}}));
  PORTING_CHECK(torch::eye(2, 3).sizes() == std::vector<int64_t>({2, 3}));
  PORTING_CLOSE(torch::scalar_tensor(2.5), torch::tensor(2.5));

  // Random numbers: shapes, ranges, seeds
  const auto r = torch::rand({1000});
  PORTING_CHECK(r.min().item<float>() >= 0 && r.max().item<float>() < 1);
  PORTING_CHECK(std::abs(torch::randn({4000}).mean().item<double>()) < 0.1);
  const auto n = torch::randint(3, 9, {500});
  PORTING_CHECK(n.dtype() == torch::kLong && n.min().item<int>() == 3 && n.max().item<int>() == 8);
  PORTING_CHECK(torch::randint(5, {4}, torch::kFloat).dtype() == torch::kFloat);
  PORTING_CLOSE(std::get<0>(torch::randperm(20).sort()), torch::arange(20));
  PORTING_CHECK(torch::randint_like(a, 4).sizes() == a.sizes());
  torch::manual_seed(7);
  const auto first = torch::rand({5});
  torch::manual_seed(7);
  PORTING_CHECK(torch::equal(first, torch::rand({5})));
  PORTING_CHECK(torch::bernoulli(torch::full({100}, 1.0)).sum().item<float>() == 100);
  PORTING_CHECK(torch::multinomial(torch::tensor({0.0, 1.0, 0.0}), 3, true).eq(1).all().item<bool>());
  const auto e = torch::empty({4000}).exponential_(2.0);
  PORTING_CHECK(std::abs(e.mean().item<double>() - 0.5) < 0.05 && e.min().item<double>() > 0);
  PORTING_CHECK(torch::empty({300}).geometric_(0.5).min().item<double>() == 1);
  PORTING_CHECK(torch::normal(1.0, 0.0, {3}).eq(1).all().item<bool>());
  PORTING_CHECK(torch::empty({64}).uniform_(2, 3).ge(2).all().item<bool>());
  PORTING_CHECK(torch::empty({64}).random_(5).lt(5).all().item<bool>());

  // Sizes, strides, types
  const auto t = torch::rand({2, 3, 4});
  PORTING_CHECK(t.sizes() == torch::IntArrayRef({2, 3, 4}) && t.strides() == torch::IntArrayRef({12, 4, 1}));
  PORTING_CHECK(t.sizes().vec() == std::vector<int64_t>({2, 3, 4}) && t.sizes().size() == 3);
  PORTING_CHECK(t.numel() == 24 && t.nbytes() == 96 && t.itemsize() == 4 && t.element_size() == 4);
  PORTING_CHECK(t.is_contiguous() && !t.transpose(0, 1).is_contiguous());
  PORTING_CHECK(t.transpose(0, 2).contiguous().is_contiguous());
  PORTING_CHECK(t.is_floating_point() && !a.is_floating_point() && t.is_cpu() && !t.is_cuda() &&
                !t.is_sparse());
  PORTING_CHECK(t.device() == torch::kCPU && t.device().type() == torch::DeviceType::CPU);
  PORTING_CHECK(torch::Tensor().defined() == false && t.defined());
  PORTING_CHECK(t.layout() == torch::kStrided && t.storage_offset() == 0 && t[1].storage_offset() == 12);
  PORTING_CHECK(torch::numel(t) == 24 && torch::is_floating_point(t));

  // Conversion
  PORTING_CHECK(t.to(torch::kDouble).dtype() == torch::kDouble && t.to(torch::kFloat).is_same(t));
  PORTING_CLOSE(torch::tensor({1.9, -1.9}).to(torch::kLong), torch::tensor({1, -1}));
  PORTING_CLOSE(torch::tensor({0.0, 2.0}).to(torch::kBool), torch::tensor({false, true}));
  PORTING_CHECK(t.to(a).dtype() == torch::kLong && t.type_as(a).dtype() == torch::kLong);
  PORTING_CHECK(t.cpu().is_same(t) && t.toType(torch::kHalf).dtype() == torch::kHalf);
  PORTING_CHECK(torch::promote_types(torch::kInt, torch::kFloat) == torch::kFloat);
  PORTING_CHECK(torch::result_type(a, t) == torch::kFloat && torch::can_cast(torch::kInt, torch::kFloat));
  PORTING_CHECK((a + 1.5).dtype() == torch::kFloat && (a / 2).dtype() == torch::kFloat);
  PORTING_CHECK((a + torch::tensor(2.5, torch::kDouble)).dtype() == torch::kDouble);
  PORTING_CHECK((t + torch::tensor(2.5, torch::kDouble)).dtype() == torch::kFloat);

  // Data
  float numbers[] = {1, 2, 3, 4, 5, 6};
  auto blob = torch::from_blob(numbers, {2, 3});
  numbers[5] = 60;
  PORTING_CHECK(blob[1][2].item<float>() == 60 && blob.data_ptr<float>() == numbers);
  PORTING_CLOSE(torch::from_blob(numbers, {2, 2}, {1, 2}), torch::tensor({{1.0, 3.0}, {2.0, 4.0}}));
  bool deleted = false;
  torch::from_blob(
      numbers, {3}, [&](void*) { deleted = true; }, torch::kFloat)
      .reset();
  PORTING_CHECK(deleted);
  auto accessor = blob.accessor<float, 2>();
  accessor[0][1] = 20;
  PORTING_CHECK(numbers[1] == 20 && accessor.size(1) == 3);
  PORTING_CHECK(torch::tensor(2.75).item().to<int>() == 2 && torch::tensor(2.75).item().toFloat() == 2.75f);
  PORTING_THROWS(blob.item());
  PORTING_THROWS(blob.data_ptr<double>());

  // Copies
  auto c = blob.clone();
  c.fill_(0);
  PORTING_CHECK(numbers[0] == 1);
  c.copy_(torch::tensor({7, 8, 9}));
  PORTING_CLOSE(c, torch::tensor({{7.0, 8.0, 9.0}, {7.0, 8.0, 9.0}}));
  auto shared = c.view({6});
  shared.zero_();
  PORTING_CHECK(c.sum().item<float>() == 0 && shared.is_alias_of(c));
  PORTING_CHECK(c.new_zeros({2}).dtype() == torch::kFloat && c.new_full({1}, 3).item<float>() == 3);
  auto resized = torch::arange(4);
  resized.resize_({2, 2});
  PORTING_CLOSE(resized, torch::tensor({{0, 1}, {2, 3}}));

  // Scalars and optional values
  const torch::Scalar number = 3;
  PORTING_CHECK(number.toInt() == 3 && number.isIntegral(false) && number.toDouble() == 3.0);
  const c10::optional<int64_t> nothing = c10::nullopt;
  PORTING_CHECK(!nothing.has_value());
  const torch::ArrayRef<int64_t> list = t.sizes();
  PORTING_CHECK(list.size() == 3 && list.back() == 4 && list.slice(1).size() == 2);
  PORTING_CHECK(std::string(torch::toString(torch::kFloat)) == "Float");
  PORTING_THROWS(torch::zeros({2, 3}) + torch::zeros({4}));
  PORTING_THROWS(torch::zeros({2}).view({3}));
  try {
    TORCH_CHECK(1 > 2, "one is not more than ", 2);
    PORTING_CHECK(false);
  } catch (const c10::Error& error) {
    PORTING_CHECK(std::string(error.what()).find("one is not more than 2") != std::string::npos);
  }
  return porting::result("tensor_basics");
}
