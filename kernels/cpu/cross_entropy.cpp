#include <algorithm>
#include <cmath>
#include <numeric>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/rows.h"
#include "halftone/kernels/loss.h"

namespace halftone::cpu {

template <class T>
struct RowSummary {
  T max;
  double log_sum;
};

template <class T>
struct ClassRows {
  RowSummary<T> (*summary)(const T* x, std::int64_t n);
  double (*distance)(const T* x, const T* q, T m, std::int64_t n);
  double (*exponentials)(T* x, std::int64_t n);
  void (*combine)(T* x, const T* q, T a, T b, std::int64_t n);
};

}  // namespace halftone::cpu

#define HALFTONE_ISA_BODY "halftone/kernels/cpu/cross_entropy.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {
namespace {

template <class T>
const ClassRows<T>& row_functions() {
  if constexpr (std::is_same_v<T, float>) {
    return *pick(&baseline::class_rows_float, &avx2::class_rows_float, &avx512::class_rows_float);
  } else {
    return *pick(&baseline::class_rows_double, &avx2::class_rows_double, &avx512::class_rows_double);
  }
}

std::int64_t class_dim(const Tensor& x) { return x.dim() == 1 ? 0 : 1; }

/// The class of each row; -1 for rows to ignore.
CachedVector<std::int64_t> read_labels(const Tensor& target, std::int64_t classes,
                                       const ClassLossOptions& options) {
  CachedVector<std::int64_t> labels = elements<std::int64_t>(target);
  labels.resize(static_cast<std::size_t>(target.numel()));
  for (std::int64_t& label : labels) {
    if (label == options.ignore_index) {
      label = -1;
    } else if (label < 0 || label >= classes) {
      fail(options.op, "target ", label, " is not a class: expected 0 to ", classes - 1, ", or ignore_index ",
           options.ignore_index);
    }
  }
  return labels;
}

/// What a call knows about all its rows.
template <class T>
class ClassLoss {
 public:
  ClassLoss(const Tensor& x, const Tensor& target, const Tensor& weight, const ClassLossOptions& options)
      : options_(options), functions_(row_functions<T>()), scores_(x, class_dim(x)) {
    classes_ = scores_.length();
    n_ = padded(classes_);
    if (weight.defined()) {
      weights_ = elements<T>(weight);
    } else {
      weights_.assign(static_cast<std::size_t>(n_), T(0));
      std::fill_n(weights_.begin(), classes_, T(1));
    }
    smoothing_ = options.label_smoothing / static_cast<double>(classes_);
    for (std::int64_t c = 0; c < classes_; ++c) total_weight_ += static_cast<double>(weights_[at(c)]);
    if (target.is_floating_point()) {
      shares_.emplace(target, class_dim(x));
      divisor_ = static_cast<double>(rows());
    } else {
      labels_ = read_labels(target, classes_, options);
      for (std::int64_t label : labels_)
        divisor_ += label < 0 ? 0.0 : static_cast<double>(weights_[at(label)]);
    }
  }

  std::int64_t rows() const { return scores_.count(); }
  /// What the mean divides by.
  double divisor() const { return divisor_; }

  void forward(CachedVector<T>& losses) const {
    parallel_for(rows(), row_grain(n_), [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch(*this);
      for (std::int64_t r = begin, count; r < end; r += count) {
        count = scratch.load(r, end);
        for (std::int64_t j = 0; j < count; ++j) {
          losses[at(r + j)] = static_cast<T>(row_loss(r + j, scratch.row(j), scratch.q()));
        }
      }
    });
  }

