#pragma once

// How an operator is declared, and what happens when it is called. A declaration is a struct:
//
//   struct Softmax : Operator {
//     static constexpr Schema schema{"softmax", {"self", "dim", "dtype"}, "exp(x) / sum(exp(x)) along dim"};
//     static constexpr Tensor (*api)(const Tensor&, int64_t, OptionalDtype) = &halftone::softmax;
//     static constexpr auto precision = amp::Precision::kFp32;
//     static constexpr Keep saves = keep_result();
//     static Meta infer(const Tensor& x, int64_t dim, OptionalDtype dtype);            // shape and dtype
//     only static void run(const Tensor& out, const Tensor& x, int64_t dim, OptionalDtype);  // writes out
//     static Tensor backward(const Saved& s, const Tensor& g, int64_t dim, OptionalDtype);
//     static void samples(Samples& s);                                                 // inputs the tests
//     use
//   };
//   Tensor softmax(const Tensor& self, int64_t dim, OptionalDtype dtype) { return dispatch<Softmax>(self,
//   dim, dtype); } HALFTONE_REGISTER_OPERATOR(Softmax);
//
// From it come dispatch, the autocast decision, tape recording, the registry row, and every registry-driven
// test.

#include <array>
#include <tuple>

#include "halftone/amp/policy.h"
#include "halftone/autograd/node.h"
#include "halftone/autograd/saved.h"
#include "halftone/ops/autocast.h"
#include "halftone/ops/make_info.h"
#include "halftone/ops/observer.h"

namespace halftone::ops {

/// Shape, dtype and device of a result, before it exists.
struct Meta {
  Dims sizes;
  ScalarType dtype = kFloat;
  Device device = kCPU;
  bool explicit_dtype = false;  ///< the caller named the dtype: autocast does not change it
};

inline Meta like(const Tensor& x) { return {x.sizes().dims(), x.scalar_type(), x.device()}; }
inline Meta like(const Tensor& x, IntArrayRef sizes) { return {sizes.dims(), x.scalar_type(), x.device()}; }
inline Meta like(const Tensor& x, IntArrayRef sizes, ScalarType dtype) {
  return {sizes.dims(), dtype, x.device()};
}
/// With an explicit dtype if the caller gave one.
Meta like(const Tensor& x, IntArrayRef sizes, OptionalDtype dtype);

/// Uninitialised memory for a result.
Tensor allocate(const Meta& meta);

/// What an operator keeps for backward. Each entry says which inputs' gradients read it (a bit mask; 0: not
/// kept): when none of those is wanted, it is not kept.
struct Keep {
  static constexpr std::uint32_t kAlways = ~0u;
  std::array<std::uint32_t, 6> inputs{};
  std::array<std::uint32_t, 4> results{};

  friend constexpr Keep operator|(Keep a, const Keep& b) {
    for (std::size_t i = 0; i < a.inputs.size(); ++i) a.inputs[i] |= b.inputs[i];
    for (std::size_t i = 0; i < a.results.size(); ++i) a.results[i] |= b.results[i];
    return a;
  }
};

constexpr std::uint32_t input_mask(std::initializer_list<int> inputs) {
  std::uint32_t mask = 0;
  for (int i : inputs) mask |= 1u << i;
  return mask;
}
constexpr Keep keep_nothing() { return {}; }
/// Keeps tensor input `i` (counted among tensor arguments only).
constexpr Keep keep_input(int i) {
  Keep keep;
  keep.inputs[i] = Keep::kAlways;
  return keep;
}
/// Keeps tensor input `i` only when a gradient for one of `for_inputs` is wanted: mul keeps b for a and a for
/// b.
constexpr Keep keep_input(int i, std::initializer_list<int> for_inputs) {
  Keep keep;
  keep.inputs[i] = input_mask(for_inputs);
  return keep;
}
constexpr Keep keep_result(int i = 0) {
  Keep keep;
  keep.results[i] = Keep::kAlways;
  return keep;
}

/// What a gradient rule sees: the tensors its declaration keeps, and which gradients are wanted.
class Saved {
 public:
  Saved(autograd::Node& node, const autograd::SavedTensor* inputs, const autograd::SavedTensor* results,
        const Keep& keep)
      : node_(node), inputs_(inputs), results_(results), keep_(keep) {}

