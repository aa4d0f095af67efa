#pragma once

#include <functional>
#include <string>
#include <vector>

#include <halftone/halftone.h>

/// One of the columns of the tables.
struct Mode {
  const char* name;
  halftone::Dtype compute;  // of matrix products; fp32 switches autocast off
  bool loss_scaling;
  bool half_weights;  // after every step the weights are rounded to fp16: there is no fp32 master
  /// Where to count the exponents of all gradients, of activations and weights, that the last step's backward
  /// makes.
  halftone::amp::ExponentHistogram* gradients = nullptr;
};

/// A small model, its data, and how well it did.
struct Task {
  const char* name;
  const char* metric;
  bool higher_is_better;
  /// Trains from the same start in the given mode; gives the metric on data that was not trained on.
  std::function<double(const Mode&)> run;
};

/// The five models. `fashion_mnist`: folder of the IDX files; `text`: a file to learn writing from.
std::vector<Task> make_tasks(const std::string& fashion_mnist, const std::string& text);
