#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"
#include "halftone/nn/ordered_dict.h"

namespace halftone::serialize {
class OutputArchive;
class InputArchive;
}  // namespace halftone::serialize

namespace halftone::nn {

template <class Contained>
class ModuleHolder;
class Module;
namespace utils {
void weight_norm(Module& module, const std::string& name, optional<std::int64_t> dim);
void remove_weight_norm(Module& module, const std::string& name);
}  // namespace utils

/// Base of every layer and model (torch::nn::Module): holds named parameters, buffers and submodules, and
/// whether the model is training. Register what belongs to the model in its constructor; the rest follows.
class Module : public std::enable_shared_from_this<Module> {
 public:
  explicit Module(std::string name);
  Module();
  Module(const Module&);
  Module& operator=(const Module&);
  virtual ~Module();

  /// The name given at construction, or else the class's; layers of halftone have libtorch's,
  /// "torch::nn::LinearImpl".
  const std::string& name() const;

  // --- What it holds; a tensor or module reachable by two names is listed once, under the first ---
  /// Its parameters, and those of the modules below it with `recurse`.
  std::vector<Tensor> parameters(bool recurse = true) const;
  /// The same by name, as "fc1.weight".
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  /// What belongs to the model and gets no gradient: running statistics, masks.
  std::vector<Tensor> buffers(bool recurse = true) const;
  /// The same by name, as "bn1.running_mean".
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  /// This module and those below it, depth first. The shared pointer to this module itself is there only when
  /// it is owned by one.
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  /// The same by name; this module's is `name_prefix`.
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& name_prefix = {},
                                                                  bool include_self = true) const;
  /// The modules registered with this one, without those further down.
  std::vector<std::shared_ptr<Module>> children() const;
  /// The same by name.
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  /// Parameters and buffers by name: what a checkpoint holds. The tensors share the model's data.
  OrderedDict<std::string, Tensor> state_dict() const;
  /// Copies values into the parameters and buffers of the same names. All names, shapes and kinds of dtype
  /// are checked first: on an Error nothing has changed. With `strict`, both sides must have exactly the same
  /// names.
  void load_state_dict(const OrderedDict<std::string, Tensor>& state, bool strict = true);

  /// The same to and from an archive, as libtorch has it. A class may override them to keep more.
  virtual void save(serialize::OutputArchive& archive) const;
  /// Throws Error, with nothing changed, unless the archive has exactly this module's names and shapes.
  virtual void load(serialize::InputArchive& archive);