  /// Tensor input `i`; undefined when the caller passed none. Throws Error if the operator does not keep it.
  Tensor input(int i) const;
  Tensor result(int i = 0) const;
  /// Whether the gradient of tensor input `i` is wanted; skip the work otherwise.
  bool needs(int i) const { return static_cast<bool>(node_.next_edges()[i]); }
  const Dims& sizes(int i) const { return node_.input_meta(i).sizes; }
  ScalarType dtype(int i) const { return node_.input_meta(i).dtype; }
  std::size_t input_count() const { return node_.next_edges().size(); }

 private:
  autograd::Node& node_;
  const autograd::SavedTensor* inputs_;
  const autograd::SavedTensor* results_;
  const Keep& keep_;
};

using autograd::Gradients;

/// Defaults of a declaration.
struct Operator {
  static constexpr Keep saves = keep_nothing();
  /// False for operators without gradient by nature (comparisons, argmax).
  static constexpr bool differentiable = true;
  /// False when the gradient cannot be differentiated again; say why beside it.
  static constexpr bool twice = true;
  /// True when the kernel reads operands of different floating dtypes.
  static constexpr bool mixed_inputs = false;
  /// What to use instead of a banned operator.
  static constexpr const char* instead = "";
  /// Largest error against fp64 on the rounded inputs, in units of the result's last place plus the bound of
  /// its reduction; see tests/support/tolerance.h.
  static constexpr Ulp ulp{};
};

// --- Arguments: tensors, lists of tensors, and everything else (attributes)
// -------------------------------------
template <class T>
inline constexpr bool is_tensor_arg = std::is_same_v<T, Tensor>;
template <class T>
inline constexpr bool is_list_arg = std::is_same_v<T, TensorList>;
template <class T>
inline constexpr bool is_attribute = !is_tensor_arg<T> && !is_list_arg<T>;

/// How an attribute is kept in a node: by value, owning what views refer to.
template <class T>
struct StoredAttribute {
  using type = T;
};
template <>
struct StoredAttribute<IntArrayRef> {
  using type = Dims;
};
template <>
struct StoredAttribute<std::string_view> {
  using type = std::string;
};

template <class T>
auto attribute_tuple(const T& arg) {
  if constexpr (is_attribute<T>) {
    return std::tuple<typename StoredAttribute<T>::type>(typename StoredAttribute<T>::type([&] {
      if constexpr (std::is_same_v<T, IntArrayRef>)
        return arg.dims();
      else
        return typename StoredAttribute<T>::type(arg);
    }()));
  } else {
    return std::tuple<>();
  }
}

template <class... Args>
using AttributeTuple = decltype(std::tuple_cat(attribute_tuple(std::declval<const Args&>())...));

/// Calls `f(tensor)` for every tensor among the arguments, in order; undefined ones included.
template <class F, class T>
void visit_tensors(F& f, const T& arg) {
  if constexpr (is_tensor_arg<T>) {
    f(arg);
  } else if constexpr (is_list_arg<T>) {
    for (const Tensor& tensor : arg) f(tensor);
  }
}

template <class... Args>
bool any_wants_grad(const Args&... args) {
  bool any = false;
  auto check = [&](const Tensor& tensor) { any = any || autograd::wants_grad(tensor); };
  (visit_tensors(check, args), ...);
  return any;
}

// --- Recording
// -------------------------------------------------------------------------------------------------
template <class T>
Gradients as_gradients(T&& result) {
  if constexpr (std::is_same_v<std::remove_cvref_t<T>, Tensor>) {
    return Gradients{std::forward<T>(result)};
  } else {
    return std::forward<T>(result);
  }
}

/// The part of a node that does not depend on the operator.
class RecordedNode : public autograd::Node {
 public:
  using Node::Node;
  /// Keeps what `keep` names among `inputs`, given which gradients are wanted.
  void save_inputs(const Keep& keep, const TensorRefs& inputs);
  void save_result(const Keep& keep, const Tensor& result, std::uint32_t output_nr);
  void release_saved() override;
  void visit_saved(const std::function<void(const Tensor&)>& visit) const override;

