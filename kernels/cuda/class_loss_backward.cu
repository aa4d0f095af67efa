// Gradients of cross entropy for the scores: grad (mass softmax(x) - q), where mass is the sum of q. Teams as
// in softmax.cu; the row is read once where it stays in registers.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/class_loss.h"
#include "halftone/kernels/cuda/softmax_teams.h"

namespace halftone::cuda {
namespace {

/// The sum of q over a row whose target holds probabilities.
template <class Team, int kValues, class C>
__device__ double row_mass(const ClassProblem& p, const Row<const void*>& shares, const void* weight,
                           std::int64_t readable) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  const std::int64_t n = p.classes();
  double total = 0;
  for (std::int64_t piece = Team::first(); piece * kSize < n; piece += Team::step()) {
    C q[kValues], mass = 0;
    load_masses<Team>(p, shares, weight, piece * kSize, readable, q);
    for_share<kValues>(n - piece * kSize, Team::slot(), [&](int j, int) { mass += q[j]; });
    mass = Team::within(mass, Sum());
    if (Team::keeps(piece)) total += static_cast<double>(mass);
  }
  return sum_across<Team>(total);
}

/// A row's gradient is a e^(x - top) - b q, but at the label, where 1 - p of a confident row is a small
/// difference that is taken in fp64.
template <class C>
struct Gradient {
  C top, a, b, at_label;
};

template <class C>
__device__ Gradient<C> row_gradient(const ExpSum<C>& sums, double grad, double mass) {
  return {sums.top(), static_cast<C>(grad * mass / sums.total()), static_cast<C>(grad), C(0)};
}

template <class C>
__device__ Gradient<C> row_gradient(const ClassProblem& p, const ExpSum<C>& sums, double grad, C own_score,
                                    double weight, double total_weight) {
  const C top = sums.top();
  const double own = (1 - p.label_smoothing) * weight, mass = own + p.smoothing * total_weight;
  const double total = sums.total(), e = static_cast<double>(std::exp(own_score - top));
  const double at_label = (mass * e - (own + p.smoothing * weight) * total) / total;
  return {top, static_cast<C>(grad * mass / total), static_cast<C>(grad * p.smoothing),
          static_cast<C>(grad * at_label)};
}

template <class C, class Team, int kValues>
__global__ void __launch_bounds__(Team::kThreads)
    class_loss_backward_kernel(void* out, const void* grad, const double* divisor, const void* x,
                               const void* target, const void* weight, const double* total_weight,
                               ClassProblem p, FaultSink sink) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  const std::int64_t n = p.classes();
  for (std::int64_t r = Team::first_row(); r < p.rows(); r += Team::row_step()) {
    const std::int64_t row = Team::row(r);
    const bool exists = row < p.rows();
    const auto offsets = p.geometry.rows.offsets(row);
    const Row<const void*> scores{x, p.scores, offsets.at[kScores], p.geometry.stride[kScores]};
    const Row<const void*> shares{target, p.target, offsets.at[kTarget], p.geometry.stride[kTarget]};
    const Row<void*> to{out, p.result, offsets.at[kResult], p.geometry.stride[kResult]};
    Label label;
    if (!p.has_shares && exists) {
      label = read_label(target, p.target, shares.offset, n, p.ignore_index, sink, Team::leads());
    }
    const std::int64_t writable = exists ? n : 0, readable = label.counts ? writable : 0;

    C values[kValues];
    const ExpSum<C> sums = sum_row_exponentials<Team>(scores, n, readable, values);
    const double mass = p.has_shares ? row_mass<Team, kValues, C>(p, shares, weight, readable) : 0;

    Gradient<C> gradient{0, 0, 0, 0};
    if (readable > 0) {
      double g = static_cast<double>(read<C>(grad, p.grad, offsets.at[kGrad]));
      g /= divisor ? *divisor : p.divisor;
      if (p.has_shares) {
        gradient = row_gradient(sums, g, mass);
      } else {
        gradient = row_gradient(p, sums, g, read<C>(x, p.scores, scores.offset + label.value * scores.stride),
                                class_weight<C>(weight, p.weight, p.weight_stride, label.value),
                                total_weight ? *total_weight : static_cast<double>(n));
      }
    }

    for (std::int64_t piece = Team::first(); piece * kSize < n; piece += Team::step()) {
      const std::int64_t begin = piece * kSize;
      if (!keeps_row<Team, kValues>(n)) load_share(scores, begin, readable, Team::slot(), C(0), values);
      for_share<kValues>(n - begin, Team::slot(), [&](int j, int) {
        values[j] = readable > 0 ? std::exp(values[j] - gradient.top) * gradient.a : C(0);
      });
      if (p.has_shares || p.label_smoothing != 0) {
        C q[kValues];
        load_masses<Team>(p, shares, weight, begin, readable, q);
        for_share<kValues>(n - begin, Team::slot(),
                           [&](int j, int) { values[j] = std::fma(-q[j], gradient.b, values[j]); });
      }
      if (!p.has_shares && readable > 0) {
        for_share<kValues>(n - begin, Team::slot(), [&](int j, int i) {
          if (begin + i == label.value) values[j] = gradient.at_label;
        });
      }
      store_share(to, begin, writable, Team::slot(), values);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------

template <class C>
void gradients_in(const Tensor& out, const Tensor& grad, const double* divisor, const ClassProblem& p,
                  const ClassData& data, FaultSink sink) {
  choose_team<C>(p.geometry, kScores, [&]<class Team, int kValues>(unsigned grid, int threads) {
    launch<class_loss_backward_kernel<C, Team, kValues>>(grid, threads, 0, out.data_ptr(), grad.data_ptr(),
                                                         divisor, data.scores, data.target, data.weight,
                                                         data.total_weight, p, sink);
  });
}

}  // namespace

void class_gradients(const Tensor& out, const Tensor& grad, const double* divisor,
                     const ClassProblem& problem, const ClassData& data, FaultSink sink, bool wide) {
  (wide ? gradients_in<double> : gradients_in<float>)(out, grad, divisor, problem, data, sink);
}

}  // namespace halftone::cuda
