// Functions composed of operators: gradients against finite differences, in-place forms, empty and bad input.

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "halftone/amp/autocast.h"
#include "halftone/autograd/autograd.h"
#include "halftone/autograd/gradcheck.h"
#include "halftone/engine/libtorch_names.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/engine/tensor_factory.h"
#include "halftone/tests/support/device.h"
#include "halftone/tests/support/values.h"

using namespace halftone;

namespace {

Tensor numbers(IntArrayRef sizes) {
  manual_seed(11);
  return rand(sizes, kDouble) * 3 + 0.25;
}

using Function = std::function<Tensor(const Tensor&)>;

bool has_right_gradient(const Function& f, const Tensor& at) {
  const autograd::TensorFunction call = [&](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{f(in[0])};
  };
  const std::vector<Tensor> leaves{at.clone().set_requires_grad(true)};
  return autograd::gradcheck(call, leaves) && autograd::gradgradcheck(call, leaves);
}

}  // namespace

TEST_CASE("composed functions have the gradients of what they compute", "[composed]") {
  const Tensor v = numbers({5}), m = numbers({3, 4}), other = numbers({4, 2});
  const Tensor mask = tensor({true, false, true, false, true});
  CHECK(has_right_gradient([&](const Tensor& x) { return einsum("ij,jk->ki", {x, other}); }, m));
  CHECK(has_right_gradient([&](const Tensor& x) { return einsum("ij,kj->ik", {x, x}); }, m));
  CHECK(has_right_gradient([&](const Tensor& x) { return einsum("ii->i", {narrow(x, 1, 0, 3)}); }, m));
  CHECK(has_right_gradient([&](const Tensor& x) { return tensordot(x, other, 1, 0); }, m));
  CHECK(has_right_gradient([&](const Tensor& x) { return kron(x, other); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return quantile(x, 0.3, 1); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return std::get<0>(median(x, 1)); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return std::get<0>(kthvalue(x, 2, 0)); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return std::get<0>(mode(x, 1)); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return im2col(unsqueeze(x, 0), {2, 2}, 1, 1, 1); }, m));
  CHECK(has_right_gradient(
      [](const Tensor& x) {
        return col2im(x, {2, 4}, {1, 3}, 1, {0, 1}, {1, 2});
      },
      numbers({3, 4})));
  CHECK(has_right_gradient([](const Tensor& x) { return unfold(x, 1, 2, 1); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return pad(unsqueeze(x, 0), {1, 2, 1, 1}, "reflect"); }, m));
  CHECK(has_right_gradient(
      [](const Tensor& x) {
        return pad(unsqueeze(x, 0), {-1, 2}, "circular");
      },
      numbers({2, 4})));
  CHECK(has_right_gradient([](const Tensor& x) { return diag_embed(x, -1); }, v));
  CHECK(has_right_gradient([](const Tensor& x) { return rot90(x); }, m));
  CHECK(has_right_gradient([&](const Tensor& x) { return masked_scatter(zeros_like(v), mask, x); }, v));
  CHECK(has_right_gradient(
      [](const Tensor& x) {
        return put(x, tensor({1, 3}), tensor({1.0, 2.0}, kDouble));
      },
      v));
  CHECK(has_right_gradient([](const Tensor& x) { return take_along_dim(x, argsort(x, 1), 1); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return index_copy(x, 0, tensor({1}), narrow(x, 0, 2, 1)); },
                           m));
  CHECK(has_right_gradient([](const Tensor& x) { return cdist(x, x + 1); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return renorm(x, 2, 0, 1.5); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return cov(x); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return corrcoef(x); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return matrix_power(narrow(x, 1, 0, 3), 3); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return logit(x * 0.25); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return float_power(x, 1.5); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return trapezoid(x, 0.5); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return linalg_norm(x, 1); }, m));
  CHECK(has_right_gradient(
      [](const Tensor& x) { return linalg_cross(narrow(x, 1, 0, 3), flip(narrow(x, 1, 0, 3), 1)); }, m));
  CHECK(has_right_gradient([](const Tensor& x) { return block_diag({x, x * x}); }, m));
}