 protected:
  void check_not_released() const;
  std::array<autograd::SavedTensor, 6> inputs_;
  std::array<autograd::SavedTensor, 4> results_;

 private:
  std::uint32_t wanted_mask() const;
  bool released_ = false;
};

template <class Op>
concept HasBackward = requires {
  &Op::backward;
};

template <class Op, class Attributes>
class OperatorNode final : public RecordedNode {
 public:
  explicit OperatorNode(Attributes attributes)
      : RecordedNode(Op::schema.name), attributes_(std::move(attributes)) {}

  Gradients apply(Gradients output_gradients) override {
    if constexpr (!HasBackward<Op>) {
      fail(Op::schema.name, "has no derivative: it cannot be differentiated again");
    } else {
      check_not_released();
      const Saved saved(*this, inputs_.data(), results_.data(), keep_);
      return std::apply(
          [&](const auto&... attributes) {
            // In this order: a Tensor converts to Gradients, not the other way round.
            if constexpr (requires { Op::backward(saved, output_gradients, attributes...); }) {
              return as_gradients(Op::backward(saved, output_gradients, attributes...));
            } else {
              return as_gradients(Op::backward(saved, output_gradients[0], attributes...));
            }
          },
          attributes_);
    }
  }

 private:
  static constexpr Keep keep_ = Op::saves;
  Attributes attributes_;
};

template <class T>
void attach(const T& result, const IntrusivePtr<RecordedNode>& node, const Keep& keep) {
  if constexpr (std::is_same_v<T, Tensor>) {
    autograd::set_history(result, node);
    node->save_result(keep, result, 0);
  } else {
    node->set_output_count(static_cast<std::uint32_t>(result.size()));
    for (std::uint32_t i = 0; i < result.size(); ++i) {
      if (result[i].is_floating_point()) autograd::set_history(result[i], node, i);
      node->save_result(keep, result[i], i);
    }
  }
}

template <class Op, class... Args>
IntrusivePtr<RecordedNode> make_node(const Args&... args) {
  auto node =
      make_intrusive<OperatorNode<Op, AttributeTuple<Args...>>>(std::tuple_cat(attribute_tuple(args)...));
  TensorRefs inputs;
  auto add = [&](const Tensor& tensor) {
    node->add_input(tensor);
    inputs.push_back(&tensor);
  };
  (visit_tensors(add, args), ...);
  node->save_inputs(Op::saves, inputs);
  return node;
}

// --- Calling
// ---------------------------------------------------------------------------------------------------
template <class Op, class... Args>
concept IsView = requires(const Args&... args) {
  Op::view(args...);
};

inline void apply_output_dtype(Meta& meta, std::optional<ScalarType> dtype) {
  if (dtype && !meta.explicit_dtype && is_low_precision(meta.dtype)) meta.dtype = *dtype;
}

/// Shape rule, allocation, kernel; nothing recorded.
template <class Op, class... Args>
auto forward(std::optional<ScalarType> output_dtype, const Args&... args) {
  auto meta = Op::infer(args...);
  if constexpr (std::is_same_v<decltype(meta), Meta>) {
    apply_output_dtype(meta, output_dtype);
    Tensor out = allocate(meta);
    Op::run(out, args...);
    return out;
  } else {
    std::array<Tensor, std::tuple_size_v<decltype(meta)>> out;
    for (std::size_t i = 0; i < out.size(); ++i) {
      apply_output_dtype(meta[i], output_dtype);
      out[i] = allocate(meta[i]);
    }
    Op::run(out, args...);
    return out;
  }
}

/// Runs and records, below autocast.
template <class Op, class... Args>
auto record(std::optional<ScalarType> output_dtype, const Args&... args) {
  IntrusivePtr<RecordedNode> node;
  if constexpr (Op::differentiable) {
    if (GradMode::is_enabled() && any_wants_grad(args...)) node = make_node<Op>(args...);
  }
  if constexpr (IsView<Op, Args...>) {
    Tensor out = Op::view(args...);
    autograd::set_view_of(out, std::get<0>(std::tie(args...)));
    if (node) attach(out, node, Op::saves);
    return out;
  } else {
    auto out = forward<Op>(output_dtype, args...);
    if (node) attach(out, node, Op::saves);
    return out;
  }
}

/// An argument after autocast: tensors cast, everything else as it is.
template <class T>
decltype(auto) autocast_argument(const T& arg, ScalarType dtype) {
  if constexpr (is_tensor_arg<T>) {
    return autocast_cast(arg, dtype);
  } else if constexpr (is_list_arg<T>) {
    std::vector<Tensor> cast;
    cast.reserve(arg.size());
    for (const Tensor& tensor : arg) cast.push_back(autocast_cast(tensor, dtype));
    return cast;
  } else {
    return (arg);
  }
}
template <class T>
decltype(auto) as_argument(const T& arg) {
  if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
    return TensorList(arg);
  } else {
    return (arg);
  }
}

