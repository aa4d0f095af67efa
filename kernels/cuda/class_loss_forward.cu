// Cross entropy of rows of scores: log-softmax and the choice of the target's class in one kernel, without
// writing log-probabilities. Teams as in softmax.cu. A second look at the row is taken only for smoothing and
// for probabilities as targets.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/class_loss.h"
#include "halftone/kernels/cuda/softmax_teams.h"

namespace halftone::cuda {
namespace {

/// Sums over a row, with q its class masses.
struct Distance {
  double sum = 0;   // of q (max - x); a class without mass counts nothing, whatever its score
  double mass = 0;  // of q
};

template <class Team, int kValues, class C>
__device__ Distance row_distance(const ClassProblem& p, const Row<const void*>& x,
                                 const Row<const void*>& shares, const void* weight, C top,
                                 std::int64_t readable) {
  constexpr std::int64_t kSize = Share<kValues>::kPiece;
  const std::int64_t n = p.classes();
  Distance distance;
  for (std::int64_t piece = Team::first(); piece * kSize < n; piece += Team::step()) {
    C values[kValues], q[kValues], sum = 0, mass = 0;
    load_masses<Team>(p, shares, weight, piece * kSize, readable, q);
    load_share(x, piece * kSize, readable, Team::slot(), C(0), values);
    for_share<kValues>(n - piece * kSize, Team::slot(), [&](int j, int) {
      sum += q[j] == C(0) ? C(0) : q[j] * (top - values[j]);
      mass += q[j];
    });
    sum = Team::within(sum, Sum());
    mass = Team::within(mass, Sum());
    if (!Team::keeps(piece)) continue;
    distance.sum += static_cast<double>(sum);
    distance.mass += static_cast<double>(mass);
  }
  distance.sum = sum_across<Team>(distance.sum);
  distance.mass = sum_across<Team>(distance.mass);
  return distance;
}

template <class C, class Team, int kValues>
__global__ void __launch_bounds__(Team::kThreads)
    class_loss_kernel(void* losses, ScalarType losses_dtype, const void* x, const void* target,
                      const void* weight, const double* total_weight, ClassProblem p, FaultSink sink) {
  const std::int64_t n = p.classes();
  for (std::int64_t r = Team::first_row(); r < p.rows(); r += Team::row_step()) {
    const std::int64_t row = Team::row(r);
    const bool exists = row < p.rows();
    const auto offsets = p.geometry.rows.offsets(row);
    const Row<const void*> scores{x, p.scores, offsets.at[kScores], p.geometry.stride[kScores]};
    const Row<const void*> shares{target, p.target, offsets.at[kTarget], p.geometry.stride[kTarget]};
    Label label;
    if (!p.has_shares && exists) {
      label = read_label(target, p.target, shares.offset, n, p.ignore_index, sink, Team::leads());
    }
    const std::int64_t readable = exists && label.counts ? n : 0;

    C values[kValues];
    const ExpSum<C> sums = sum_row_exponentials<Team>(scores, n, readable, values);
    Distance distance;
    if (p.has_shares || p.label_smoothing != 0) {
      distance = row_distance<Team, kValues>(p, scores, shares, weight, sums.top(), readable);
    }

    if (!Team::leads() || !exists) continue;
    const double log_sum = static_cast<double>(is_finite(sums.max) ? sums.log() : sums.top());
    double loss = 0;
    if (label.wrong) {
      loss = std::numeric_limits<double>::quiet_NaN();
    } else if (p.has_shares) {
      loss = distance.mass * log_sum + distance.sum;
    } else if (label.counts) {
      const double own =
          static_cast<double>(read<C>(x, p.scores, scores.offset + label.value * scores.stride));
      loss = class_weight<C>(weight, p.weight, p.weight_stride, label.value) *
             (log_sum + (static_cast<double>(sums.max) - own));
      if (p.label_smoothing != 0) {
        const double total = total_weight ? *total_weight : static_cast<double>(n);
        loss = loss * (1 - p.label_smoothing) + p.smoothing * (total * log_sum + distance.sum);
      }
    }
    write(losses, losses_dtype, row, static_cast<C>(loss));
  }
}

// ---------------------------------------------------------------------------------------------------------------

template <class C>
void losses_in(const Tensor& losses, const ClassProblem& p, const ClassData& data, FaultSink sink) {
  choose_team<C>(p.geometry, kScores, [&]<class Team, int kValues>(unsigned grid, int threads) {
    launch<class_loss_kernel<C, Team, kValues>>(grid, threads, 0, losses.data_ptr(), losses.scalar_type(),
                                                data.scores, data.target, data.weight, data.total_weight, p,
                                                sink);
  });
}

}  // namespace

void class_losses(const Tensor& losses, const ClassProblem& problem, const ClassData& data, FaultSink sink,
                  bool wide) {
  (wide ? losses_in<double> : losses_in<float>)(losses, problem, data, sink);
}

}  // namespace halftone::cuda
