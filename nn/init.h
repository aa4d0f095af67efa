#pragma once

#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"

/// Initialisers (torch::nn::init): each fills its tensor in place, outside the graph, and gives it back.
/// Random ones draw from the default generator.
namespace halftone::nn::init {

/// What follows the layer; it decides the gain.
class Nonlinearity {
 public:
  enum class Kind : std::uint8_t { kLinear, kTanh, kReLU, kLeakyReLU };
  Nonlinearity(enumtype::kLinear) : kind_(Kind::kLinear) {}
  Nonlinearity(enumtype::kConv1D) : kind_(Kind::kLinear) {}
  Nonlinearity(enumtype::kConv2D) : kind_(Kind::kLinear) {}
  Nonlinearity(enumtype::kConv3D) : kind_(Kind::kLinear) {}
  Nonlinearity(enumtype::kSigmoid) : kind_(Kind::kLinear) {}
  Nonlinearity(enumtype::kTanh) : kind_(Kind::kTanh) {}
  Nonlinearity(enumtype::kReLU) : kind_(Kind::kReLU) {}
  Nonlinearity(enumtype::kLeakyReLU) : kind_(Kind::kLeakyReLU) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// Whether kaiming_ keeps the variance of activations (fan in) or of gradients (fan out).
class FanMode {
 public:
  FanMode(enumtype::kFanIn) : out_(false) {}
  FanMode(enumtype::kFanOut) : out_(true) {}
  /// Whether it is kFanOut.
  bool is_fan_out() const { return out_; }

 private:
  bool out_;
};

/// Inputs and outputs of a unit.
struct Fan {
  std::int64_t in;   ///< for a weight (out, in, kernel...): in times the kernel's elements
  std::int64_t out;  ///< out times the kernel's elements
};
/// Inputs and outputs of one unit of a weight (out, in, kernel...). Throws Error below two dimensions.
Fan fan_in_and_out(const Tensor& tensor);

/// The factor by which a nonlinearity wants the standard deviation raised: 1, 5/3 for tanh, sqrt(2) for ReLU,
/// sqrt(2 / (1 + param^2)) for leaky ReLU of slope `param`.
double calculate_gain(Nonlinearity nonlinearity, double param = 0.01);

/// Uniform on [low, high).
Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
/// Normal numbers.
Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
/// Normal numbers conditioned on lying in [a, b]. Throws Error unless a < b and std > 0.
Tensor trunc_normal_(Tensor tensor, double mean = 0, double std = 1, double a = -2, double b = 2);
/// One value everywhere.
Tensor constant_(Tensor tensor, const Scalar& value);
/// 0 everywhere.
Tensor zeros_(Tensor tensor);
/// 1 everywhere.
Tensor ones_(Tensor tensor);
/// The identity matrix; a 2-d tensor.
Tensor eye_(Tensor matrix);
/// Glorot and Bengio, AISTATS 2010.
Tensor xavier_uniform_(Tensor tensor, double gain = 1);
/// The same with normal numbers.
Tensor xavier_normal_(Tensor tensor, double gain = 1);
/// He et al., arXiv:1502.01852; `a` is the slope of a leaky ReLU.
Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanMode mode = kFanIn,
                        Nonlinearity nonlinearity = kLeakyReLU);
/// The same with normal numbers.
Tensor kaiming_normal_(Tensor tensor, double a = 0, FanMode mode = kFanIn,
                       Nonlinearity nonlinearity = kLeakyReLU);
/// A convolution's weight (3 to 5 dimensions) that passes its input through, as far as there are channels.
Tensor dirac_(Tensor tensor);
/// A matrix of normal numbers of which each column has the fraction `sparsity` of its elements set to 0, at
/// random (Martens, ICML 2010).
Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01);
/// A matrix (trailing dimensions flattened) with orthonormal rows or columns, times gain (Saxe et al.,
/// arXiv:1312.6120).
Tensor orthogonal_(Tensor tensor, double gain = 1);

}  // namespace halftone::nn::init
