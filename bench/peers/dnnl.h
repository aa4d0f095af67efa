#pragma once

// oneDNN's products and convolutions as functions to be timed: primitives, memories and layout changes are
// made beforehand.

#include "halftone/bench/peers/report.h"

#ifdef HALFTONE_PEER_DNNL

#include <omp.h>

#include <cstdint>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace peers {

inline dnnl::engine& dnnl_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// Memory of a layout, filled with small numbers (what they are does not change the time).
inline dnnl::memory dnnl_filled(const dnnl::memory::desc& layout) {
  using namespace dnnl;
  memory target(layout, dnnl_engine());
  const memory::desc plain(layout.dims(), memory::data_type::f32,
                           layout.dims().size() == 2   ? memory::format_tag::ab
                           : layout.dims().size() == 1 ? memory::format_tag::a
                                                       : memory::format_tag::abcd);
  memory source(plain, dnnl_engine());
  auto* values = static_cast<float*>(source.get_data_handle());
  for (std::size_t i = 0; i < plain.get_size() / sizeof(float); ++i)
    values[i] = static_cast<float>(static_cast<int>(i * 7 % 31) - 15) / 16;
  stream order(dnnl_engine());
  reorder(source, target).execute(order, source, target);
  order.wait();
  return target;
}

/// A primitive with its arguments, ready to run on `threads` threads.
class DnnlCall {
 public:
  template <class Primitive>
  DnnlCall(const Primitive& primitive, std::unordered_map<int, dnnl::memory> arguments, int threads)
      : primitive_(primitive), arguments_(std::move(arguments)), threads_(threads) {}
  void operator()() const {
    omp_set_num_threads(threads_);
    static dnnl::stream order(dnnl_engine());
    primitive_.execute(order, arguments_);
  }

 private:
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
  int threads_;
};

/// C = A B of float32, or of bfloat16 into float32; with `packed`, B in the layout oneDNN likes best.
inline DnnlCall dnnl_product(std::int64_t m, std::int64_t k, std::int64_t n, bool bf16, bool packed,
                             int threads) {
  using namespace dnnl;
  omp_set_num_threads(threads);
  const auto type = bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const memory::desc a({m, k}, type, memory::format_tag::ab),
      b({k, n}, type, packed ? memory::format_tag::any : memory::format_tag::ab),
      c({m, n}, memory::data_type::f32, memory::format_tag::ab);
  const matmul::primitive_desc plan(matmul::desc(a, b, c), dnnl_engine());
  return {matmul(plan),
          {{DNNL_ARG_SRC, dnnl_filled(plan.src_desc())},
           {DNNL_ARG_WEIGHTS, dnnl_filled(plan.weights_desc())},
           {DNNL_ARG_DST, memory(plan.dst_desc(), dnnl_engine())}},
          threads};
}

}  // namespace peers

#endif
