#include "halftone/kernels/cuda/families.h"

#include "halftone/kernels/attention.h"
#include "halftone/kernels/check.h"
#include "halftone/kernels/conv.h"
#include "halftone/kernels/copy.h"
#include "halftone/kernels/dropout.h"
#include "halftone/kernels/embedding.h"
#include "halftone/kernels/gemm.h"
#include "halftone/kernels/index.h"
#include "halftone/kernels/loss.h"
#include "halftone/kernels/norm.h"
#include "halftone/kernels/optimizer.h"
#include "halftone/kernels/pointwise.h"
#include "halftone/kernels/pool.h"
#include "halftone/kernels/random.h"
#include "halftone/kernels/reduce.h"
#include "halftone/kernels/resample.h"
#include "halftone/kernels/sequence.h"
#include "halftone/kernels/softmax.h"

namespace halftone {

template <>
const PointwiseKernels& cuda_kernels<PointwiseKernels>();
template <>
const CopyKernels& cuda_kernels<CopyKernels>();
template <>
const ReduceKernels& cuda_kernels<ReduceKernels>();
template <>
const SoftmaxKernels& cuda_kernels<SoftmaxKernels>();
template <>
const ClassLossKernels& cuda_kernels<ClassLossKernels>();
template <>
const NormKernels& cuda_kernels<NormKernels>();
template <>
const IndexKernels& cuda_kernels<IndexKernels>();
template <>
const ArrangeKernels& cuda_kernels<ArrangeKernels>();
template <>
const RandomKernels& cuda_kernels<RandomKernels>();
template <>
const DropoutKernels& cuda_kernels<DropoutKernels>();
template <>
const SequenceKernels& cuda_kernels<SequenceKernels>();
template <>
const EmbeddingKernels& cuda_kernels<EmbeddingKernels>();
template <>
const PoolKernels& cuda_kernels<PoolKernels>();
template <>
const ResampleKernels& cuda_kernels<ResampleKernels>();
template <>
const GemmKernels& cuda_kernels<GemmKernels>();
template <>
const ConvKernels& cuda_kernels<ConvKernels>();
template <>
const AttentionKernels& cuda_kernels<AttentionKernels>();
template <>
const OptimizerKernels& cuda_kernels<OptimizerKernels>();
template <>
const CheckKernels& cuda_kernels<CheckKernels>();

namespace cuda {
namespace {

template <class... Family>
void link() {
  ((halftone::detail::cuda_family<Family> = &cuda_kernels<Family>()), ...);
}

}  // namespace

void link_families() {
  link<PointwiseKernels, CopyKernels, ReduceKernels, SoftmaxKernels, ClassLossKernels, NormKernels,
       IndexKernels, ArrangeKernels, RandomKernels, DropoutKernels, SequenceKernels, EmbeddingKernels,
       PoolKernels, ResampleKernels, GemmKernels, ConvKernels, AttentionKernels, OptimizerKernels,
       CheckKernels>();
}

}  // namespace cuda
}  // namespace halftone