template <class... Args>
TensorRefs tensor_refs(const Args&... args) {
  TensorRefs refs;
  auto add = [&](const Tensor& tensor) { refs.push_back(&tensor); };
  (visit_tensors(add, args), ...);
  return refs;
}
template <std::size_t N>
TensorRefs tensor_refs(const std::array<Tensor, N>& results) {
  TensorRefs refs;
  for (const Tensor& result : results) refs.push_back(&result);
  return refs;
}

/// A copy of `tensor`, without history; in fp32 if it is half.
Tensor copied_to_fp32(const Tensor& tensor);

template <class T>
decltype(auto) fp32_argument(const T& arg) {
  if constexpr (is_tensor_arg<T>) {
    return copied_to_fp32(arg);
  } else if constexpr (is_list_arg<T>) {
    std::vector<Tensor> copies;
    copies.reserve(arg.size());
    for (const Tensor& tensor : arg) copies.push_back(copied_to_fp32(tensor));
    return copies;
  } else {
    return (arg);
  }
}

/// Call::in_fp32 of an operator. `arguments`: the tuple of references of dispatch_watched.
template <class Op, class... Args>
std::vector<Tensor> run_in_fp32(const void* arguments) {
  const auto compute = [](const auto&... args) {
    auto meta = Op::infer(args...);
    std::vector<Tensor> out;
    if constexpr (std::is_same_v<decltype(meta), Meta>) {
      if (is_low_precision(meta.dtype)) meta.dtype = kFloat;
      out.push_back(allocate(meta));
      Op::run(out[0], args...);
    } else {
      std::array<Tensor, std::tuple_size_v<decltype(meta)>> results;
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (is_low_precision(meta[i].dtype)) meta[i].dtype = kFloat;
        results[i] = allocate(meta[i]);
      }
      Op::run(results, args...);
      out.assign(results.begin(), results.end());
    }
    return out;
  };
  return std::apply(
      [&](const Args&... args) {
        return [&](const auto&... copies) { return compute(as_argument(copies)...); }(fp32_argument(args)...);
      },
      *static_cast<const std::tuple<const Args&...>*>(arguments));
}

/// Casts as planned, then runs and records.
template <class Op, class... Args>
auto run_as_planned(const CastPlan& plan, const Args&... args) {
  if (!plan.cast_to) return record<Op>(plan.output, args...);
  return [&](const auto&... cast) {
    return record<Op>(plan.output, as_argument(cast)...);
  }(autocast_argument(args, *plan.cast_to)...);
}

