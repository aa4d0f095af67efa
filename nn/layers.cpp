#include "halftone/nn/layers.h"

#include <cmath>
#include <ostream>

#include "halftone/autograd/grad_mode.h"
#include "halftone/nn/init.h"
#include "halftone/nn/layer_text.h"
#include "halftone/nn/padding_row.h"

namespace halftone::nn {

namespace {

const char* text(bool value) { return value ? "true" : "false"; }

template <std::size_t D>
std::string describe(const ReflectionPadOptions<D>& o) {
  return concat("ReflectionPad", D, "d(padding=", IntArrayRef(o.padding()), ")");
}
template <std::size_t D>
std::string describe(const ReplicationPadOptions<D>& o) {
  return concat("ReplicationPad", D, "d(padding=", IntArrayRef(o.padding()), ")");
}
std::string describe(const ZeroPad2dOptions& o) {
  return concat("ZeroPad2d(padding=", IntArrayRef(o.padding()), ")");
}
template <std::size_t D>
std::string describe(const ConstantPadOptions<D>& o) {
  return concat("ConstantPad", D, "d(padding=", IntArrayRef(o.padding()), ", value=", number_text(o.value()),
                ")");
}
std::string describe(const LocalResponseNormOptions& o) {
  return concat("LocalResponseNorm(", o.size(), ", alpha=", number_text(o.alpha()),
                ", beta=", number_text(o.beta()), ", k=", number_text(o.k()), ")");
}
std::string describe(const CrossMapLRN2dOptions& o) {
  return concat("CrossMapLRN2d(", o.size(), ", alpha=", number_text(o.alpha()),
                ", beta=", number_text(o.beta()), ", k=", number_text(o.k()), ")");
}
std::string describe(const PixelShuffleOptions& o) {
  return concat("PixelShuffle(upscale_factor=", o.upscale_factor(), ")");
}
std::string describe(const PixelUnshuffleOptions& o) {
  return concat("PixelUnshuffle(downscale_factor=", o.downscale_factor(), ")");
}
std::string describe(const CosineSimilarityOptions& o) {
  return concat("CosineSimilarity(dim=", o.dim(), ", eps=", number_text(o.eps()), ")");
}
std::string describe(const PairwiseDistanceOptions& o) {
  return concat("PairwiseDistance(p=", number_text(o.p()), ", eps=", number_text(o.eps()),
                ", keepdim=", text(o.keepdim()), ")");
}

}  // namespace

template <class Derived, class Options>
FunctionLayer<Derived, Options>::FunctionLayer(Options options) : options(std::move(options)) {}

template <class Derived, class Options>
void FunctionLayer<Derived, Options>::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << describe(options);
}

template class FunctionLayer<ReflectionPad1dImpl, ReflectionPad1dOptions>;
template class FunctionLayer<ReflectionPad2dImpl, ReflectionPad2dOptions>;
template class FunctionLayer<ReplicationPad1dImpl, ReplicationPad1dOptions>;
template class FunctionLayer<ReplicationPad2dImpl, ReplicationPad2dOptions>;
template class FunctionLayer<ZeroPad2dImpl, ZeroPad2dOptions>;
template class FunctionLayer<ConstantPad1dImpl, ConstantPad1dOptions>;
template class FunctionLayer<ConstantPad2dImpl, ConstantPad2dOptions>;
template class FunctionLayer<LocalResponseNormImpl, LocalResponseNormOptions>;
template class FunctionLayer<CrossMapLRN2dImpl, CrossMapLRN2dOptions>;
template class FunctionLayer<PixelShuffleImpl, PixelShuffleOptions>;
template class FunctionLayer<PixelUnshuffleImpl, PixelUnshuffleOptions>;
template class FunctionLayer<CosineSimilarityImpl, CosineSimilarityOptions>;
template class FunctionLayer<PairwiseDistanceImpl, PairwiseDistanceOptions>;

namespace {

/// Pads the `spatial` last dimensions of (N, C, ...) or (C, ...).
Tensor padded(const char* name, std::int64_t spatial, const Tensor& input, IntArrayRef pad,
              functional::PadMode mode, double value = 0) {
  if (!input.defined() || (input.dim() != spatial + 1 && input.dim() != spatial + 2)) {
    fail(name, "expected an input of ", spatial + 1, " or ", spatial + 2, " dimensions, got ", input);
  }
  return functional::pad(input, functional::PadFuncOptions(pad.vec()).mode(mode).value(value));
}

}  // namespace

Tensor ReflectionPad1dImpl::forward(const Tensor& input) {
  return padded("ReflectionPad1d", 1, input, options.padding(), kReflect);
}
Tensor ReflectionPad2dImpl::forward(const Tensor& input) {
  return padded("ReflectionPad2d", 2, input, options.padding(), kReflect);
}
Tensor ReplicationPad1dImpl::forward(const Tensor& input) {
  return padded("ReplicationPad1d", 1, input, options.padding(), kReplicate);
}
Tensor ReplicationPad2dImpl::forward(const Tensor& input) {
  return padded("ReplicationPad2d", 2, input, options.padding(), kReplicate);
}
Tensor ZeroPad2dImpl::forward(const Tensor& input) {
  return padded("ZeroPad2d", 2, input, options.padding(), kConstant);
}
Tensor ConstantPad1dImpl::forward(const Tensor& input) {
  return padded("ConstantPad1d", 1, input, options.padding(), kConstant, options.value());
}
Tensor ConstantPad2dImpl::forward(const Tensor& input) {
  return padded("ConstantPad2d", 2, input, options.padding(), kConstant, options.value());
}