TEST_CASE("in-place forms of composed functions are recorded", "[composed]") {
  const auto same = [](const Function& in_place, const Function& out_of_place) {
    const Tensor at = numbers({3, 3});
    const auto gradient = [&](const Function& f) {
      const Tensor x = at.clone().set_requires_grad(true);
      Tensor y = x * x;  // saves x, not y
      const Tensor result = f(y);
      (result * arange(9, kDouble).view({3, 3})).sum().backward();
      return std::pair{result.detach(), x.grad()};
    };
    const auto [a, grad_a] = gradient(in_place);
    const auto [b, grad_b] = gradient(out_of_place);
    return allclose(a, b) && allclose(grad_a, grad_b);
  };
  CHECK(same([](Tensor y) { return y.tril_(); }, [](const Tensor& y) { return tril(y); }));
  CHECK(same([](Tensor y) { return y.cumprod_(1); }, [](const Tensor& y) { return cumprod(y, 1); }));
  CHECK(same([](Tensor y) { return y.xlogy_(y * 2); }, [](const Tensor& y) { return xlogy(y, y * 2); }));
  CHECK(same([](Tensor y) { return y.hypot_(y.t()); }, [](const Tensor& y) { return hypot(y, y.t()); }));
  CHECK(same([](Tensor y) { return y.addmm_(y.clone(), y.clone()); },
             [](const Tensor& y) { return addmm(y, y, y); }));
  CHECK(same([](Tensor y) { return y.index_fill_(0, tensor({1}), 2); },
             [](const Tensor& y) { return index_fill(y, 0, tensor({1}), 2); }));
  CHECK(same([](Tensor y) { return y.div_(y * 0.3, "floor"); },
             [](const Tensor& y) { return div(y, y * 0.3, "floor"); }));
  CHECK(same([](Tensor y) { return y.atan2_(y + 1); }, [](const Tensor& y) { return atan2(y, y + 1); }));
  Tensor integers = arange(4);
  CHECK_THROWS_AS(integers.xlogy_(integers), Error);
  CHECK_THROWS_AS(integers.hypot_(integers), Error);
  Tensor leaf = numbers({3, 3}).set_requires_grad(true);
  CHECK_THROWS_AS(leaf.tril_(), Error);
  // A view: its base sees the write.
  Tensor base = numbers({3, 3}) * 1;
  const Tensor before = base.clone();
  base[1].cumsum_(0);
  CHECK(allclose(base[1], before[1].cumsum(0)));
  CHECK(equal(base[0], before[0]));
}

TEST_CASE("composed functions take empty tensors", "[composed]") {
  const Tensor none = empty({0}), rows = empty({0, 3}), wide = empty({2, 0});
  CHECK(vstack({rows, rows}).sizes() == IntArrayRef({0, 3}));
  CHECK(meshgrid({none, rand({2})})[0].sizes() == IntArrayRef({0, 2}));
  CHECK(tensor_split(none, 3).size() == 3);
  CHECK(std::get<0>(_unique2(none, true, true, true)).numel() == 0);
  CHECK(std::get<1>(_unique2(empty({2, 0}), true, true)).sizes() == IntArrayRef({2, 0}));
  CHECK(std::isnan(median(none).item<float>()));
  CHECK(bincount(empty({0}, kLong), {}, 2).sizes() == IntArrayRef({2}));
  CHECK(histc(none, 3).sizes() == IntArrayRef({3}));
  CHECK(einsum("ij,jk->ik", {wide, rows}).sizes() == IntArrayRef({2, 3}));
  CHECK(allclose(einsum("ij,jk->ik", {wide, rows}), zeros({2, 3})));
  CHECK(tensordot(wide, rows, 1, 0).sizes() == IntArrayRef({2, 3}));
  CHECK(kron(none, arange(2)).numel() == 0);
  CHECK(take(arange(3), empty({0}, kLong)).numel() == 0);
  CHECK(masked_select(none, empty({0}, kBool)).numel() == 0);
  CHECK(cdist(rows, ones({2, 3})).sizes() == IntArrayRef({0, 2}));
  CHECK(std::get<0>(cummax(none, 0)).numel() == 0);
  CHECK(cumprod(wide, 1).sizes() == IntArrayRef({2, 0}));
  CHECK(im2col(empty({0, 1, 4, 4}), 2, 1, 0, 1).sizes() == IntArrayRef({0, 4, 9}));
  CHECK(upsample_nearest2d(empty({0, 1, 4, 4}), {2, 2}).sizes() == IntArrayRef({0, 1, 2, 2}));
  CHECK(searchsorted(none, ones({2})).sum().item<int>() == 0);
  CHECK(diff(none).numel() == 0);
  CHECK(isin(arange(2), empty({0}, kLong)).any().item<bool>() == false);
}

