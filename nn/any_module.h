#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "halftone/nn/module_holder.h"

namespace halftone::nn {

/// A plain function as a module: `nn::Functional(torch::relu)`.
class FunctionalImpl : public Module {
 public:
  explicit FunctionalImpl(std::function<Tensor(Tensor)> function);
  Tensor forward(Tensor input) { return function_(std::move(input)); }
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& stream) const override;

 private:
  std::function<Tensor(Tensor)> function_;
};
HALFTONE_MODULE(Functional);

/// Any module that maps one tensor to one tensor, with its type erased: a step of a Sequential. Made from a
/// module, a holder, a shared pointer to a module, or a function.
class AnyModule {
 public:
  AnyModule() = default;
  template <class M>
  requires std::derived_from<M, Module> AnyModule(std::shared_ptr<M> module)
      : module_(std::move(module)), forward_(&call<M>) {
    static_assert(
        requires(M & m, Tensor x) {
          { m.forward(x) } -> std::convertible_to<Tensor>;
        },
        "the module needs a forward() from one tensor to one tensor");
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

  Tensor forward(const Tensor& input) const { return forward_(*ptr(), input); }
  Tensor operator()(const Tensor& input) const { return forward(input); }
  /// Throws Error when empty.
  const std::shared_ptr<Module>& ptr() const {
    if (!module_) fail("AnyModule", "the module is empty");
    return module_;
  }
  /// The module as M. Throws Error when it is another type.
  template <class M>
  requires std::derived_from<M, Module> M& get() const {
    if (auto* module = dynamic_cast<M*>(ptr().get())) return *module;
    fail("AnyModule", "the module is a ", module_->name(), ", not of the type asked for");
  }
  /// The same as a holder: `any.get<nn::Linear>()`.
  template <class Holder>
  requires requires { typename Holder::ContainedType; }
  Holder get() const {
    get<typename Holder::ContainedType>();
    return Holder(std::static_pointer_cast<typename Holder::ContainedType>(module_));
  }
  bool is_empty() const { return !module_; }
  /// A deep copy. Throws Error when the module cannot be copied.
  AnyModule clone(const optional<Device>& device = nullopt) const {
    AnyModule copy = *this;
    copy.module_ = ptr()->clone(device);
    return copy;
  }

 private:
  template <class M>
  static Tensor call(Module& module, const Tensor& input) {
    return static_cast<M&>(module).forward(input);
  }

  std::shared_ptr<Module> module_;
  Tensor (*forward_)(Module&, const Tensor&) = nullptr;
};

/// A step of a Sequential with its name.
struct NamedAnyModule {
  template <class M>
  NamedAnyModule(std::string name, M&& module) : name(std::move(name)), module(std::forward<M>(module)) {}
  std::string name;
  AnyModule module;
};

}  // namespace halftone::nn