  // --- Registration ---
  /// Undefined tensors may be registered (no bias); they are not listed. Throws Error on an empty name, one
  /// with a dot, one in use, or a tensor that cannot take a gradient.
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  /// A tensor without gradient that belongs to the state: saved, moved and copied with the module. Throws
  /// Error on an empty name, one with a dot or one in use.
  Tensor& register_buffer(std::string name, Tensor tensor);
  /// Makes a module part of this one, and gives it back. Throws Error on an empty name, one with a dot or one
  /// in use.
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, std::shared_ptr<ModuleType> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, ModuleHolder<ModuleType> holder) {
    return register_module(std::move(name), holder.ptr());
  }
  /// Puts a module in the place of the one of that name. Throws Error when there is none.
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name, std::shared_ptr<ModuleType> module) {
    swap_child(name, module);
    return module;
  }
  template <class ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string& name, ModuleHolder<ModuleType> holder) {
    return replace_module(name, holder.ptr());
  }
  /// Takes a module out. Throws Error when there is none of that name.
  void unregister_module(const std::string& name);

  // --- Modes and conversion, for this module and all below it ---
  /// Training or evaluation: dropout and batch normalisation behave differently.
  virtual void train(bool on = true);
  /// The same as train(false).
  void eval() { train(false); }
  /// What train() said last; true at first.
  bool is_training() const noexcept { return is_training_; }
  /// Moves or converts parameters and buffers in place (optimizers keep pointing at them). Only floating
  /// tensors change dtype; running statistics of normalisation layers stay in fp32 when the rest becomes
  /// half. Throws Error, with nothing changed, when a finite weight would overflow float16.
  void to(Device device, Dtype dtype, bool non_blocking = false) { convert(device, dtype, non_blocking); }
  void to(Dtype dtype, bool non_blocking = false) { convert(nullopt, dtype, non_blocking); }
  void to(Device device, bool non_blocking = false) { convert(device, nullopt, non_blocking); }
  void to(DeviceType device, bool non_blocking = false) { convert(Device(device), nullopt, non_blocking); }
  /// Drops the parameters' gradients, or fills them with zeros.
  void zero_grad(bool set_to_none = true);
  /// Calls `function` on every module, children last.
  void apply(const std::function<void(Module&)>& function);
  void apply(const std::function<void(const std::string&, Module&)>& function,
             const std::string& name_prefix = {});

  /// A deep copy: own parameters and buffers, the same options. Only for modules derived from Cloneable.
  virtual std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const;

  /// One line saying what the module is, without its children.
  virtual void pretty_print(std::ostream& stream) const;

  /// This module as ModuleType (or as what a holder ModuleType holds), or null.
  template <class ModuleType>
  auto as() {
    if constexpr (requires { typename ModuleType::ContainedType; }) {
      return dynamic_cast<typename ModuleType::ContainedType*>(this);
    } else {
      return dynamic_cast<ModuleType*>(this);
    }
  }

 protected:
  /// True for a buffer that must not lose precision when the module is converted to half.
  virtual bool keeps_precision(const std::string& buffer) const {
    (void)buffer;
    return false;
  }
  /// The member that holds parameter `name`, if forward() reads it through `effective`: then it can be put
  /// under utils::weight_norm. Null for all others.
  virtual Tensor* normalizable(std::string_view name) {
    (void)name;
    return nullptr;
  }
  /// Parameter `name` as forward() should use it: its member, or under utils::weight_norm, where the member
  /// is undefined, computed from direction and length. Throws Error when such a member was assigned.
  Tensor effective(const Tensor& member, std::string_view name) const {
    return weight_norms_.empty() ? member : normalized(member, name);
  }
  /// Makes a memberwise copy of this module into a deep one: it registers its own through `reset`, and gets
  /// this module's values. (Not a template, so that every layer does not compile its own.)
  std::shared_ptr<Module> finish_clone(Module* copy, void (*reset)(Module&),
                                       const optional<Device>& device) const;

  /// This module's own.
  OrderedDict<std::string, Tensor> parameters_{"parameter"};

 private:
  friend void utils::weight_norm(Module&, const std::string&, optional<std::int64_t>);
  friend void utils::remove_weight_norm(Module&, const std::string&);
  /// Which parameter is under weight normalisation, and along which dimension (-1: all in one).
  struct WeightNorm {
    std::string name;
    std::int64_t dim;
    bool operator==(const WeightNorm&) const = default;
  };
  Tensor normalized(const Tensor& member, std::string_view name) const;
  void add_weight_norm(const WeightNorm& norm);
  void drop_weight_norm(WeightNorm norm);
  /// Puts the same parameters under weight normalisation as in `original`, here and below.
  void match_weight_norms(const Module& original);
  void copy_values_from(const Module& other, const optional<Device>& device);
  /// Throws Error if a parameter or a buffer has that name.
  void check_free(const std::string& name) const;
  void add_child(std::string name, std::shared_ptr<Module> module);
  void swap_child(const std::string& name, std::shared_ptr<Module> module);
  void convert(optional<Device> device, optional<Dtype> dtype, bool non_blocking);
  void check_fits_half() const;
  void visit(const std::string& prefix,
             const std::function<void(const std::string&, const Module&)>& function) const;

  mutable std::string name_;
  bool is_training_ = true;
  OrderedDict<std::string, Tensor> buffers_{"buffer"};
  OrderedDict<std::string, std::shared_ptr<Module>> children_{"submodule"};
  std::vector<WeightNorm> weight_norms_;
};

/// The whole tree of modules, indented.
std::ostream& operator<<(std::ostream& stream, const Module& module);

/// Base of modules that can be copied: `Derived::reset()` registers everything from its options.
template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;
  /// Registers parameters, buffers and submodules and gives them their initial values.
  virtual void reset() = 0;
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override {
    return finish_clone(
        new Derived(static_cast<const Derived&>(*this)),
        [](Module& copy) { static_cast<Derived&>(copy).reset(); }, device);
  }
};

}  // namespace halftone::nn
