#include "halftone/nn/rnn.h"

#include <cmath>
#include <ostream>

#include "halftone/nn/functional.h"
#include "halftone/nn/init.h"
#include "halftone/nn/layer_text.h"

namespace halftone::nn {

namespace detail {
namespace {

/// The parameters of one layer and direction; biases may be undefined.
struct Weights {
  Tensor w_ih, w_hh, b_ih, b_hh;
};

std::vector<Weights> weights_of(const RNNShape& shape, const std::vector<Tensor>& all) {
  std::vector<Weights> weights;
  for (std::size_t i = 0; i < all.size();) {
    Weights w{all[i], all[i + 1], {}, {}};
    i += 2;
    if (shape.bias) {
      w.b_ih = all[i];
      w.b_hh = all[i + 1];
      i += 2;
    }
    weights.push_back(std::move(w));
  }
  return weights;
}

/// Rows of all steps one after the other, and how many each step has.
struct Sequence {
  Tensor rows;
  Tensor batch_sizes;  // int64, on the CPU

  std::int64_t batch(std::int64_t step) const { return batch_sizes.data_ptr<std::int64_t>()[step]; }
  std::int64_t steps() const { return batch_sizes.numel(); }
};

/// For each sequence the row of its last step.
Tensor last_rows(const Sequence& sequence, Device device) {
  const std::int64_t n = sequence.batch(0);
  const Tensor places = empty({n}, TensorOptions(kLong).device(kCPU));
  std::int64_t at = 0;
  for (std::int64_t t = 0; t < sequence.steps(); ++t) {
    for (std::int64_t i = 0; i < sequence.batch(t); ++i) places.data_ptr<std::int64_t>()[i] = at + i;
    at += sequence.batch(t);
  }
  return places.to(device);
}

/// The states after the last step taken, of all steps' states.
Tensor final_state(const Tensor& all, const Sequence& sequence, bool reverse) {
  const std::int64_t n = sequence.batch(0);
  if (reverse) return narrow(all, 0, 0, n);
  if (sequence.batch(sequence.steps() - 1) == n) return narrow(all, 0, all.size(0) - n, n);
  return index_select(all, 0, last_rows(sequence, all.device()));
}

/// One layer in one direction: the states of all steps, and the final ones.
std::tuple<Tensor, RNNStates> run_layer(const RNNShape& shape, const char* nonlinearity,
                                        const Sequence& sequence, const Weights& w, const RNNStates& first,
                                        bool reverse) {
  const bool gru = shape.gates == 3;
  Tensor bias = w.b_ih;
  if (!gru && bias.defined()) bias = bias + w.b_hh;
  const Tensor products = functional::linear(sequence.rows, w.w_ih, bias);
  if (shape.gates == 4) {
    const auto [out, cells, gates] =
        lstm_layer(products, w.w_hh, first.h, first.c, sequence.batch_sizes, reverse);
    return {out,
            {final_state(out, sequence, reverse),
             to_dtype(final_state(cells, sequence, reverse), out.scalar_type())}};
  }
  Tensor out;
  if (gru) {
    out = std::get<0>(gru_layer(products, w.w_hh, w.b_hh, first.h, sequence.batch_sizes, reverse));
  } else {
    out = rnn_layer(products, w.w_hh, first.h, nonlinearity, sequence.batch_sizes, reverse);
  }
  return {out, {final_state(out, sequence, reverse), {}}};
}

/// The state given, or zeros, for every layer and direction.
Tensor initial_state(const RNNShape& shape, const char* what, const Tensor& given, const Tensor& input,
                     std::int64_t batch) {
  const std::int64_t layers = shape.num_layers * (shape.bidirectional ? 2 : 1);
  const Dims expected{layers, batch, shape.hidden_size};
  if (!given.defined()) return zeros(expected, input.options());
  if (!(given.sizes() == IntArrayRef(expected))) {
    fail(shape.name, "expected a ", what, " state ", expected, ", got ", given);
  }
  return given;
}

/// All layers over one sequence.
std::tuple<Tensor, RNNStates> run_layers(const RNNShape& shape, const char* nonlinearity, Sequence sequence,
                                         const std::vector<Tensor>& parameters, RNNStates states,
                                         bool training) {
  const std::int64_t batch = sequence.batch(0);
  const Tensor input = sequence.rows;
  if (input.dim() != 2 || input.size(-1) != shape.input_size) {
    fail(shape.name, "expected an input of ", shape.input_size, " features, got ", input);
  }
  states.h = initial_state(shape, "hidden", states.h, input, batch);
  if (shape.gates == 4) states.c = initial_state(shape, "cell", states.c, input, batch);
  const std::vector<Weights> weights = weights_of(shape, parameters);
  const std::size_t directions = shape.bidirectional ? 2 : 1;
  std::vector<Tensor> hs, cs;
  for (std::size_t i = 0; i < weights.size(); i += directions) {
    std::vector<Tensor> outputs;
    for (std::size_t d = 0; d < directions; ++d) {
      const auto which = static_cast<std::int64_t>(i + d);
      const RNNStates first{states.h.select(0, which),
                            states.c.defined() ? states.c.select(0, which) : Tensor()};
      auto [out, last] = run_layer(shape, nonlinearity, sequence, weights[i + d], first, d == 1);
      outputs.push_back(out);
      hs.push_back(last.h);
      if (last.c.defined()) cs.push_back(last.c);
    }
    sequence.rows = directions == 1 ? outputs[0] : cat(outputs, 1);
    if (i + directions < weights.size() && shape.dropout > 0) {
      sequence.rows = halftone::dropout(sequence.rows, shape.dropout, training);
    }
  }
  return {sequence.rows, {stack(hs, 0), cs.empty() ? Tensor() : stack(cs, 0)}};
}

void check_shape(const RNNShape& shape) {
  if (shape.input_size < 1 || shape.hidden_size < 1 || shape.num_layers < 1) {
    fail(shape.name, "expected positive sizes and layers, got input_size ", shape.input_size,
         ", hidden_size ", shape.hidden_size, ", num_layers ", shape.num_layers);
  }
  if (!(shape.dropout >= 0 && shape.dropout <= 1)) {
    fail(shape.name, "dropout must be in [0, 1], got ", shape.dropout);
  }
}

void fill_uniform(const std::vector<Tensor>& parameters, std::int64_t hidden_size) {
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_size));
  for (const Tensor& parameter : parameters) init::uniform_(parameter, -bound, bound);
}

template <class Options>
RNNShape shape_of(const char* name, std::int64_t gates, const Options& o) {
  return {name,     gates,           o.input_size(), o.hidden_size(),  o.num_layers(),
          o.bias(), o.batch_first(), o.dropout(),    o.bidirectional()};
}

const char* nonlinearity_of(const RNNImpl& m) { return m.options.nonlinearity().name(); }
const char* nonlinearity_of(const Module&) { return ""; }

const char* text(bool value) { return value ? "true" : "false"; }

}  // namespace

