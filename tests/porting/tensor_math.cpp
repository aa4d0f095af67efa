// Arithmetic, comparisons, logic, elementary functions, reductions.

#include "halftone/tests/porting/check.h"

#include <cmath>
#include <limits>

int main() {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto x = torch::tensor({{1.0, -2.0, 3.0}, {0.5, 4.0, -1.5}});
  const auto y = torch::tensor({2.0, -1.0, 4.0});
  const auto i = torch::tensor({7, -7, 6});

  // Operators
  PORTING_CLOSE(x + y, torch::tensor({{3.0, -3.0, 7.0}, {2.5, 3.0, 2.5}}));
  PORTING_CLOSE(2 - y, torch::tensor({0.0, 3.0, -2.0}));
  PORTING_CLOSE(1 / y, torch::tensor({0.5, -1.0, 0.25}));
  PORTING_CLOSE(-y * 2, torch::tensor({-4.0, 2.0, -8.0}));
  PORTING_CLOSE(i % 4, torch::tensor({3, 1, 2}));
  PORTING_CLOSE(torch::fmod(i, 4), torch::tensor({3, -3, 2}));
  PORTING_CLOSE(torch::remainder(y, 3), torch::tensor({2.0, 2.0, 1.0}));
  PORTING_CLOSE(torch::div(i, 4, "floor"), torch::tensor({1, -2, 1}));
  PORTING_CLOSE(torch::div(i, 4, "trunc"), torch::tensor({1, -1, 1}));
  PORTING_CLOSE(torch::pow(y, 2), torch::tensor({4.0, 1.0, 16.0}));
  PORTING_CLOSE(torch::pow(2, torch::tensor({1, 3})), torch::tensor({2, 8}));
  auto z = y.clone();
  z += 1;
  z *= y;
  z -= torch::ones({3});
  z /= 2;
  PORTING_CLOSE(z, torch::tensor({2.5, -0.5, 9.5}));
  PORTING_CLOSE((y > 0) & (y < 3), torch::tensor({true, false, false}));
  PORTING_CLOSE((y > 3) | (y < 0), torch::tensor({false, true, true}));
  PORTING_CLOSE(~(y > 0), torch::tensor({false, true, false}));
  PORTING_CLOSE((y > 0) ^ (y > 3), torch::tensor({true, false, false}));
  PORTING_CLOSE(i & 3, torch::tensor({3, 1, 2}));
  PORTING_CLOSE(i | 8, torch::tensor({15, -7, 14}));
  PORTING_CLOSE(torch::bitwise_left_shift(torch::tensor({1, 2}), 3), torch::tensor({8, 16}));
  PORTING_CLOSE(torch::bitwise_right_shift(torch::tensor({-8, 9}), 2), torch::tensor({-2, 2}));
  PORTING_CLOSE(torch::bitwise_not(i), torch::tensor({-8, 6, -7}));
  PORTING_CLOSE(y == 2, torch::tensor({true, false, false}));
  PORTING_CLOSE(y != torch::tensor({2.0, 0.0, 4.0}), torch::tensor({false, true, false}));
  PORTING_CLOSE(torch::logical_xor(i, torch::tensor({0, 1, 0})), torch::tensor({true, false, true}));

  // Elementary functions
  const auto p = torch::tensor({0.1, 0.5, 2.0});
  PORTING_CLOSE(torch::exp(torch::log(p)), p);
  PORTING_CLOSE(torch::expm1(p), torch::exp(p) - 1);
  PORTING_CLOSE(torch::log1p(p), torch::log(1 + p));
  PORTING_CLOSE(torch::log2(p) * std::log(2.0), p.log());
  PORTING_CLOSE(torch::rsqrt(p), 1 / p.sqrt());
  PORTING_CLOSE(torch::sin(p).square() + torch::cos(p).square(), torch::ones({3}));
  PORTING_CLOSE(torch::tanh(p), torch::sinh(p) / torch::cosh(p));
  PORTING_CLOSE(torch::atan2(torch::tensor({1.0, -1.0}), torch::tensor({-1.0, -1.0})),
                torch::tensor({2.3561945, -2.3561945}));
  PORTING_CLOSE(torch::acosh(torch::tensor({1.0, 2.0, 1e10})), torch::tensor({0.0, 1.3169579, 23.7189981}));
  PORTING_CLOSE(torch::asinh(torch::tensor({-1.0, 0.0, 1e10})), torch::tensor({-0.8813736, 0.0, 23.7189981}));
  PORTING_CLOSE(torch::atanh(torch::tensor({-0.5, 0.0, 1.0})), torch::tensor({-0.5493061f, 0.0f, inf}));
  PORTING_CLOSE(torch::erfinv(torch::tensor({0.0, 0.5, -0.9})), torch::tensor({0.0, 0.4769363, -1.1630871}));
  PORTING_CLOSE(torch::erf(torch::tensor({0.5})), torch::tensor({0.5204999}));
  PORTING_CLOSE(torch::lgamma(torch::tensor({0.5, 3.0, 10.0})),
                torch::tensor({0.5723649, 0.6931472, 12.8018275}));
  PORTING_CLOSE(torch::digamma(torch::tensor({1.0, 0.5, -0.5})),
                torch::tensor({-0.5772157, -1.9635100, 0.0364900}));
  PORTING_CLOSE(torch::polygamma(1, torch::tensor({1.0, 2.5})), torch::tensor({1.6449341, 0.4903578}));
  PORTING_CLOSE(torch::polygamma(2, torch::tensor({1.0})), torch::tensor({-2.4041138}));
  PORTING_CLOSE(torch::sinc(torch::tensor({0.0, 0.5, 1.0})), torch::tensor({1.0, 0.6366198, 0.0}), 1e-6);
  PORTING_CLOSE(torch::hypot(torch::tensor({3.0}), torch::tensor({-4.0})), torch::tensor({5.0}));
  PORTING_CLOSE(torch::logaddexp(torch::tensor({-100.0, 1.0}), torch::tensor({-100.0, 2.0})),
                torch::tensor({-99.3068528, 2.3132617}));
  PORTING_CLOSE(torch::logaddexp2(torch::tensor({1.0}), torch::tensor({1.0})), torch::tensor({2.0}));
  PORTING_CLOSE(torch::xlogy(torch::tensor({0.0, 2.0}), torch::tensor({0.0, 3.0})),
                torch::tensor({0.0, 2.1972246}));
  PORTING_CLOSE(torch::copysign(torch::tensor({1.0, -2.0}), torch::tensor({-0.0, 3.0})),
                torch::tensor({-1.0, 2.0}));
  PORTING_CLOSE(torch::logit(torch::tensor({0.25, 0.5})), torch::tensor({-1.0986123, 0.0}));
  PORTING_CLOSE(torch::special::expit(torch::tensor({0.0})), torch::tensor({0.5}));
  PORTING_CLOSE(torch::deg2rad(torch::tensor({180.0})), torch::tensor({3.1415927}));
  PORTING_CLOSE(torch::heaviside(torch::tensor({-1.0, 0.0, 2.0}), torch::tensor({0.5})),
                torch::tensor({0.0, 0.5, 1.0}));
  PORTING_CLOSE(torch::round(torch::tensor({0.5, 1.5, -2.5})), torch::tensor({0.0, 2.0, -2.0}));
  PORTING_CLOSE(torch::frac(torch::tensor({1.25, -1.25})), torch::tensor({0.25, -0.25}));
  PORTING_CLOSE(torch::sign(y), torch::sgn(y));
  PORTING_CLOSE(torch::signbit(torch::tensor({-0.0, 1.0})), torch::tensor({true, false}));
  PORTING_CLOSE(x.clamp(-1, 1), torch::tensor({{1.0, -1.0, 1.0}, {0.5, 1.0, -1.0}}));
  PORTING_CLOSE(x.clamp_min(0).sum(), torch::tensor(8.5));
  PORTING_CLOSE(torch::clamp(y, torch::tensor({0.0, 0.0, 0.0}), torch::tensor({1.0, 1.0, 5.0})),
                torch::tensor({1.0, 0.0, 4.0}));
  PORTING_CLOSE(torch::maximum(x, y), torch::tensor({{2.0, -1.0, 4.0}, {2.0, 4.0, 4.0}}));
  const auto special = torch::tensor({1.0f, nan, inf, -inf});
  PORTING_CLOSE(torch::fmax(special, torch::zeros({4})), torch::tensor({1.0f, 0.0f, inf, 0.0f}));
  PORTING_CLOSE(torch::nan_to_num(special, 0, 5, -5), torch::tensor({1.0, 0.0, 5.0, -5.0}));
  PORTING_CLOSE(torch::isnan(special), torch::tensor({false, true, false, false}));
  PORTING_CLOSE(torch::isposinf(special), torch::tensor({false, false, true, false}));
  PORTING_CLOSE(torch::isfinite(special), torch::tensor({true, false, false, false}));
  PORTING_CLOSE(torch::lerp(torch::zeros({2}), torch::ones({2}), 0.25), torch::full({2}, 0.25));
  PORTING_CLOSE(torch::addcmul(y, y, y, 2), y + 2 * y * y);
  PORTING_CLOSE(torch::addcdiv(y, y, torch::tensor({2.0, 2.0, 2.0}), 2), y * 2);
  PORTING_CHECK(torch::equal(i, i.clone()) && !torch::equal(i, i + 1) && torch::allclose(y, y + 1e-9));

  // Reductions
  PORTING_CLOSE(x.sum(), torch::tensor(5.0));
  PORTING_CLOSE(x.sum(0), torch::tensor({1.5, 2.0, 1.5}));
  PORTING_CLOSE(x.sum(torch::IntArrayRef({0, 1}), true), torch::full({1, 1}, 5.0));
  PORTING_CHECK(torch::tensor({true, true}).sum().dtype() == torch::kLong);
  PORTING_CLOSE(i.sum(torch::kDouble), torch::tensor(6.0, torch::kDouble));
  PORTING_CLOSE(x.mean(1), torch::tensor({2.0 / 3, 1.0}));
  PORTING_CLOSE(x.prod(), torch::tensor(18.0));
  PORTING_CLOSE(torch::tensor({1.0, 2.0, 4.0}).var(), torch::tensor(7.0 / 3));
  PORTING_CLOSE(torch::std(torch::tensor({1.0, 3.0}), /*unbiased=*/false), torch::tensor(1.0));
  PORTING_CLOSE(x.var(1, /*unbiased=*/true, /*keepdim=*/true).squeeze(1), torch::tensor({6.3333333, 7.75}));
  PORTING_CLOSE(std::get<1>(torch::var_mean(x, 1, true, false)), x.mean(1));
  PORTING_CLOSE(std::get<0>(torch::std_mean(x)), x.std());
  PORTING_CLOSE(x.max(), torch::tensor(4.0));
  const auto [values, indices] = x.max(1);
  PORTING_CLOSE(values, torch::tensor({3.0, 4.0}));
  PORTING_CLOSE(indices, torch::tensor({2, 1}));
  PORTING_CLOSE(x.argmin(), torch::tensor(1));
  PORTING_CLOSE(x.argmax(0, true), torch::tensor({{0, 1, 0}}));
  PORTING_CLOSE(x.amax({0, 1}), torch::tensor(4.0));
  PORTING_CLOSE(std::get<0>(torch::aminmax(y)), torch::tensor(-1.0));
  PORTING_CLOSE(x.norm(), torch::tensor(5.7008771));
  PORTING_CLOSE(x.norm(1, 1), torch::tensor({6.0, 6.0}));
  PORTING_CLOSE(torch::norm(x, 2, {0}, true), x.square().sum(0, true).sqrt());
  PORTING_CLOSE(torch::logsumexp(torch::zeros({1, 4}), 1), torch::tensor({1.3862944}));
  PORTING_CLOSE(torch::cumsum(y, 0), torch::tensor({2.0, 1.0, 5.0}));
  PORTING_CLOSE(torch::cumprod(y, 0), torch::tensor({2.0, -2.0, -8.0}));
  PORTING_CLOSE(std::get<0>(torch::cummax(torch::tensor({1, 3, 2, 3}), 0)), torch::tensor({1, 3, 3, 3}));
  PORTING_CLOSE(std::get<1>(torch::cummax(torch::tensor({1, 3, 2, 3}), 0)), torch::tensor({0, 1, 1, 3}));
  PORTING_CLOSE(std::get<1>(torch::cummin(torch::tensor({3.0, 1.0, 2.0}), 0)), torch::tensor({0, 1, 1}));
  PORTING_CLOSE(torch::logcumsumexp(torch::tensor({0.0, 0.0, 1000.0}), 0),
                torch::tensor({0.0, 0.6931472, 1000.0}));
  PORTING_CLOSE(torch::nansum(special.slice(0, 0, 2)), torch::tensor(1.0));
  PORTING_CLOSE(torch::nanmean(torch::tensor({1.0f, nan, 3.0f})), torch::tensor(2.0));
  PORTING_CLOSE(torch::count_nonzero(i), torch::tensor(3));
  PORTING_CLOSE((x > 0).all(1), torch::tensor({false, false}));
  PORTING_CLOSE((x > 3).any(1), torch::tensor({false, true}));
  PORTING_CLOSE(torch::dist(y, y + 3, 1), torch::tensor(9.0));
  PORTING_CLOSE(torch::diff(y), torch::tensor({-3.0, 5.0}));
  PORTING_CLOSE(torch::trapezoid(y, 0.5), torch::tensor(1.0));
  PORTING_CLOSE(torch::cov(torch::tensor({{0.0, 1.0, 2.0}, {2.0, 1.0, 0.0}})),
                torch::tensor({{1.0, -1.0}, {-1.0, 1.0}}));
  PORTING_CLOSE(torch::corrcoef(torch::tensor({{0.0, 1.0, 2.0}, {2.0, 1.0, 0.0}})),
                torch::tensor({{1.0, -1.0}, {-1.0, 1.0}}));
  PORTING_CLOSE(torch::renorm(torch::tensor({{3.0, 4.0}, {0.3, 0.4}}), 2, 0, 1),
                torch::tensor({{0.6, 0.8}, {0.3, 0.4}}));
  PORTING_CLOSE(torch::sum(torch::empty({0})), torch::tensor(0.0));
  PORTING_CHECK(std::isnan(torch::empty({0}).mean().item<float>()));

  // In place
  auto w = torch::tensor({1.0, 4.0, 9.0});
  w.sqrt_().add_(1).mul_(torch::tensor({1.0, 2.0, 3.0})).clamp_(0, 8).neg_();
  PORTING_CLOSE(w, torch::tensor({-2.0, -6.0, -8.0}));
  PORTING_CLOSE(torch::tensor({3, 4}).fmod_(2), torch::tensor({1, 0}));
  PORTING_CLOSE(torch::tensor({3.0, 4.0}).ge_(4), torch::tensor({0.0, 1.0}));
  PORTING_CLOSE(torch::ones({2, 2}).triu_(), torch::tensor({{1.0, 1.0}, {0.0, 1.0}}));
  PORTING_CLOSE(torch::ones({3}).cumsum_(0), torch::tensor({1.0, 2.0, 3.0}));
  PORTING_THROWS(torch::tensor({1, 2}).add_(0.5));
  return porting::result("tensor_math");
}
