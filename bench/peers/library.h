#pragma once

// The two libraries under one set of names: what models and steps need that is not spelt alike in both.
// Everything else is libtorch's own spelling, which halftone shares.

#ifdef HALFTONE_PEER_LIBTORCH
#include <ATen/autocast_mode.h>
#include <torch/torch.h>
#include <cmath>
#else
#include "halftone/compat/torch.h"
#endif

namespace peers {

#ifdef HALFTONE_PEER_LIBTORCH

/// What torch.autocast("cpu", torch.bfloat16) does in Python.
class Autocast {
 public:
  explicit Autocast(bool enabled) : enabled_(enabled) {
    if (!enabled_) return;
    at::autocast::set_cpu_enabled(true);
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_autocast_cache_enabled(true);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!enabled_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_cpu_enabled(false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool enabled_;
};

inline void set_threads(int count) { at::set_num_threads(count); }

/// q, k, v (batch, heads, length, features). libtorch 1.13 has no fused attention in its public interface.
inline torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k,
                                      const torch::Tensor& v) {
  static const torch::Tensor mask = torch::ones({q.size(-2), q.size(-2)}, torch::kBool).triu(1);
  const torch::Tensor scores =
      torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
  return torch::matmul(torch::softmax(scores.masked_fill(mask, -1e9), -1), v);
}

inline void keep_half_weights(torch::optim::Optimizer&) {}

#else

class Autocast {
 public:
  explicit Autocast(bool enabled) : region_(halftone::kCPU, halftone::kBFloat16, enabled) {}

 private:
  halftone::amp::Autocast region_;
};

inline void set_threads(int count) { halftone::set_num_threads(count); }

inline torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k,
                                      const torch::Tensor& v) {
  return torch::scaled_dot_product_attention(q, k, v, {}, 0.0, /*is_causal=*/true);
}

/// The optimizer writes the bf16 copies that the next forward reads.
inline void keep_half_weights(torch::optim::Optimizer& optimizer) {
  optimizer.use_half_shadow(halftone::kBFloat16);
}

#endif

}  // namespace peers
