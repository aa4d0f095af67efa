#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/nn/any_value.h"
#include "halftone/nn/module_holder.h"

namespace halftone::nn {

/// A plain function as a module: `nn::Functional(torch::relu)`, or with its further arguments:
/// `nn::Functional(torch::leaky_relu, 0.2)`.
class FunctionalImpl : public Module {
 public:
  explicit FunctionalImpl(std::function<Tensor(Tensor)> function);
  template <class F, class... Args>
  requires(sizeof...(Args) > 0 &&
           std::is_invocable_r_v<Tensor, F, Tensor, Args...>) explicit FunctionalImpl(F function,
                                                                                      Args... args)
      : FunctionalImpl(std::function<Tensor(Tensor)>([function = std::move(function), args...](Tensor input) {
          return function(std::move(input), args...);
        })) {}
  Tensor forward(Tensor input) { return function_(std::move(input)); }
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& stream) const override;

 private:
  std::function<Tensor(Tensor)> function_;
};
HALFTONE_MODULE(Functional);

namespace detail {

/// The values that a module's forward() takes where the caller gives fewer (FORWARD_HAS_DEFAULT_ARGS).
struct DefaultArguments {
  template <class M>
  static std::vector<std::pair<std::size_t, AnyValue>> of() {
    if constexpr (requires { M::forward_default_arguments(); }) {
      return M::forward_default_arguments();
    } else {
      return {};
    }
  }
};

/// Throws Error unless `args`, with the defaults put in, are as many as forward() takes.
void complete_arguments(const Module& module, std::size_t expected, std::vector<AnyValue>& args,
                        std::vector<std::pair<std::size_t, AnyValue>> defaults);
[[noreturn]] void wrong_argument_type(const Module& module, std::size_t index, const std::type_info& expected,
                                      const std::type_info& got);

/// Calls forward() with values of any types: `call<M>` for a module class whose forward() has one signature.
template <class Signature>
struct ForwardCall;
template <class R, class C, class... Args>
struct ForwardCall<R (C::*)(Args...)> {
  template <class M>
  static AnyValue call(Module& module, std::vector<AnyValue> args) {
    complete_arguments(module, sizeof...(Args), args, DefaultArguments::of<M>());
    return call_with(static_cast<M&>(module), args, std::index_sequence_for<Args...>());
  }

 private:
  template <class T>
  static T& argument(const Module& module, std::vector<AnyValue>& args, std::size_t i) {
    if (T* value = args[i].template try_get<T>()) return *value;
    wrong_argument_type(module, i, typeid(T), args[i].type_info());
  }
  template <class M, std::size_t... I>
  static AnyValue call_with(M& module, std::vector<AnyValue>& args, std::index_sequence<I...>) {
    (void)args;
    return AnyValue(module.forward(argument<std::decay_t<Args>>(module, args, I)...));
  }
};
template <class R, class C, class... Args>
struct ForwardCall<R (C::*)(Args...) const> : ForwardCall<R (C::*)(Args...)> {};

}  // namespace detail

