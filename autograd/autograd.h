#pragma once

#include "halftone/autograd/node.h"

namespace halftone::autograd {

/// Accumulates the gradients of `tensors` into the leaves they depend on. `grad_tensors` are the gradients to
/// start from, one per tensor; an undefined one, or an empty list, means 1 for a tensor of one element.
/// retain_graph defaults to create_graph. Throws Error when a tensor requires no grad, a gradient's shape
/// differs, or the graph was freed by an earlier backward.
void backward(const TensorList& tensors, const TensorList& grad_tensors = {},
              std::optional<bool> retain_graph = std::nullopt, bool create_graph = false);

/// The gradients of `outputs` with respect to `inputs`, in their order; no leaf is touched. With create_graph
/// they can be differentiated again. An input the outputs do not depend on is an error, or undefined with
/// `allow_unused`.
std::vector<Tensor> grad(const TensorList& outputs, const TensorList& inputs,
                         const TensorList& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                         bool create_graph = false, bool allow_unused = false);

/// Bytes that the graph behind `output` holds for backward: distinct storages, without leaves' own data
/// (parameters) and their low-precision copies.
std::size_t saved_bytes(const Tensor& output);

/// One kept tensor of a graph, for reports.
struct SavedInfo {
  const char* op;     ///< the operator that keeps it
  ScalarType dtype;   ///< of its elements
  Dims sizes;         ///< its shape
  std::size_t bytes;  ///< of its storage; 0 when an earlier entry counted it
};
/// What saved_bytes counts, operator by operator, from the output backwards.
std::vector<SavedInfo> saved_tensors(const Tensor& output);

/// Checks every gradient for NaN during backward, and names the operator whose gradient made it.
struct AnomalyMode {
  /// Of this thread; off at first.
  static bool is_enabled();
  /// Switches it on this thread; DetectAnomalyGuard does so for a scope.
  static void set_enabled(bool enabled);
};

/// Anomaly mode while alive.
class DetectAnomalyGuard {
 public:
  DetectAnomalyGuard() : previous_(AnomalyMode::is_enabled()) { AnomalyMode::set_enabled(true); }
  ~DetectAnomalyGuard() { AnomalyMode::set_enabled(previous_); }
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  bool previous_;
};

}  // namespace halftone::autograd