TEST_CASE("composed functions refuse what does not fit", "[composed]") {
  const Tensor v = arange(4), m = rand({2, 3}), none;
  CHECK_THROWS_AS(einsum("ij,jk->ik", {m, m}), Error);
  CHECK_THROWS_AS(einsum("ij->ik", {m}), Error);
  CHECK_THROWS_AS(einsum("i->i", {m}), Error);
  CHECK_THROWS_AS(einsum("ij", {none}), Error);
  CHECK_THROWS_AS(einsum("i1->i", {m}), Error);
  CHECK_THROWS_AS(meshgrid({v, v}, "ji"), Error);
  CHECK_THROWS_AS(hsplit(v, 3), Error);
  CHECK_THROWS_AS(tensor_split(v, 0), Error);
  CHECK_THROWS_AS(diag(rand({2, 2, 2})), Error);
  CHECK_THROWS_AS(unfold(v, 0, 5, 1), Error);
  CHECK_THROWS_AS(unfold(v, 0, 2, 0), Error);
  CHECK_THROWS_AS(pad(m, {1}), Error);
  CHECK_THROWS_AS(pad(m, {3, 3}, "reflect"), Error);
  CHECK_THROWS_AS(pad(m, {1, 1}, "mirror"), Error);
  CHECK_THROWS_AS(constant_pad_nd(v, {-3, -3}), Error);
  CHECK_THROWS_AS(constant_pad_nd(v, {std::numeric_limits<std::int64_t>::max(), 1}), Error);
  CHECK_THROWS_AS(upsample_nearest2d(m, {2, 2}), Error);
  CHECK_THROWS_AS(upsample_nearest1d(rand({1, 1, 3}), {0}), Error);
  CHECK_THROWS_AS(upsample_linear1d(rand({1, 1, 3}), {4}, false, -2.0), Error);
  CHECK_THROWS_AS(resample(m, "linear", {3}, {4}, {0}, 0, 0, 0, false, true, kFloat), Error);
  CHECK_THROWS_AS(quantile(m, 1.5), Error);
  CHECK_THROWS_AS(quantile(v, 0.5), Error);
  CHECK_THROWS_AS(kthvalue(m, 0), Error);
  CHECK_THROWS_AS(mode(empty({0})), Error);
  CHECK_THROWS_AS(bincount(tensor({-1})), Error);
  CHECK_THROWS_AS(histc(m, 0), Error);
  CHECK_THROWS_AS(searchsorted(m, rand({3, 3})), Error);
  CHECK_THROWS_AS(test::finish([&] { take(m, tensor({6})); }), Error);
  CHECK_THROWS_AS(put(m, tensor({1}), tensor({1, 2})), Error);
  CHECK_THROWS_AS(masked_scatter(m, m > -1, rand({2})), Error);
  CHECK_THROWS_AS(test::finish([&] { index_copy(m, 0, tensor({2}), rand({1, 3})); }), Error);
  CHECK_THROWS_AS(cross(m, rand({2, 4})), Error);
  CHECK_THROWS_AS(matrix_power(rand({2, 2}), -1), Error);
  CHECK_THROWS_AS(linalg_matrix_norm(m, "nuc"), Error);
  CHECK_THROWS_AS(hypot(v, v), Error);
  CHECK_THROWS_AS(m << 1, Error);
  CHECK_THROWS_AS(polygamma(-1, m), Error);
  CHECK_THROWS_AS(linear_recurrence(m, v, 0), Error);
  CHECK_THROWS_AS(movedim(m, {0, 0}, {0, 1}), Error);
  CHECK_THROWS_AS(m.contiguous(MemoryFormat::ChannelsLast), Error);
  CHECK_THROWS_AS(TensorOptions().layout(kSparse), Error);
  CHECK_THROWS_AS(m.clone().set_requires_grad(true).resize_({6}), Error);
}

