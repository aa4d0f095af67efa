#include "halftone/ops/registry.h"

#include <mutex>

#include "halftone/ops/all_ops.h"
#include "halftone/ops/make_info.h"

namespace halftone::ops {
namespace {

struct Rows {
  std::mutex mutex;
  std::vector<const OpInfo*> rows;
};

#define HALFTONE_DECLARE_INFO(Op)    \
  }                                  \
  template <>                        \
  const OpInfo& operator_info<Op>(); \
  namespace {
HALFTONE_OPERATORS(HALFTONE_DECLARE_INFO)
#undef HALFTONE_DECLARE_INFO

Rows& rows() {
  static Rows* all = [] {
    auto* made = new Rows;
#define HALFTONE_ADD_ROW(Op) made->rows.push_back(&operator_info<Op>());
    HALFTONE_OPERATORS(HALFTONE_ADD_ROW)
#undef HALFTONE_ADD_ROW
    return made;
  }();
  return *all;
}

const char* kind_of(const Value& value) {
  constexpr const char* kinds[] = {"nothing",  "a tensor", "a list of tensors",  "a number", "an integer",
                                   "a number", "a bool",   "a list of integers", "a dtype",  "a text"};
  return kinds[value.index()];
}

// Samples must not depend on the program's random stream, nor disturb it: splitmix64 of a running index.
double unit(std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

std::vector<const OpInfo*> registry() {
  std::lock_guard lock(rows().mutex);
  return rows().rows;
}

const OpInfo* find_operator(std::string_view name) {
  for (const OpInfo* row : registry()) {
    if (name == row->name) return row;
  }
  return nullptr;
}

void add_operator(const OpInfo& info) {
  if (find_operator(info.name))
    fail("register_operator", "an operator named \"", info.name, "\" exists already");
  std::lock_guard lock(rows().mutex);
  rows().rows.push_back(new OpInfo(info));
}

std::string OpInfo::signature() const {
  std::string text = concat(name, "(");
  for (std::size_t i = 0; i < args.size(); ++i) text += concat(i ? ", " : "", args[i]);
  return text + ")";
}

const char* OpInfo::gradient() const {
  if (!differentiable) return "none";
  return twice ? "yes, twice" : "once";
}

bool OpInfo::is_backward() const {
  return std::string_view(name).find("_backward") != std::string_view::npos;
}

std::string file_stem(const char* path) {
  std::string_view stem = path;
  stem.remove_prefix(stem.rfind('/') + 1);  // npos + 1 is 0
  return std::string(stem.substr(0, stem.rfind('.')));
}

Samples::Samples() = default;
Samples::~Samples() = default;

Sample& Samples::add(std::vector<Value> args) {
  samples_.push_back({std::move(args)});
  return samples_.back();
}

std::vector<Sample> Samples::take() { return std::move(samples_); }

Tensor Samples::rand(IntArrayRef sizes, double low, double high) {
  Tensor out = empty(sizes, TensorOptions(kDouble).device(kCPU));
  double* data = out.data_ptr<double>();
  for (std::int64_t i = 0; i < out.numel(); ++i) data[i] = low + (high - low) * unit(drawn_++);
  return out;
}

Tensor Samples::randint(IntArrayRef sizes, std::int64_t low, std::int64_t high) {
  Tensor out = empty(sizes, TensorOptions(kLong).device(kCPU));
  auto* data = out.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    data[i] = low + static_cast<std::int64_t>(unit(drawn_++) * static_cast<double>(high - low));
  }
  return out;
}

Tensor Samples::distinct(IntArrayRef sizes) {
  Tensor out = empty(sizes, TensorOptions(kDouble).device(kCPU));
  double* data = out.data_ptr<double>();
  const std::int64_t n = out.numel();
  for (std::int64_t i = 0; i < n; ++i) data[i] = 0.125 * static_cast<double>(i - n / 2) + 0.0625;
  for (std::int64_t i = n - 1; i > 0; --i) {
    std::swap(data[i], data[static_cast<std::int64_t>(unit(drawn_++) * static_cast<double>(i + 1))]);
  }
  return out;
}

Tensor Samples::mask(IntArrayRef sizes) {
  Tensor out = empty(sizes, TensorOptions(kBool).device(kCPU));
  bool* data = out.data_ptr<bool>();
  for (std::int64_t i = 0; i < out.numel(); ++i) data[i] = unit(drawn_++) < 0.5;
  return out;
}

namespace detail {

void wrong_argument(const char* op, const char* arg, const char* expected, const Value& got) {
  fail(op, "argument '", arg, "': expected ", expected, ", got ", kind_of(got));
}

void wrong_argument_count(const char* op, std::size_t expected, std::size_t got) {
  fail(op, "expected ", expected, " arguments, got ", got);
}

}  // namespace detail
}  // namespace halftone::ops
