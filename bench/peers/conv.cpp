// The convolutions of the CNN at the kernels' own entries: forward with bias, and both gradients.

#include "halftone/kernels/conv.h"
#include "halftone/bench/peers/dnnl.h"
#include "halftone/bench/support/work.h"
#include "halftone/halftone.h"
#include "halftone/kernels/kernels.h"

namespace peers {
namespace {

using halftone::Dtype;
using halftone::Tensor;
using i64 = std::int64_t;

using Layer = bench::ConvLayer;

std::string name_of(const Layer& l) {
  return halftone::concat(l.from, " to ", l.to, " channels, ", l.size, "x", l.size);
}

enum class Pass { kForward, kGradInput, kGradWeight };
constexpr std::pair<Pass, const char*> kPasses[] = {{Pass::kForward, "forward"},
                                                    {Pass::kGradInput, "input gradient"},
                                                    {Pass::kGradWeight, "weight gradient"}};

std::function<void()> halftone_pass(const Layer& l, Pass pass, Dtype dtype) {
  using namespace halftone;
  const auto random = [&](std::vector<i64> sizes) { return (rand(sizes) - 0.5).to(dtype); };
  const Tensor x = random({l.images, l.from, l.size, l.size}), w = random({l.to, l.from, 3, 3}),
               bias = random({l.to}), y = random({l.images, l.to, l.out(), l.out()});
  ConvShape shape{};
  shape.n = l.images, shape.c = l.from, shape.h = shape.w = l.size, shape.oc = l.to;
  shape.kh = shape.kw = 3, shape.groups = 1;
  shape.stride_h = shape.stride_w = shape.dil_h = shape.dil_w = 1;
  const ConvKernels& kernels = cpu_kernels<ConvKernels>();
  if (pass == Pass::kForward) return [=, &kernels] { kernels.forward(y, x, w, bias, shape); };
  if (pass == Pass::kGradInput) return [=, &kernels] { kernels.grad_input(x, y, w, shape); };
  return [=, &kernels] { kernels.grad_weight(w, y, x, shape); };
}

#ifdef HALFTONE_PEER_DNNL
/// With `own`, every tensor in the layout oneDNN likes best; else images and weights as halftone has them.
DnnlCall dnnl_pass(const Layer& l, Pass pass, bool bf16, bool own, int threads) {
  using namespace dnnl;
  omp_set_num_threads(threads);
  const auto type = bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const auto tag = own ? memory::format_tag::any : memory::format_tag::abcd;
  const memory::desc x({l.images, l.from, l.size, l.size}, type, tag), w({l.to, l.from, 3, 3}, type, tag),
      y({l.images, l.to, l.out(), l.out()}, type, tag),
      bias({l.to}, memory::data_type::f32, memory::format_tag::a);
  const memory::dims stride{1, 1}, padding{0, 0};
  const auto direct = algorithm::convolution_direct;
  const convolution_forward::primitive_desc forward(
      convolution_forward::desc(prop_kind::forward_training, direct, x, w, bias, y, stride, padding, padding),
      dnnl_engine());
  if (pass == Pass::kForward) {
    return {convolution_forward(forward),
            {{DNNL_ARG_SRC, dnnl_filled(forward.src_desc())},
             {DNNL_ARG_WEIGHTS, dnnl_filled(forward.weights_desc())},
             {DNNL_ARG_BIAS, dnnl_filled(forward.bias_desc())},
             {DNNL_ARG_DST, memory(forward.dst_desc(), dnnl_engine())}},
            threads};
  }
  if (pass == Pass::kGradInput) {
    const convolution_backward_data::primitive_desc plan(
        convolution_backward_data::desc(direct, x, w, y, stride, padding, padding), dnnl_engine(), forward);
    return {convolution_backward_data(plan),
            {{DNNL_ARG_DIFF_SRC, memory(plan.diff_src_desc(), dnnl_engine())},
             {DNNL_ARG_WEIGHTS, dnnl_filled(plan.weights_desc())},
             {DNNL_ARG_DIFF_DST, dnnl_filled(plan.diff_dst_desc())}},
            threads};
  }
  const convolution_backward_weights::primitive_desc plan(
      convolution_backward_weights::desc(direct, x, w, y, stride, padding, padding), dnnl_engine(), forward);
  return {convolution_backward_weights(plan),
          {{DNNL_ARG_SRC, dnnl_filled(plan.src_desc())},
           {DNNL_ARG_DIFF_WEIGHTS, memory(plan.diff_weights_desc(), dnnl_engine())},
           {DNNL_ARG_DIFF_DST, dnnl_filled(plan.diff_dst_desc())}},
          threads};
}
#endif

}  // namespace

std::vector<Table> conv_tables(const Request& request) {
  std::vector<Table> tables;
  halftone::manual_seed(1);
  for (const int threads : request.threads) {
    halftone::set_num_threads(threads);
    Table table{
        halftone::concat("Convolutions of the CNN, batch 64, ", threads, " thread", threads > 1 ? "s" : ""),
        "Percent of the multiply-add ceiling of the same run. Target: 1.0 of oneDNN on the same layout.",
        {}};
    for (const Dtype dtype : {halftone::kFloat, halftone::kBFloat16}) {
      const bool bf16 = dtype == halftone::kBFloat16;
      for (const Layer& layer : bench::kConvLayers) {
        for (const auto& [pass, name] : kPasses) {
          if (pass == Pass::kGradInput && layer.from == 1) continue;  // images want no gradient
          std::vector<Contender> all{ceiling(bf16 ? bench::bf16_unit() : bench::fp32_unit(), layer.flops()),
                                     contender("halftone", halftone_pass(layer, pass, dtype))};
#ifdef HALFTONE_PEER_DNNL
          all.push_back(contender("oneDNN", dnnl_pass(layer, pass, bf16, false, threads)));
          all.push_back(contender("oneDNN, own layouts", dnnl_pass(layer, pass, bf16, true, threads)));
#endif
          const std::vector<double> seconds = median_times(all, threads);
          Table::Row row{{"layer", name_of(layer)},
                         {"pass", name},
                         {"dtype", halftone::dtype_name(dtype)},
                         {"ms", 1e3 * seconds[1]}};
          for (std::size_t i = 1; i < all.size(); ++i)
            row[all[i].name + " %"] = 100 * seconds[0] / seconds[i];
          if (all.size() > 2) {
            row["against oneDNN"] = seconds[2] / seconds[1];
            row["met"] = seconds[2] >= seconds[1] ? "yes" : "no";
          }
          table.add(std::move(row));
        }
      }
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace peers