TEST_CASE("the first of the non-finite values decides what it should", "[composed]") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({1.0, nan, 3.0, nan});
  CHECK(std::get<1>(median(x, 0)).item<int>() == 1);
  CHECK(std::get<0>(nanmedian(x, 0)).item<double>() == 1);
  CHECK(std::get<1>(cummax(x, 0)).sum().item<int>() == 0 + 1 + 1 + 3);
  CHECK(std::isnan(quantile(x, 0.5).item<double>()));
  CHECK(nanquantile(x, 1.0).item<double>() == 3);
  CHECK(std::get<0>(_unique2(x)).numel() == 4);  // NaN differs from NaN
  CHECK(allclose(logcumsumexp(tensor({-inf, 0.0, inf}), 0), tensor({-inf, 0.0, inf})));
  CHECK(allclose(hypot(tensor({inf, nan}), tensor({nan, 1.0})), tensor({inf, nan}), 1e-5, 1e-8, true));
}

TEST_CASE("scatter_reduce, fractional pooling, vander and weight norm have gradients", "[composed]") {
  const Tensor m = numbers({3, 4}), v = numbers({5});
  const Tensor index = tensor({{0, 1, 1, 0}, {2, 2, 0, 3}, {3, 1, 0, 0}});
  for (const char* rule : {"sum", "prod", "mean", "amax", "amin"}) {
    for (const bool include_self : {false, true}) {
      INFO(rule << (include_self ? ", self included" : ""));
      CHECK(has_right_gradient(
          [&](const Tensor& x) { return scatter_reduce(m, 1, index, x, rule, include_self); },
          m * 1.25 + 0.1));
      CHECK(has_right_gradient(
          [&](const Tensor& x) { return scatter_reduce(x, 1, index, m, rule, include_self); },
          m * 1.25 + 0.1));
    }
  }
  const Tensor samples = tensor({0.3, 0.7}).view({1, 2}).to(kDouble);
  CHECK(has_right_gradient(
      [&](const Tensor& x) {
        return std::get<0>(fractional_max_pool2d(x, {2, 2}, {2, 3}, samples));
      },
      numbers({1, 5, 6})));
  CHECK(has_right_gradient([](const Tensor& x) { return vander(x, 4); }, v));
  CHECK(has_right_gradient([](const Tensor& x) { return _weight_norm(x, x.select(1, 0).unsqueeze(1)); }, m));
  CHECK_THROWS_AS(fractional_max_pool2d(ones({1, 2, 2}), {3, 3}, {1, 1}, ones({1, 2})), Error);
  CHECK_THROWS_AS(scatter_reduce(m, 1, index, m, "median"), Error);
}

TEST_CASE("distances of half tensors are computed in fp32 and rounded once", "[composed]") {
  const Tensor a = numbers({3, 40}).to(kHalf), b = (numbers({3, 40}) * 1.01).to(kHalf);
  const Tensor wide_a = a.to(kFloat), wide_b = b.to(kFloat);
  CHECK(equal(dist(a, b), dist(wide_a, wide_b).to(kHalf)));
  CHECK(equal(cdist(a, b), cdist(wide_a, wide_b).to(kHalf)));
  CHECK(equal(pdist(a), pdist(wide_a).to(kHalf)));
  const amp::Autocast autocast(test::device_type(), kHalf);
  CHECK(equal(dist(a, b), dist(wide_a, wide_b)));
  CHECK(equal(cdist(a, b), cdist(wide_a, wide_b)));
  CHECK(equal(pdist(a), pdist(wide_a)));
}