namespace {

const char* name_of(const Dropout2dImpl&) { return "Dropout2d"; }
const char* name_of(const Dropout3dImpl&) { return "Dropout3d"; }
const char* name_of(const AlphaDropoutImpl&) { return "AlphaDropout"; }
const char* name_of(const FeatureAlphaDropoutImpl&) { return "FeatureAlphaDropout"; }

template <class FuncOptions>
FuncOptions dropout_options(const DropoutOptions& options, bool training) {
  return FuncOptions().p(options.p()).training(training).inplace(options.inplace());
}

}  // namespace

template <class Derived>
DropoutBase<Derived>::DropoutBase(const DropoutOptions& options) : options(options) {
  DropoutBase::reset();
}

template <class Derived>
void DropoutBase<Derived>::reset() {
  if (!(options.p() >= 0 && options.p() <= 1)) fail("Dropout", "p must be in [0, 1], got ", options.p());
}

template <class Derived>
void DropoutBase<Derived>::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << name_of(static_cast<const Derived&>(*this)) << "(p=" << options.p()
         << ", inplace=" << text(options.inplace()) << ")";
}

template class DropoutBase<Dropout2dImpl>;
template class DropoutBase<Dropout3dImpl>;
template class DropoutBase<AlphaDropoutImpl>;
template class DropoutBase<FeatureAlphaDropoutImpl>;

Tensor Dropout2dImpl::forward(Tensor input) {
  return functional::dropout2d(std::move(input),
                               dropout_options<functional::Dropout2dFuncOptions>(options, is_training()));
}
Tensor Dropout3dImpl::forward(Tensor input) {
  return functional::dropout3d(std::move(input),
                               dropout_options<functional::Dropout3dFuncOptions>(options, is_training()));
}
Tensor AlphaDropoutImpl::forward(Tensor input) {
  return functional::alpha_dropout(
      std::move(input), dropout_options<functional::AlphaDropoutFuncOptions>(options, is_training()));
}
Tensor FeatureAlphaDropoutImpl::forward(Tensor input) {
  return functional::feature_alpha_dropout(
      std::move(input), dropout_options<functional::FeatureAlphaDropoutFuncOptions>(options, is_training()));
}

BilinearImpl::BilinearImpl(const BilinearOptions& options) : options(options) { BilinearImpl::reset(); }

void BilinearImpl::reset() {
  const std::int64_t in1 = options.in1_features(), in2 = options.in2_features(), out = options.out_features();
  if (in1 < 1 || in2 < 0 || out < 0) {
    fail("Bilinear", "expected positive features, got ", in1, " and ", in2, " -> ", out);
  }
  weight = register_parameter("weight", empty({out, in1, in2}));
  bias = register_parameter("bias", options.bias() ? empty({out}) : Tensor());
  reset_parameters();
}

void BilinearImpl::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options.in1_features()));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

Tensor CrossMapLRN2dImpl::forward(const Tensor& input) {
  if (!input.defined() || input.dim() != 4) fail("CrossMapLRN2d", "expected (N, C, H, W), got ", input);
  if (options.size() < 1) fail("CrossMapLRN2d", "expected a positive size, got ", options.size());
  // local_response_norm divides by the window it sums over; here that is `size`, also where the window is odd
  // below it.
  const std::int64_t window = 2 * ((options.size() - 1) / 2) + 1;
  const double share = static_cast<double>(window) / static_cast<double>(options.size());
  return functional::local_response_norm(input, functional::LocalResponseNormFuncOptions(window)
                                                    .alpha(options.alpha() * share)
                                                    .beta(options.beta())
                                                    .k(static_cast<double>(options.k())));
}

void BilinearImpl::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << "Bilinear(in1_features=" << options.in1_features()
         << ", in2_features=" << options.in2_features() << ", out_features=" << options.out_features()
         << ", bias=" << text(options.bias()) << ")";
}

Tensor BilinearImpl::forward(const Tensor& input1, const Tensor& input2) {
  return functional::bilinear(input1, input2, effective(weight, "weight"), bias);
}

namespace {

struct Kind {
  const char* name;
  std::int64_t spatial;
};
Kind kind_of(const InstanceNorm1dImpl&) { return {"InstanceNorm1d", 1}; }
Kind kind_of(const InstanceNorm2dImpl&) { return {"InstanceNorm2d", 2}; }

}  // namespace

template <class Derived>
void InstanceNormImplBase<Derived>::pretty_print(std::ostream& stream) const {
  stream << kLayerPrefix << kind_of(static_cast<const Derived&>(*this)).name << "("
         << this->options.num_features() << ", eps=" << this->options.eps()
         << ", momentum=" << this->options.momentum() << ", affine=" << text(this->options.affine())
         << ", track_running_stats=" << text(this->options.track_running_stats()) << ")";
}

