#pragma once

// The list of built-in operators. An operator not named here does not compile; one named here but not
// registered does not link. Nothing else lists operators: tests, docs, the policy table and benchmarks read
// the registry.

// clang-format off
#define HALFTONE_OPERATORS(X) \
  X(ToDtype) X(Clone) X(Copy) X(Fill) \
  X(View) X(AsStridedBackward) X(AsStridedScatter) X(AsStrided) X(Transpose) X(Permute) X(Expand) X(Squeeze) X(Unsqueeze) \
  X(SelectBackward) X(Select) X(SliceBackward) X(Slice) X(DiagonalBackward) X(Diagonal) \
  X(ConstantPadNd) X(Resample) X(Cat) X(Stack) X(Flip) X(Roll) X(Tril) X(Triu) X(IndexSelect) X(IndexAdd) X(Gather) X(Scatter) X(ScatterAdd) \
  X(Index) X(IndexPut) X(Nonzero) X(MaskedFill) X(Where) X(Sort) X(Topk) X(Searchsorted) \
  X(Add) X(Sub) X(Mul) X(DivBackwardOther) X(Div) X(FloorDivide) X(Remainder) X(Fmod) X(PowBackward) \
  X(PowBackwardExponent) X(Pow) X(MaximumBackward) X(Maximum) X(MinimumBackward) X(Minimum) X(Atan2BackwardSelf) \
  X(Atan2BackwardOther) X(Atan2) X(LerpBackwardWeight) X(Lerp) X(Addcmul) X(AddcdivBackwardOther) X(Addcdiv) \
  X(Neg) X(AbsBackward) X(Abs) X(ReciprocalBackward) X(Reciprocal) X(SquareBackward) X(Square) X(SqrtBackward) X(Sqrt) \
  X(RsqrtBackward) X(Rsqrt) X(Exp) X(Exp2Backward) X(Exp2) X(Expm1Backward) X(Expm1) X(LogBackward) X(Log) \
  X(Log2Backward) X(Log2) X(Log10Backward) X(Log10) X(Log1pBackward) X(Log1p) \
  X(SinBackward) X(Sin) X(CosBackward) X(Cos) X(TanBackward) X(Tan) X(AsinBackward) X(Asin) X(AcosBackward) X(Acos) \
  X(AtanBackward) X(Atan) X(SinhBackward) X(Sinh) X(CoshBackward) X(Cosh) X(ErfBackward) X(Erf) X(ErfcBackward) X(Erfc) \
  X(AcoshBackward) X(Acosh) X(AsinhBackward) X(Asinh) X(AtanhBackward) X(Atanh) X(SincBackward) X(Sinc) X(ErfInvBackward) \
  X(ErfInv) X(LogitBackward) X(Logit) X(PolygammaBackward) X(Lgamma) X(Digamma) X(Polygamma) X(HypotBackward) X(Hypot) X(CopysignBackward) X(Copysign) \
  X(LogAddExpBackward) X(LogAddExp) X(LogAddExp2Backward) X(LogAddExp2) X(XlogyBackwardSelf) X(XlogyBackwardOther) X(Xlogy) \
  X(Fmax) X(Fmin) \
  X(Sign) X(Floor) X(Ceil) X(Round) X(Trunc) X(Frac) X(ClampBackward) X(Clamp) X(NanToNumBackward) X(NanToNum) \
  X(ReluBackward) X(Relu) X(LeakyReluBackward) X(LeakyRelu) X(HardtanhBackward) X(Hardtanh) X(Relu6Backward) X(Relu6) \
  X(SigmoidBackward) X(Sigmoid) X(TanhBackward) X(Tanh) X(SiluBackward) X(Silu) X(LogSigmoidBackward) X(LogSigmoid) \
  X(HardsigmoidBackward) X(Hardsigmoid) X(HardswishBackward) X(Hardswish) X(ShrinkBackward) X(Hardshrink) \
  X(Softshrink) X(ThresholdBackward) X(Threshold) X(SoftsignBackward) X(Softsign) X(SeluBackward) X(Selu) \
  X(CeluBackward) X(Celu) X(PreluBackward) X(Prelu) X(Glu) \
  X(SoftplusBackward) X(Softplus) X(EluBackward) X(Elu) X(MishBackward) X(Mish) X(GeluBackward) X(Gelu) \
  X(Eq) X(Ne) X(Lt) X(Le) X(Gt) X(Ge) X(LogicalAnd) X(LogicalOr) X(LogicalXor) X(LogicalNot) X(Signbit) X(IsNan) X(IsInf) \
  X(IsFinite) X(BitwiseAnd) X(BitwiseOr) X(BitwiseXor) X(BitwiseNot) X(BitwiseLeftShift) X(BitwiseRightShift) \
  X(Sum) X(Mean) X(Prod) X(SumToSize) X(CumsumBackward) X(Cumsum) X(LinearRecurrence) X(Cumprod) X(Logcumsumexp) X(Cummax) X(Cummin) X(All) X(Any) X(CountNonzero) \
  X(Amax) X(Amin) X(Max) X(Min) X(Argmax) X(Argmin) X(Var) X(Std) X(Norm) X(Logsumexp) \
  X(MatmulToSize) X(Mm) X(Bmm) X(Mv) X(Dot) X(Outer) X(Matmul) X(Addmm) X(Baddbmm) X(LinearWeightBackward) X(Linear) \
  X(LinearRelu) X(LinearGelu) \
  X(Conv2dBackwardInput) X(Conv2dBackwardWeight) X(Conv1d) X(Conv2d) X(ConvTranspose1d) X(ConvTranspose2d) X(MaxPool2dBackward) X(MaxPool1d) \
  X(MaxPool1dWithIndices) X(MaxPool2d) X(MaxPool2dWithIndices) \
  X(AvgPool2dBackward) X(AvgPool1d) X(AvgPool2d) X(AdaptiveAvgPool2dBackward) X(AdaptiveAvgPool1d) \
  X(AdaptiveAvgPool2d) \
  X(LayerNormBackward) X(LayerNorm) X(RmsNormBackward) X(RmsNorm) X(GroupNormBackward) X(GroupNorm) \
  X(BatchNormBackward) X(BatchNorm) \
  X(AttentionBackward) X(Attention) \
  X(LstmGatesBackward) X(LstmGates) X(GruGatesBackward) X(GruGates) X(LstmLayer) X(GruLayer) X(RnnLayer) X(CtcLoss) \
  X(SoftmaxBackward) X(Softmax) X(LogSoftmaxBackward) X(LogSoftmax) X(CrossEntropyBackward) X(CrossEntropyLoss) \
  X(NllLossBackward) X(NllLoss) X(ElementLossBackward) X(MseLoss) X(L1Loss) X(SmoothL1Loss) X(HuberLoss) X(KlDiv) X(SoftMarginLoss) X(PoissonNllLoss) X(CosineSimilarity) \
  X(BinaryCrossEntropy) X(BinaryCrossEntropyWithLogits) X(PhiloxDropout) X(Dropout) X(EmbeddingBackward) X(Embedding)
// clang-format on

namespace halftone::ops {

#define HALFTONE_FORWARD_DECLARE(Op) struct Op;
HALFTONE_OPERATORS(HALFTONE_FORWARD_DECLARE)
#undef HALFTONE_FORWARD_DECLARE

}  // namespace halftone::ops