  /// `grad_of(r)` is the gradient of row r's loss.
  template <class F>
  void backward(const Tensor& out, F grad_of) const {
    const Rows<T> to(out, class_dim(out));
    parallel_for(rows(), row_grain(n_), [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch(*this);
      for (std::int64_t r = begin, count; r < end; r += count) {
        count = scratch.load(r, end);
        for (std::int64_t j = 0; j < count; ++j)
          row_gradient(r + j, grad_of(r + j), scratch.row(j), scratch.q());
        to.store(r, count, scratch.row(0), scratch.step());
      }
    });
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  static constexpr T kPadding = -std::numeric_limits<T>::infinity();

  /// One thread's rows.
  class Scratch {
   public:
    explicit Scratch(const ClassLoss& loss)
        : loss_(loss), rows_(at(loss.scores_.group(0, kRowGroup) * step())), q_(at(loss.n_)) {}
    std::int64_t step() const { return group_step(loss_.n_); }
    T* row(std::int64_t j) { return rows_.data() + j * step(); }
    T* q() { return q_.data(); }
    /// Reads the scores of rows from `r` on; returns how many.
    std::int64_t load(std::int64_t r, std::int64_t end) {
      const std::int64_t count = loss_.scores_.group(r, end);
      if (!loss_.options_.log_probabilities) loss_.scores_.load(r, count, row(0), step(), kPadding);
      return count;
    }

   private:
    const ClassLoss& loss_;
    CachedVector<T> rows_, q_;
  };

  bool is_ignored(std::int64_t r) const { return !shares_ && labels_[at(r)] < 0; }

  /// q of row r for a target of probabilities; returns its sum.
  double load_shares(std::int64_t r, T* q) const {
    shares_->load(r, q, T(0));
    double sum = 0;
    for (std::int64_t c = 0; c < classes_; ++c) {
      q[c] = static_cast<T>(static_cast<double>(weights_[at(c)]) *
                            ((1 - options_.label_smoothing) * static_cast<double>(q[c]) + smoothing_));
      sum += static_cast<double>(q[c]);
    }
    return sum;
  }

  double row_loss(std::int64_t r, T* x, T* q) const {
    if (is_ignored(r)) return 0;
    if (options_.log_probabilities) {
      const std::int64_t label = labels_[at(r)];
      return -static_cast<double>(weights_[at(label)]) * static_cast<double>(scores_.at(r, label));
    }
    const RowSummary<T> summary = functions_.summary(x, n_);
    if (shares_) {
      const double mass = load_shares(r, q);
      return mass * summary.log_sum - functions_.distance(x, q, summary.max, n_);
    }
    const std::int64_t label = labels_[at(r)];
    const double weight = static_cast<double>(weights_[at(label)]);
    double loss =
        weight * (summary.log_sum - (static_cast<double>(x[label]) - static_cast<double>(summary.max)));
    if (smoothing_ != 0) {
      loss *= 1 - options_.label_smoothing;
      loss += smoothing_ *
              (total_weight_ * summary.log_sum - functions_.distance(x, weights_.data(), summary.max, n_));
    }
    return loss;
  }

  /// x becomes grad (mass p - q), where mass is the sum of q.
  void row_gradient(std::int64_t r, double grad, T* x, T* q) const {
    if (is_ignored(r) || options_.log_probabilities) {
      std::fill_n(x, n_, T(0));
      if (is_ignored(r)) return;
      x[labels_[at(r)]] = static_cast<T>(-grad * static_cast<double>(weights_[at(labels_[at(r)])]));
      return;
    }
    const double total = functions_.exponentials(x, n_);
    if (shares_) {
      const double mass = load_shares(r, q);
      return functions_.combine(x, q, static_cast<T>(grad * mass / total), static_cast<T>(grad), n_);
    }
    const std::int64_t label = labels_[at(r)];
    const double weight = static_cast<double>(weights_[at(label)]);
    const double own = (1 - options_.label_smoothing) * weight, mass = own + smoothing_ * total_weight_;
    // 1 - p of a confident row is a small difference: taken in fp64, where the row's total is exact enough.
    const double at_label =
        (mass * static_cast<double>(x[label]) - (own + smoothing_ * weight) * total) / total;
    functions_.combine(x, weights_.data(), static_cast<T>(grad * mass / total),
                       static_cast<T>(grad * smoothing_), n_);
    x[label] = static_cast<T>(grad * at_label);
  }

  const ClassLossOptions& options_;
  const ClassRows<T>& functions_;
  Rows<T> scores_;
  std::optional<Rows<T>> shares_;
  CachedVector<std::int64_t> labels_;
  CachedVector<T> weights_;
  std::int64_t classes_, n_;
  double smoothing_, total_weight_ = 0, divisor_ = 0;
};

template <class T>
void forward_in(const Tensor& out, const Tensor& x, const Tensor& target, const Tensor& weight,
                const ClassLossOptions& options) {
  const ClassLoss<T> loss(x, target, weight, options);
  CachedVector<T> losses(static_cast<std::size_t>(loss.rows()));
  loss.forward(losses);
  const Storer<T> store = storer<T>(out.scalar_type());
  if (options.reduction == Reduction::None) return store(out.data_ptr(), 1, losses.data(), loss.rows());
  double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  if (options.reduction == Reduction::Mean) sum /= loss.divisor();
  const T result = static_cast<T>(sum);
  store(out.data_ptr(), 1, &result, 1);
}

template <class T>
void backward_in(const Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& target,
                 const Tensor& weight, const ClassLossOptions& options) {
  const ClassLoss<T> loss(x, target, weight, options);
  const CachedVector<T> grads = elements<T>(grad);
  if (options.reduction == Reduction::None) {
    return loss.backward(
        out, [&](std::int64_t r) { return static_cast<double>(grads[static_cast<std::size_t>(r)]); });
  }
  double factor = static_cast<double>(grads[0]);
  if (options.reduction == Reduction::Mean) factor /= loss.divisor();
  loss.backward(out, [&](std::int64_t) { return factor; });
}

bool in_double(std::initializer_list<const Tensor*> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* t) { return t->defined() && t->scalar_type() == kDouble; });
}

void forward(const Tensor& out, const Tensor& x, const Tensor& target, const Tensor& weight,
             const ClassLossOptions& options) {
  const bool wide = in_double({&out, &x, &target, &weight});
  (wide ? forward_in<double> : forward_in<float>)(out, x, target, weight, options);
}

void backward(const Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& target,
              const Tensor& weight, const ClassLossOptions& options) {
  const bool wide = in_double({&out, &grad, &x, &target, &weight});
  (wide ? backward_in<double> : backward_in<float>)(out, grad, x, target, weight, options);
}

void one_hot(const Tensor& out, const Tensor& target, const ClassLossOptions& options) {
  const std::int64_t classes = out.size(class_dim(out));
  const CachedVector<std::int64_t> labels = read_labels(target, classes, options);
  const Rows<double> rows(out, class_dim(out));
  CachedVector<double> row(static_cast<std::size_t>(padded(classes)), 0.0);
  for (std::int64_t r = 0; r < rows.count(); ++r) {
    const std::int64_t label = labels[static_cast<std::size_t>(r)];
    if (label >= 0) row[static_cast<std::size_t>(label)] = 1;
    rows.store(r, row.data());
    if (label >= 0) row[static_cast<std::size_t>(label)] = 0;
  }
}

}  // namespace
}  // namespace halftone::cpu

namespace halftone {

template <>
const ClassLossKernels& cpu_kernels<ClassLossKernels>() {
  static const ClassLossKernels kernels{cpu::forward, cpu::backward, cpu::one_hot};
  return kernels;
}

}  // namespace halftone
