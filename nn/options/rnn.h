#pragma once

#include "halftone/engine/arg.h"
#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"

namespace halftone::nn {

/// What an RNN applies to its sums: kTanh or kReLU.
class RNNNonlinearity {
 public:
  RNNNonlinearity(enumtype::kTanh) : relu_(false) {}
  RNNNonlinearity(enumtype::kReLU) : relu_(true) {}
  /// Whether it is kReLU.
  bool is_relu() const { return relu_; }
  const char* name() const { return relu_ ? "relu" : "tanh"; }

 private:
  bool relu_;
};

/// Options of RNN. batch_first: input and output are (N, T, ...), not (T, N, ...). dropout: between the
/// layers, in training. bidirectional: a second direction, from the last step to the first.
struct RNNOptions {
  RNNOptions(std::int64_t input_size, std::int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  HALFTONE_ARG(std::int64_t, input_size);
  HALFTONE_ARG(std::int64_t, hidden_size);
  HALFTONE_ARG(std::int64_t, num_layers) = 1;
  HALFTONE_ARG(RNNNonlinearity, nonlinearity) = kTanh;
  HALFTONE_ARG(bool, bias) = true;
  HALFTONE_ARG(bool, batch_first) = false;
  HALFTONE_ARG(double, dropout) = 0;
  HALFTONE_ARG(bool, bidirectional) = false;
};

/// Options of LSTM; see RNNOptions. proj_size: only 0 is supported.
struct LSTMOptions {
  LSTMOptions(std::int64_t input_size, std::int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  HALFTONE_ARG(std::int64_t, input_size);
  HALFTONE_ARG(std::int64_t, hidden_size);
  HALFTONE_ARG(std::int64_t, num_layers) = 1;
  HALFTONE_ARG(bool, bias) = true;
  HALFTONE_ARG(bool, batch_first) = false;
  HALFTONE_ARG(double, dropout) = 0;
  HALFTONE_ARG(bool, bidirectional) = false;
  HALFTONE_ARG(std::int64_t, proj_size) = 0;
};

/// Options of GRU; see RNNOptions.
struct GRUOptions {
  GRUOptions(std::int64_t input_size, std::int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  HALFTONE_ARG(std::int64_t, input_size);
  HALFTONE_ARG(std::int64_t, hidden_size);
  HALFTONE_ARG(std::int64_t, num_layers) = 1;
  HALFTONE_ARG(bool, bias) = true;
  HALFTONE_ARG(bool, batch_first) = false;
  HALFTONE_ARG(double, dropout) = 0;
  HALFTONE_ARG(bool, bidirectional) = false;
};

/// Options of RNNCell.
struct RNNCellOptions {
  RNNCellOptions(std::int64_t input_size, std::int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  HALFTONE_ARG(std::int64_t, input_size);
  HALFTONE_ARG(std::int64_t, hidden_size);
  HALFTONE_ARG(bool, bias) = true;
  HALFTONE_ARG(RNNNonlinearity, nonlinearity) = kTanh;
};

/// Options of LSTMCell.
struct LSTMCellOptions {
  LSTMCellOptions(std::int64_t input_size, std::int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  HALFTONE_ARG(std::int64_t, input_size);
  HALFTONE_ARG(std::int64_t, hidden_size);
  HALFTONE_ARG(bool, bias) = true;
};

/// Options of GRUCell.
struct GRUCellOptions {
  GRUCellOptions(std::int64_t input_size, std::int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  HALFTONE_ARG(std::int64_t, input_size);
  HALFTONE_ARG(std::int64_t, hidden_size);
  HALFTONE_ARG(bool, bias) = true;
};

}  // namespace halftone::nn
