#pragma once

#include "halftone/engine/tensor.h"

namespace halftone::ops {

/// The arithmetic of lstm_gates and gru_gates (engine/nn_functions.h), written into memory that is there.
void run_lstm_gates(const Tensor& h_out, const Tensor& c_out, const Tensor& gates, const Tensor& cx);
void run_gru_gates(const Tensor& h_out, const Tensor& input_gates, const Tensor& hidden_gates,
                   const Tensor& hx);

}  // namespace halftone::ops