/// The same while somebody watches.
template <class Op, class... Args>
[[gnu::noinline]] auto dispatch_watched(const TensorRefs& inputs, const CastPlan& plan, const Args&... args) {
  const std::tuple<const Args&...> arguments(args...);
  Call call{.name = Op::schema.name, .declared = Op::precision, .inputs = inputs, .plan = plan};
  if constexpr (IsView<Op, Args...>) {
    call.kind = CallKind::kView;
  } else {
    call.in_fp32 = &run_in_fp32<Op, Args...>;
    call.arguments = &arguments;
  }
  CallScope scope(call);
  auto out = run_as_planned<Op>(plan, args...);
  scope.finish(tensor_refs(out));
  return out;
}

/// A call under autocast, or one that somebody watches.
template <class Op, class... Args>
auto dispatch_with_care(const Args&... args) {
  const TensorRefs inputs = tensor_refs(args...);
  const CastPlan plan = plan_casts(Op::schema.name, Op::precision, Op::mixed_inputs, Op::instead, inputs);
  if (observer()) [[unlikely]]
    return dispatch_watched<Op>(inputs, plan, args...);
  return run_as_planned<Op>(plan, args...);
}

/// The way every operator is called: autocast decision, then recording, then the kernel.
template <class Op, class... Args>
auto dispatch(const Args&... args) {
  if (amp::needs_attention()) [[unlikely]]
    return dispatch_with_care<Op>(args...);
  return record<Op>(std::nullopt, args...);
}

/// Makes a result writable in place of `self`: same shape, and a dtype that converts to self's kind.
void check_inplace_result(const char* op, const Tensor& self, const Meta& meta);
/// `arg`, or a copy of it when it overlaps `self` other than exactly (x.add_(x.t())).
Tensor without_overlap(const Tensor& self, const Tensor& arg);

template <class T>
decltype(auto) without_overlap_arg(const Tensor& self, const T& arg) {
  if constexpr (is_tensor_arg<T>) {
    return without_overlap(self, arg);
  } else {
    return (arg);
  }
}

/// Runs and records a write in place.
template <class Op, class... Args>
void record_inplace(Tensor& self, const Args&... args) {
  const bool recording = Op::differentiable && GradMode::is_enabled() && any_wants_grad(self, args...);
  autograd::check_inplace(Op::schema.name, self, recording);
  check_inplace_result(Op::schema.name, self, Op::infer(self, args...));
  const auto call = [&](const Tensor& input, const auto&... safe) {
    IntrusivePtr<RecordedNode> node;
    if constexpr (Op::differentiable) {
      if (recording) {
        // A rule that reads the value overwritten here gets a copy of it.
        const bool keeps_self = Op::saves.inputs[0] != 0;
        node = make_node<Op>(keeps_self ? autograd::detached_value(input) : input, safe...);
      }
    }
    Op::run(self, input, safe...);
    self.storage().bump_version(Op::schema.name);
    if (node) {
      autograd::rebase_history(self, node);
      node->save_result(Op::saves, self, 0);
    }
  };
  call(recording ? autograd::snapshot(self) : self, without_overlap_arg(self, args)...);
}

/// The in-place form: the operator's result is written into `self`. Never cast by autocast. Recorded also
/// through views: the base's history is rebased onto the write.
template <class Op, class... Args>
Tensor& dispatch_inplace(Tensor& self, const Args&... args) {
  if (!observer()) [[likely]] {
    record_inplace<Op>(self, args...);
    return self;
  }
  const Tensor& written = self;
  const TensorRefs inputs = tensor_refs(written, args...);
  const Call call{
      .name = Op::schema.name, .declared = Op::precision, .kind = CallKind::kInPlace, .inputs = inputs};
  CallScope scope(call);
  record_inplace<Op>(self, args...);
  scope.finish(tensor_refs(written));
  return self;
}

}  // namespace halftone::ops

/// Enters a declaration into the registry; its name must also stand in ops/all_ops.h.
#define HALFTONE_REGISTER_OPERATOR(Op)          \
  template <>                                   \
  const OpInfo& operator_info<Op>() {           \
    static const OpInfo info = make_info<Op>(); \
    return info;                                \
  }