/// Any module, with its type erased: a step of a Sequential. Made from a module, a holder, a shared pointer
/// to a module, or a function from one tensor to one tensor. Modules that map one tensor to one tensor may
/// have any forward(); others need one with a single signature, and are called with exactly its types.
class AnyModule {
 public:
  AnyModule() = default;
  template <class M>
  requires std::derived_from<M, Module> AnyModule(std::shared_ptr<M> module) : module_(std::move(module)) {
    if constexpr (requires(M & m, Tensor x) {
                    { m.forward(x) } -> std::convertible_to<Tensor>;
                  }) {
      tensor_call_ = &call_on_tensor<M>;
    }
    if constexpr (requires { &M::forward; }) {
      value_call_ = &detail::ForwardCall<decltype(&M::forward)>::template call<M>;
    }
  }
  template <class Holder>
  requires requires { typename Holder::ContainedType; }
  AnyModule(const Holder& holder) : AnyModule(holder.ptr()) {}
  template <class M>
  requires std::derived_from<std::remove_cvref_t<M>, Module> AnyModule(M&& module)
      : AnyModule(std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module))) {}
  template <class F>
  requires(std::is_invocable_r_v<Tensor, F, Tensor> && !std::derived_from<std::remove_cvref_t<F>, Module> &&
           !std::same_as<std::remove_cvref_t<F>, AnyModule> &&
           !requires { typename std::remove_cvref_t<F>::ContainedType; }) AnyModule(F&& function)
      : AnyModule(std::make_shared<FunctionalImpl>(std::forward<F>(function))) {}

  /// The module's forward(). Throws Error when the arguments or the result have other types.
  template <class ReturnType = Tensor, class... Args>
  ReturnType forward(Args&&... args) const {
    if constexpr (std::is_same_v<ReturnType, Tensor> && sizeof...(Args) == 1 &&
                  (std::is_same_v<std::remove_cvref_t<Args>, Tensor> && ...)) {
      if (tensor_call_) return tensor_call_(*ptr(), args...);
    }
    std::vector<AnyValue> values;
    (values.push_back(AnyValue(std::forward<Args>(args))), ...);
    return forward_values(std::move(values)).template get<ReturnType>();
  }
  Tensor operator()(const Tensor& input) const { return forward(input); }
  /// The same with values of any types.
  AnyValue forward_values(std::vector<AnyValue> args) const;
  /// Whether it maps one tensor to one tensor.
  bool takes_tensor() const { return tensor_call_ != nullptr; }

  /// Throws Error when empty.
  const std::shared_ptr<Module>& ptr() const {
    if (!module_) fail("AnyModule", "the module is empty");
    return module_;
  }
  /// The module as M (or as what a holder M holds). Throws Error when it is another type.
  template <class M>
  auto ptr() const {
    if constexpr (requires { typename M::ContainedType; }) {
      return ptr<typename M::ContainedType>();
    } else {
      get<M>();
      return std::static_pointer_cast<M>(module_);
    }
  }
  /// Throws Error when the module is of another type.
  template <class M>
  requires std::derived_from<M, Module> M& get() const {
    if (auto* module = dynamic_cast<M*>(ptr().get())) return *module;
    fail("AnyModule", "the module is a ", module_->name(), ", not of the type asked for");
  }
  /// The same as a holder: `any.get<nn::Linear>()`.
  template <class Holder>
  requires requires { typename Holder::ContainedType; }
  Holder get() const { return Holder(ptr<typename Holder::ContainedType>()); }
  /// True for one that was made from nothing.
  bool is_empty() const { return !module_; }
  /// Of the module's class.
  const std::type_info& type_info() const;
  /// A deep copy. Throws Error when the module cannot be copied.
  AnyModule clone(const optional<Device>& device = nullopt) const {
    AnyModule copy = *this;
    copy.module_ = ptr()->clone(device);
    return copy;
  }

 private:
  template <class M>
  static Tensor call_on_tensor(Module& module, const Tensor& input) {
    return static_cast<M&>(module).forward(input);
  }

  std::shared_ptr<Module> module_;
  Tensor (*tensor_call_)(Module&, const Tensor&) = nullptr;
  AnyValue (*value_call_)(Module&, std::vector<AnyValue>) = nullptr;
};

/// A step of a Sequential with its name.
struct NamedAnyModule {
  template <class M>
  NamedAnyModule(std::string name, M&& module) : name(std::move(name)), module(std::forward<M>(module)) {}
  /// What its parameters' names begin with.
  std::string name;
  /// What the step calls.
  AnyModule module;
};

}  // namespace halftone::nn

/// Inside a module class: the defaults of forward()'s arguments for AnyModule and Sequential, by their index:
/// `HALFTONE_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(true)})` (libtorch's FORWARD_HAS_DEFAULT_ARGS).
#define HALFTONE_FORWARD_HAS_DEFAULT_ARGS(...)                                                             \
  friend struct ::halftone::nn::detail::DefaultArguments;                                                  \
  static ::std::vector<::std::pair<::std::size_t, ::halftone::nn::AnyValue>> forward_default_arguments() { \
    return {__VA_ARGS__};                                                                                  \
  }