template <class Derived>
Tensor InstanceNormImplBase<Derived>::forward(const Tensor& input) {
  const Kind kind = kind_of(static_cast<const Derived&>(*this));
  if (!input.defined() || (input.dim() != kind.spatial + 1 && input.dim() != kind.spatial + 2)) {
    fail(kind.name, "expected an input of ", kind.spatial + 1, " or ", kind.spatial + 2, " dimensions, got ",
         input);
  }
  const bool batched = input.dim() == kind.spatial + 2;
  const Tensor images = batched ? input : unsqueeze(input, 0);
  if (images.size(1) != this->options.num_features()) {
    fail(kind.name, "expected ", this->options.num_features(), " channels, got ", input);
  }
  if (this->is_training() && this->options.track_running_stats()) {
    const NoGradGuard no_grad;
    this->num_batches_tracked.add_(1);
  }
  const Tensor result = functional::instance_norm(
      images, functional::InstanceNormFuncOptions()
                  .running_mean(this->running_mean)
                  .running_var(this->running_var)
                  .weight(this->weight)
                  .bias(this->bias)
                  .use_input_stats(this->is_training() || !this->options.track_running_stats())
                  .momentum(this->options.momentum())
                  .eps(this->options.eps()));
  return batched ? result : squeeze(result, 0);
}

template class InstanceNormImplBase<InstanceNorm1dImpl>;
template class InstanceNormImplBase<InstanceNorm2dImpl>;

EmbeddingBagImpl::EmbeddingBagImpl(EmbeddingBagOptions options) : options(std::move(options)) {
  EmbeddingBagImpl::reset();
}

void EmbeddingBagImpl::reset() {
  const std::int64_t rows = options.num_embeddings(), columns = options.embedding_dim();
  if (rows < 0 || columns < 0) fail("EmbeddingBag", "expected a table, got ", rows, " x ", columns);
  if (options.sparse()) fail("EmbeddingBag", "sparse gradients are not supported: pass sparse(false)");
  if (auto& padding = options.padding_idx()) padding = padding_row("EmbeddingBag", padding, rows);
  const Tensor given = options._weight();
  options._weight() = Tensor();  // a copy of this module gets values of its own
  if (given.defined() && !(given.sizes() == IntArrayRef({rows, columns}))) {
    fail("EmbeddingBag", "_weight is ", given, ", expected [", rows, ", ", columns, "]");
  }
  weight = register_parameter("weight", given.defined() ? given : empty({rows, columns}));
  if (!given.defined()) reset_parameters();
}

void EmbeddingBagImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx()) return;
  const NoGradGuard no_grad;
  weight[*options.padding_idx()].zero_();
}

void EmbeddingBagImpl::pretty_print(std::ostream& stream) const {
  constexpr const char* modes[] = {"kSum", "kMean", "kMax"};
  stream << kLayerPrefix << "EmbeddingBag(num_embeddings=" << options.num_embeddings()
         << ", embedding_dim=" << options.embedding_dim();
  if (options.max_norm()) stream << ", max_norm=" << *options.max_norm();
  if (options.norm_type() != 2) stream << ", norm_type=" << options.norm_type();
  if (options.scale_grad_by_freq()) stream << ", scale_grad_by_freq=true";
  if (const auto mode = options.mode().value(); mode != 1) stream << ", mode=" << modes[mode];
  if (options.include_last_offset()) stream << ", include_last_offset=true";
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  stream << ")";
}

Tensor EmbeddingBagImpl::forward(const Tensor& input, const Tensor& offsets,
                                 const Tensor& per_sample_weights) {
  return functional::embedding_bag(input, effective(weight, "weight"),
                                   functional::EmbeddingBagFuncOptions()
                                       .offsets(offsets)
                                       .max_norm(options.max_norm())
                                       .norm_type(options.norm_type())
                                       .scale_grad_by_freq(options.scale_grad_by_freq())
                                       .mode(options.mode())
                                       .per_sample_weights(per_sample_weights)
                                       .include_last_offset(options.include_last_offset())
                                       .padding_idx(options.padding_idx()));
}

EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings,
                                           const EmbeddingBagFromPretrainedOptions& options) {
  if (!embeddings.defined() || embeddings.dim() != 2) {
    fail("EmbeddingBag", "from_pretrained expects a table (rows, features), got ", embeddings);
  }
  EmbeddingBag bag(EmbeddingBagOptions(embeddings.size(0), embeddings.size(1))
                       ._weight(embeddings)
                       .max_norm(options.max_norm())
                       .norm_type(options.norm_type())
                       .scale_grad_by_freq(options.scale_grad_by_freq())
                       .mode(options.mode())
                       .sparse(options.sparse())
                       .include_last_offset(options.include_last_offset())
                       .padding_idx(options.padding_idx()));
  bag->weight.set_requires_grad(!options.freeze());
  return bag;
}

}  // namespace halftone::nn
