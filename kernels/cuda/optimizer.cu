// An optimizer's step on the device: the decision, pass 2 over all parameters, and the loss scale. Pass 1 is
// in optimizer_scan.cu. The host learns nothing of all this unless it asks.

#include "halftone/kernels/cuda/device.h"

#include "halftone/engine/philox.h"
#include "halftone/kernels/cuda/block.h"
#include "halftone/kernels/cuda/functors.h"
#include "halftone/kernels/cuda/optimizer_scan.h"
#include "halftone/kernels/cuda/optimizer_table.h"
#include "halftone/kernels/math/random_rounding.h"
#include "halftone/kernels/optimizer.h"
#include "halftone/kernels/record.h"

namespace halftone::cuda {
namespace {

constexpr std::int64_t kUpdateChunk = 4 * kThreads * 8;

// --- The decision, and the loss scale: kernels of one thread
// -------------------------------------------------------------
__global__ void decide_kernel(StepControl* control, StepRecord* record, const ScanHeader* scan,
                              std::int64_t scanned, const ScanHeader* found, LossScaleState* scaling,
                              LossScaleRules rules, StepRequest request) {
  *record = StepRecord();
  decide_step(*control, *record, scan, scanned, found, scaling, rules, request);
}

__global__ void move_scale_kernel(LossScaleState* scaling, LossScaleRules rules, StepRecord* record) {
  halftone::move_scale(*scaling, rules);
  if (record != nullptr) record->scale_after = static_cast<double>(scaling->scale);
}

__global__ void copy_scale_kernel(const LossScaleState* scaling, float* scale) { *scale = scaling->scale; }

__global__ void __launch_bounds__(kThreads)
    note_loss_kernel(LossScaleState* scaling, const void* loss, ScalarType dtype, std::int64_t n) {
  for (std::int64_t i = global_id(); i < n; i += global_size()) {
    const double value = read<double>(loss, dtype, i);
    if (!(value - value == 0)) atomicOr(&scaling->loss_nonfinite, 1u);
  }
}

// --- Pass 2
// ----------------------------------------------------------------------------------------------------------------
struct CountItem {
  UpdateCounters* counters;
  std::int32_t group;
  std::int32_t has_moment;
};
using CountTable = Table<CountItem, 180>;
static_assert(sizeof(CountTable) + 64 <= 4096, "kernel parameters");

/// Counts the step of every parameter, and works out what it is made with.
__global__ void __launch_bounds__(kThreads) count_kernel(CountTable table, const UpdateSettings* settings,
                                                         const StepControl* control, UpdateNumbers* numbers) {
  const auto i = static_cast<int>(global_id());
  if (control->skip != 0 || i >= table.count) return;
  const CountItem& item = table.item[i];
  numbers[table.first_item + i] = next_numbers(settings[item.group], *item.counters, item.has_moment != 0);
}

struct UpdateItem {
  void* parameter;
  void* master;
  void* shadow;
  const void* gradient;
  void* moments[3];
  const float* divisor;
  double number;
  std::int64_t numel;
  std::uint64_t rounding_offset;
  ScalarType dtype, shadow_dtype, gradient_dtype;
  bool rounds_at_random, packed;
};
using UpdateTable = Table<UpdateItem, 38>;
static_assert(sizeof(UpdateTable) + 64 <= 4096, "kernel parameters");

/// Rounds `values` (fp32) into the low-precision parameter, at random where asked, and counts what rounding
/// to nearest loses.
template <class T>
__device__ inline void round_parameter(const UpdateItem& item, const StepControl& control, std::int64_t i,
                                       std::int64_t left, const Four<float>& values,
                                       const Four<float>& before, std::int64_t& changed, std::int64_t& lost) {
  HT_UNROLL
  for (int k = 0; k < 4; ++k) {
    if (k >= left) continue;
    const bool differs = values.value[k] != before.value[k];
    changed += differs;
    lost += differs && to_compute<float>(from_compute<T>(values.value[k])) == before.value[k];
  }
  T* parameter = static_cast<T*>(item.parameter);
  if (!item.rounds_at_random) return store_four_of(parameter, i, left, item.packed, values);
  const std::uint64_t offset =
      control.rounding_start + item.rounding_offset + static_cast<std::uint64_t>(i / 4);
  const philox::Block random = philox::block(control.rounding_seed, offset);
  HT_UNROLL
  for (int k = 0; k < 4; ++k) {
    if (k < left) parameter[i + k] = round_at_random<T>(values.value[k], philox::uniform(random.word[k]));
  }
}

/// One rule over parameters that compute in C (double for fp64 parameters). `numbers`: one per item of the
/// whole list.
template <class Rule, class C>
__global__ void __launch_bounds__(kThreads)
    update_kernel(UpdateTable table, const UpdateNumbers* numbers, StepControl* control) {
  if (control->skip != 0) return;
  const Share share = share_of(table, block_id());
  const UpdateItem& item = table.item[share.item];
  const Rule rule(numbers[table.first_item + share.item]);
  const C inverse_scale = static_cast<C>(factor_of(item.number, item.divisor));
  const C clip = static_cast<C>(control->clip_factor);
  const bool is_low = item.dtype == kHalf || item.dtype == kBFloat16;
  void* const weights = item.master != nullptr ? item.master : item.parameter;
  const ScalarType weight_dtype = item.master != nullptr ? kFloat : item.dtype;
  std::int64_t changed = 0, lost = 0;

  const std::int64_t begin = share.chunk * kUpdateChunk;
  const std::int64_t end = begin + kUpdateChunk < item.numel ? begin + kUpdateChunk : item.numel;
  for (std::int64_t i = begin + 4 * thread_id(); i < end; i += 4 * block_size()) {
    const std::int64_t left = end - i;
    Four<C> weight = load_four<C>(weights, weight_dtype, i, left, item.packed);
    const Four<C> gradient = load_four<C>(item.gradient, item.gradient_dtype, i, left, item.packed);
    Four<C> moments[3] = {};
    HT_UNROLL
    for (int m = 0; m < 3; ++m) {
      if (item.moments[m] != nullptr) {
        moments[m] = load_four_of<C>(static_cast<const C*>(item.moments[m]), i, left, item.packed);
      }
    }
    const Four<C> before = weight;
    HT_UNROLL
    for (int k = 0; k < 4; ++k) {
      rule(weight.value[k], gradient.value[k] * inverse_scale * clip, moments[0].value[k],
           moments[1].value[k], moments[2].value[k]);
    }
    HT_UNROLL
    for (int m = 0; m < 3; ++m) {
      if (item.moments[m] != nullptr) {
        store_four_of(static_cast<C*>(item.moments[m]), i, left, item.packed, moments[m]);
      }
    }
    if (item.master != nullptr) store_four_of(static_cast<float*>(item.master), i, left, item.packed, weight);
    if (item.shadow != nullptr) store_four(item.shadow, item.shadow_dtype, i, left, item.packed, weight);
    if constexpr (std::is_same_v<C, float>) {
      if (is_low && item.master == nullptr) {
        if (item.dtype == kHalf) {
          round_parameter<Half>(item, *control, i, left, weight, before, changed, lost);
        } else {
          round_parameter<BFloat16>(item, *control, i, left, weight, before, changed, lost);
        }
        continue;
      }
    }
    store_four(item.parameter, item.dtype, i, left, item.packed, weight);
  }
  if (!is_low || item.master != nullptr) return;  // the same for the whole block
  changed = block_sum(changed);
  lost = block_sum(lost);
  if (thread_id() == 0) {
    using Count = unsigned long long;
    atomicAdd(reinterpret_cast<Count*>(&control->changed), static_cast<Count>(changed));
    atomicAdd(reinterpret_cast<Count*>(&control->lost), static_cast<Count>(lost));
  }
}

// --- One tensor
// ------------------------------------------------------------------------------------------------------------
__global__ void __launch_bounds__(kThreads)
    refresh_master_kernel(float* master, const void* parameter, ScalarType dtype, std::int64_t n) {
  for (std::int64_t i = global_id(); i < n; i += global_size()) {
    const float now = read<float>(parameter, dtype, i), own = master[i];
    const float rounded = dtype == kHalf ? to_compute<float>(from_compute<Half>(own))
                                         : to_compute<float>(from_compute<BFloat16>(own));
    if (!(now == rounded)) master[i] = now;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    stochastic_round_kernel(T* dst, const float* src, const float* uniforms, std::int64_t n) {
  for (std::int64_t i = global_id(); i < n; i += global_size())
    dst[i] = round_at_random<T>(src[i], uniforms[i]);
}

// ---------------------------------------------------------------------------------------------------------------------
void decide(const DecideCall& call) {
  const DeviceScope scope(call.control.device());
  const auto scanned = call.scan.defined()
                           ? (call.scan.numel() - static_cast<std::int64_t>(sizeof(ScanHeader))) /
                                 static_cast<std::int64_t>(sizeof(ScanEntry))
                           : 0;
  launch<decide_kernel>(1, 1, 0, record_data<StepControl>(call.control), record_data<StepRecord>(call.record),
                        record_data<ScanHeader>(call.scan), scanned, record_data<ScanHeader>(call.found),
                        record_data<LossScaleState>(call.scaling), call.rules, call.request);
}

void move_scale(const Tensor& scaling, const LossScaleRules& rules, const Tensor& record) {
  const DeviceScope scope(scaling.device());
  launch<move_scale_kernel>(1, 1, 0, record_data<LossScaleState>(scaling), rules,
                            record_data<StepRecord>(record));
}

void copy_scale(const Tensor& scaling, const Tensor& scale) {
  const DeviceScope scope(scaling.device());
  launch<copy_scale_kernel>(1, 1, 0, record_data<LossScaleState>(scaling), record_data<float>(scale));
}

void note_loss(const Tensor& scaling, const Tensor& loss) {
  const DeviceScope scope(scaling.device());
  const std::int64_t n = loss.numel();
  launch<note_loss_kernel>(blocks_for(n), kThreads, 0, record_data<LossScaleState>(scaling), loss.data_ptr(),
                           loss.scalar_type(), n);
}

bool is_packed(const UpdateCall& call) {
  bool packed = true;
  for (const Tensor* tensor : {&call.parameter, &call.master, &call.shadow, &call.gradient, &call.moments[0],
                               &call.moments[1], &call.moments[2]}) {
    packed = packed && is_pack_aligned(record_data<void>(*tensor));
  }
  return packed;
}

UpdateItem item_of(const UpdateCall& call) {
  UpdateItem item{};
  item.parameter = call.parameter.data_ptr();
  item.master = record_data<void>(call.master);
  item.shadow = record_data<void>(call.shadow);
  item.gradient = call.gradient.data_ptr();
  for (std::size_t m = 0; m < 3; ++m) item.moments[m] = record_data<void>(call.moments[m]);
  item.divisor = record_data<float>(call.factor.divisor);
  item.number = call.factor.number;
  item.numel = call.parameter.numel();
  item.rounding_offset = call.rounding_offset;
  item.dtype = call.parameter.scalar_type();
  item.shadow_dtype = call.shadow.defined() ? call.shadow.scalar_type() : kFloat;
  item.gradient_dtype = call.gradient.scalar_type();
  item.rounds_at_random = call.rounds_at_random;
  item.packed = is_packed(call);
  return item;
}

/// Calls of one rule that compute in one type, which one launch can take.
template <class Rule, class C>
void update_calls(const std::vector<const UpdateCall*>& calls, const Tensor& settings,
                  const Tensor& control) {
  if (calls.empty()) return;
  const Tensor numbers = empty_record(sizeof(UpdateNumbers) * calls.size(), control.device());
  auto* number = record_data<UpdateNumbers>(numbers);
  const auto count = [&](const CountTable& table, unsigned blocks) {
    launch<count_kernel>((blocks + kThreads - 1) / kThreads, kThreads, 0, table,
                         record_data<UpdateSettings>(settings), record_data<StepControl>(control), number);
  };
  const auto update = [&](const UpdateTable& table, unsigned blocks) {
    launch<update_kernel<Rule, C>>(blocks, kThreads, 0, table, number, record_data<StepControl>(control));
  };
  TableFiller<CountTable, decltype(count)> counts(1, count);
  for (const UpdateCall* call : calls) {
    const CountItem item{record_data<UpdateCounters>(call->counters), static_cast<std::int32_t>(call->group),
                         call->moments[0].defined()};
    counts.add(item, 1);
  }
  counts.flush();
  TableFiller<UpdateTable, decltype(update)> updates(kUpdateChunk, update);
  for (const UpdateCall* call : calls) updates.add(item_of(*call), call->parameter.numel());
  updates.flush();
}

template <class Rule>
void update_rule(UpdateRule rule, std::span<const UpdateCall> calls, const Tensor& settings,
                 const Tensor& control) {
  std::vector<const UpdateCall*> singles, doubles;
  for (const UpdateCall& call : calls) {
    if (call.rule != rule) continue;
    (call.parameter.scalar_type() == kDouble ? doubles : singles).push_back(&call);
  }
  update_calls<Rule, float>(singles, settings, control);
  update_calls<Rule, double>(doubles, settings, control);
}

void update(std::span<const UpdateCall> calls, const Tensor& settings, const Tensor& control) {
  const DeviceScope scope(control.device());
  update_rule<math::SgdRule>(UpdateRule::kSgd, calls, settings, control);
  update_rule<math::AdamRule>(UpdateRule::kAdam, calls, settings, control);
  update_rule<math::RmspropRule>(UpdateRule::kRmsprop, calls, settings, control);
  update_rule<math::AdagradRule>(UpdateRule::kAdagrad, calls, settings, control);
  update_rule<math::AdadeltaRule>(UpdateRule::kAdadelta, calls, settings, control);
  update_rule<math::AdamaxRule>(UpdateRule::kAdamax, calls, settings, control);
  update_rule<math::NadamRule>(UpdateRule::kNadam, calls, settings, control);
  update_rule<math::RadamRule>(UpdateRule::kRadam, calls, settings, control);
  update_rule<math::LionRule>(UpdateRule::kLion, calls, settings, control);
}

void refresh_master(const Tensor& master, const Tensor& parameter) {
  const DeviceScope scope(master.device());
  const std::int64_t n = master.numel();
  launch<refresh_master_kernel>(blocks_for(n), kThreads, 0, master.data_ptr<float>(), parameter.data_ptr(),
                                parameter.scalar_type(), n);
}

void stochastic_round(const Tensor& dst, const Tensor& src, const Tensor& uniforms) {
  const DeviceScope scope(dst.device());
  const std::int64_t n = dst.numel();
  const float *from = src.data_ptr<float>(), *random = uniforms.data_ptr<float>();
  if (dst.scalar_type() == kHalf) {
    launch<stochastic_round_kernel<Half>>(blocks_for(n), kThreads, 0, dst.data_ptr<Half>(), from, random, n);
  } else {
    launch<stochastic_round_kernel<BFloat16>>(blocks_for(n), kThreads, 0, dst.data_ptr<BFloat16>(), from,
                                              random, n);
  }
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const OptimizerKernels& cuda_kernels<OptimizerKernels>() {
  static const OptimizerKernels kernels{
      &cuda::scan_gradients, &cuda::scale_gradients, &cuda::clip_gradients,   &cuda::decide,
      &cuda::update,         &cuda::refresh_master,  &cuda::stochastic_round, &cuda::note_loss,
      &cuda::copy_scale,     &cuda::move_scale};
  return kernels;
}

}  // namespace halftone