template <class Derived>
void RNNImplBase<Derived>::reset() {
  const RNNShape shape = static_cast<const Derived&>(*this).shape();
  check_shape(shape);
  const std::int64_t directions = shape.bidirectional ? 2 : 1, rows = shape.gates * shape.hidden_size;
  for (std::int64_t layer = 0; layer < shape.num_layers; ++layer) {
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::string suffix = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      const std::int64_t inputs = layer == 0 ? shape.input_size : shape.hidden_size * directions;
      this->register_parameter("weight_ih" + suffix, empty({rows, inputs}));
      this->register_parameter("weight_hh" + suffix, empty({rows, shape.hidden_size}));
      if (!shape.bias) continue;
      this->register_parameter("bias_ih" + suffix, empty({rows}));
      this->register_parameter("bias_hh" + suffix, empty({rows}));
    }
  }
  reset_parameters();
}

template <class Derived>
void RNNImplBase<Derived>::reset_parameters() {
  fill_uniform(this->parameters(false), static_cast<const Derived&>(*this).shape().hidden_size);
}

template <class Derived>
void RNNImplBase<Derived>::pretty_print(std::ostream& stream) const {
  const RNNShape shape = static_cast<const Derived&>(*this).shape();
  stream << kLayerPrefix << shape.name << "(input_size=" << shape.input_size
         << ", hidden_size=" << shape.hidden_size << ", num_layers=" << shape.num_layers
         << ", bias=" << text(shape.bias) << ", batch_first=" << text(shape.batch_first)
         << ", dropout=" << shape.dropout << ", bidirectional=" << text(shape.bidirectional) << ")";
}

