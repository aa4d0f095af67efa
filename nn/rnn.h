#pragma once

#include <tuple>
#include <vector>

#include "halftone/nn/module_holder.h"
#include "halftone/nn/options/rnn.h"
#include "halftone/nn/utils/rnn.h"

namespace halftone::nn {

namespace detail {

/// The sizes of a recurrent layer, whichever cells it has.
struct RNNShape {
  const char* name;
  std::int64_t gates;  ///< blocks of hidden_size rows in its weights
  std::int64_t input_size, hidden_size, num_layers;
  bool bias, batch_first;
  double dropout;
  bool bidirectional;
};

/// States of all layers and directions, (layers * directions, N, H); `c` for LSTM only.
struct RNNStates {
  Tensor h, c;
};

/// What RNN, LSTM and GRU share: per layer and direction the parameters weight_ih_l0 (gates * H, inputs),
/// weight_hh_l0 (gates * H, H), bias_ih_l0 and bias_hh_l0, then those of "l0_reverse", "l1", ...; all start
/// uniform in +-1/sqrt(H).
template <class Derived>
class RNNImplBase : public Cloneable<Derived> {
 public:
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  /// All parameters in the order in which they are registered.
  std::vector<Tensor> all_weights() const { return this->parameters(false); }
  /// Does nothing: weights are used where they are.
  void flatten_parameters() {}

 protected:
  /// (T, N, I), or (N, T, I) if batch_first, or (T, I); states may be undefined.
  std::tuple<Tensor, RNNStates> run(const Tensor& input, RNNStates states);
  std::tuple<utils::rnn::PackedSequence, RNNStates> run(const utils::rnn::PackedSequence& input,
                                                        RNNStates states);
};

/// Parameters of a cell: weight_ih (gates * H, I), weight_hh (gates * H, H), bias_ih, bias_hh.
template <class Derived>
class RNNCellImplBase : public Cloneable<Derived> {
 public:
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  Tensor weight_ih, weight_hh;
  Tensor bias_ih, bias_hh;  ///< undefined without bias

 protected:
  /// The state given, or zeros like what the products of `input` will be.
  Tensor state_or_zeros(const Tensor& input, const Tensor& state) const;
};

}  // namespace detail

/// Elman's network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu.
class RNNImpl : public detail::RNNImplBase<RNNImpl> {
 public:
  RNNImpl(std::int64_t input_size, std::int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}
  explicit RNNImpl(const RNNOptions& options);
  /// Input (T, N, I), state (layers * directions, N, H), zeros by default. The states of the last layer at
  /// all steps, (T, N, directions * H), and of all layers after the last.
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  /// The same for sequences of different lengths; the result is packed as they are.
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, Tensor hx = {});
  /// Its sizes, as its base reads them.
  detail::RNNShape shape() const;

  RNNOptions options;
};
HALFTONE_MODULE(RNN);

/// Long short-term memory (Hochreiter and Schmidhuber, 1997), gates in the order input, forget, candidate,
/// output.
class LSTMImpl : public detail::RNNImplBase<LSTMImpl> {
 public:
  LSTMImpl(std::int64_t input_size, std::int64_t hidden_size)
      : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& options);
  /// As RNN; the state is (h, c).
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(
      const Tensor& input, optional<std::tuple<Tensor, Tensor>> hx_opt = nullopt);
  /// The same for sequences of different lengths; the result is packed as they are.
  std::tuple<utils::rnn::PackedSequence, std::tuple<Tensor, Tensor>> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, optional<std::tuple<Tensor, Tensor>> hx_opt = nullopt);
  /// Its sizes, as its base reads them.
  detail::RNNShape shape() const;

  LSTMOptions options;
};
HALFTONE_MODULE(LSTM);

/// Gated recurrent units (arXiv:1406.1078), gates in the order reset, update, candidate.
class GRUImpl : public detail::RNNImplBase<GRUImpl> {
 public:
  GRUImpl(std::int64_t input_size, std::int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)) {}
  explicit GRUImpl(const GRUOptions& options);
  /// As RNN.
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  /// The same for sequences of different lengths; the result is packed as they are.
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, Tensor hx = {});
  /// Its sizes, as its base reads them.
  detail::RNNShape shape() const;

  GRUOptions options;
};
HALFTONE_MODULE(GRU);

/// One step of RNN: input (N, I), state (N, H), zeros by default.
class RNNCellImpl : public detail::RNNCellImplBase<RNNCellImpl> {
 public:
  RNNCellImpl(std::int64_t input_size, std::int64_t hidden_size)
      : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}
  explicit RNNCellImpl(const RNNCellOptions& options);
  Tensor forward(const Tensor& input, Tensor hx = {});

  RNNCellOptions options;
};
HALFTONE_MODULE(RNNCell);

/// One step of LSTM: the new (h, c).
class LSTMCellImpl : public detail::RNNCellImplBase<LSTMCellImpl> {
 public:
  LSTMCellImpl(std::int64_t input_size, std::int64_t hidden_size)
      : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
  explicit LSTMCellImpl(const LSTMCellOptions& options);
  std::tuple<Tensor, Tensor> forward(const Tensor& input,
                                     optional<std::tuple<Tensor, Tensor>> hx_opt = nullopt);

  LSTMCellOptions options;
};
HALFTONE_MODULE(LSTMCell);

/// One step of GRU.
class GRUCellImpl : public detail::RNNCellImplBase<GRUCellImpl> {
 public:
  GRUCellImpl(std::int64_t input_size, std::int64_t hidden_size)
      : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}
  explicit GRUCellImpl(const GRUCellOptions& options);
  Tensor forward(const Tensor& input, Tensor hx = {});

  GRUCellOptions options;
};
HALFTONE_MODULE(GRUCell);

}  // namespace halftone::nn