template <class Derived>
std::tuple<Tensor, RNNStates> RNNImplBase<Derived>::run(const Tensor& input, RNNStates states) {
  const RNNShape shape = static_cast<const Derived&>(*this).shape();
  if (!input.defined() || (input.dim() != 3 && input.dim() != 2)) {
    fail(shape.name, "expected an input (T, N, ", shape.input_size,
         "), or (N, T, ...) with batch_first, got ", input);
  }
  const bool batched = input.dim() == 3;
  Tensor steps = batched ? input : unsqueeze(input, 1);
  if (batched && shape.batch_first) steps = transpose(steps, 0, 1);
  if (!batched) {
    for (Tensor* state : {&states.h, &states.c})
      if (state->defined()) *state = unsqueeze(*state, 1);
  }
  const std::int64_t count = steps.size(0), batch = steps.size(1);
  if (count == 0) fail(shape.name, "expected at least one step, got ", input);
  Sequence sequence{flatten(steps, 0, 1), full({count}, batch, TensorOptions(kLong).device(kCPU))};
  auto [rows, last] =
      run_layers(shape, nonlinearity_of(static_cast<const Derived&>(*this)), std::move(sequence),
                 this->parameters(false), std::move(states), this->is_training());
  Tensor out = unflatten(rows, 0, {count, batch});
  if (!batched) {
    out = squeeze(out, 1);
    for (Tensor* state : {&last.h, &last.c})
      if (state->defined()) *state = squeeze(*state, 1);
  } else if (shape.batch_first) {
    out = transpose(out, 0, 1);
  }
  return {out, last};
}

template <class Derived>
std::tuple<utils::rnn::PackedSequence, RNNStates> RNNImplBase<Derived>::run(
    const utils::rnn::PackedSequence& input, RNNStates states) {
  const RNNShape shape = static_cast<const Derived&>(*this).shape();
  const Tensor& batch_sizes = input.batch_sizes();
  if (!input.data().defined() || batch_sizes.numel() == 0) fail(shape.name, "the packed sequence is empty");
  Sequence sequence{input.data(), batch_sizes.contiguous()};
  const auto reorder = [](Tensor& state, const Tensor& order) {
    if (state.defined() && order.defined()) state = index_select(state, 1, order);
  };
  reorder(states.h, input.sorted_indices());
  reorder(states.c, input.sorted_indices());
  auto [rows, last] =
      run_layers(shape, nonlinearity_of(static_cast<const Derived&>(*this)), std::move(sequence),
                 this->parameters(false), std::move(states), this->is_training());
  reorder(last.h, input.unsorted_indices());
  reorder(last.c, input.unsorted_indices());
  return {utils::rnn::PackedSequence(rows, batch_sizes, input.sorted_indices(), input.unsorted_indices()),
          last};
}

template class RNNImplBase<RNNImpl>;
template class RNNImplBase<LSTMImpl>;
template class RNNImplBase<GRUImpl>;

}  // namespace detail

RNNImpl::RNNImpl(const RNNOptions& options) : options(options) { reset(); }
detail::RNNShape RNNImpl::shape() const { return detail::shape_of("RNN", 1, options); }

std::tuple<Tensor, Tensor> RNNImpl::forward(const Tensor& input, Tensor hx) {
  auto [out, last] = run(input, {std::move(hx), {}});
  return {out, last.h};
}

std::tuple<utils::rnn::PackedSequence, Tensor> RNNImpl::forward_with_packed_input(
    const utils::rnn::PackedSequence& packed_input, Tensor hx) {
  auto [out, last] = run(packed_input, {std::move(hx), {}});
  return {out, last.h};
}

namespace {

detail::RNNStates states_of(optional<std::tuple<Tensor, Tensor>> hx) {
  if (!hx) return {};
  return {std::get<0>(*hx), std::get<1>(*hx)};
}

}  // namespace

LSTMImpl::LSTMImpl(const LSTMOptions& options) : options(options) {
  if (options.proj_size() != 0) {
    fail("LSTM", "proj_size ", options.proj_size(), " is not supported; put a Linear after the LSTM");
  }
  reset();
}
detail::RNNShape LSTMImpl::shape() const { return detail::shape_of("LSTM", 4, options); }

std::tuple<Tensor, std::tuple<Tensor, Tensor>> LSTMImpl::forward(
    const Tensor& input, optional<std::tuple<Tensor, Tensor>> hx_opt) {
  auto [out, last] = run(input, states_of(std::move(hx_opt)));
  return {out, {last.h, last.c}};
}

std::tuple<utils::rnn::PackedSequence, std::tuple<Tensor, Tensor>> LSTMImpl::forward_with_packed_input(
    const utils::rnn::PackedSequence& packed_input, optional<std::tuple<Tensor, Tensor>> hx_opt) {
  auto [out, last] = run(packed_input, states_of(std::move(hx_opt)));
  return {out, {last.h, last.c}};
}

GRUImpl::GRUImpl(const GRUOptions& options) : options(options) { reset(); }
detail::RNNShape GRUImpl::shape() const { return detail::shape_of("GRU", 3, options); }

std::tuple<Tensor, Tensor> GRUImpl::forward(const Tensor& input, Tensor hx) {
  auto [out, last] = run(input, {std::move(hx), {}});
  return {out, last.h};
}

std::tuple<utils::rnn::PackedSequence, Tensor> GRUImpl::forward_with_packed_input(
    const utils::rnn::PackedSequence& packed_input, Tensor hx) {
  auto [out, last] = run(packed_input, {std::move(hx), {}});
  return {out, last.h};
}

namespace detail {
namespace {

struct CellKind {
  const char* name;
  std::int64_t gates;
};
CellKind kind_of(const RNNCellImpl&) { return {"RNNCell", 1}; }
CellKind kind_of(const LSTMCellImpl&) { return {"LSTMCell", 4}; }
CellKind kind_of(const GRUCellImpl&) { return {"GRUCell", 3}; }

void print_rest(std::ostream& stream, const RNNCellImpl& m) {
  if (m.options.nonlinearity().is_relu()) stream << ", nonlinearity=kReLU";
}
void print_rest(std::ostream&, const Module&) {}

}  // namespace

template <class Derived>
void RNNCellImplBase<Derived>::reset() {
  const auto& self = static_cast<const Derived&>(*this);
  const std::int64_t in = self.options.input_size(), h = self.options.hidden_size();
  const CellKind kind = kind_of(self);
  if (in < 1 || h < 1) fail(kind.name, "expected positive sizes, got input_size ", in, ", hidden_size ", h);
  const bool bias = self.options.bias();
  weight_ih = this->register_parameter("weight_ih", empty({kind.gates * h, in}));
  weight_hh = this->register_parameter("weight_hh", empty({kind.gates * h, h}));
  bias_ih = this->register_parameter("bias_ih", bias ? empty({kind.gates * h}) : Tensor());
  bias_hh = this->register_parameter("bias_hh", bias ? empty({kind.gates * h}) : Tensor());
  reset_parameters();
}

template <class Derived>
void RNNCellImplBase<Derived>::reset_parameters() {
  fill_uniform(this->parameters(false), static_cast<const Derived&>(*this).options.hidden_size());
}

template <class Derived>
void RNNCellImplBase<Derived>::pretty_print(std::ostream& stream) const {
  const auto& self = static_cast<const Derived&>(*this);
  stream << kLayerPrefix << kind_of(self).name << "(" << self.options.input_size() << ", "
         << self.options.hidden_size();
  if (!self.options.bias()) stream << ", bias=false";
  print_rest(stream, self);
  stream << ")";
}

template <class Derived>
Tensor RNNCellImplBase<Derived>::state_or_zeros(const Tensor& input, const Tensor& state) const {
  const auto& self = static_cast<const Derived&>(*this);
  if (!input.defined() || input.dim() != 2 || input.size(1) != self.options.input_size()) {
    fail(kind_of(self).name, "expected an input (N, ", self.options.input_size(), "), got ", input);
  }
  return state.defined() ? state : zeros({input.size(0), self.options.hidden_size()}, input.options());
}

template class RNNCellImplBase<RNNCellImpl>;
template class RNNCellImplBase<LSTMCellImpl>;
template class RNNCellImplBase<GRUCellImpl>;

}  // namespace detail

RNNCellImpl::RNNCellImpl(const RNNCellOptions& options) : options(options) { reset(); }

Tensor RNNCellImpl::forward(const Tensor& input, Tensor hx) {
  hx = state_or_zeros(input, hx);
  return options.nonlinearity().is_relu()
             ? halftone::rnn_relu_cell(input, hx, weight_ih, weight_hh, bias_ih, bias_hh)
             : halftone::rnn_tanh_cell(input, hx, weight_ih, weight_hh, bias_ih, bias_hh);
}

LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& options) : options(options) { reset(); }

std::tuple<Tensor, Tensor> LSTMCellImpl::forward(const Tensor& input,
                                                 optional<std::tuple<Tensor, Tensor>> hx_opt) {
  const detail::RNNStates states = states_of(std::move(hx_opt));
  return halftone::lstm_cell(input, {state_or_zeros(input, states.h), state_or_zeros(input, states.c)},
                             weight_ih, weight_hh, bias_ih, bias_hh);
}

GRUCellImpl::GRUCellImpl(const GRUCellOptions& options) : options(options) { reset(); }

Tensor GRUCellImpl::forward(const Tensor& input, Tensor hx) {
  return halftone::gru_cell(input, state_or_zeros(input, hx), weight_ih, weight_hh, bias_ih, bias_hh);
}

}  // namespace halftone::nn
