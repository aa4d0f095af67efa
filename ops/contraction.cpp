// Sums of products over named dimensions, brought into the form of one batched matrix product: einsum,
// tensordot, inner; and kron.

#include <algorithm>
#include <array>

#include "halftone/engine/tensor.h"

namespace halftone {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t product(IntArrayRef sizes) {
  std::int64_t count = 1;
  for (std::int64_t size : sizes) count *= size;
  return count;
}

// --- einsum
// -----------------------------------------------------------------------------------------------------
// A label is a letter's code, or 256 + the distance from the end for dimensions under "...".

using Labels = std::vector<int>;
constexpr int kEllipsis = 256;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

/// A tensor whose dimensions have names.
struct Operand {
  Tensor tensor;
  Labels labels;

  std::int64_t size(int label) const {
    const auto place = std::find(labels.begin(), labels.end(), label);
    return place == labels.end() ? 1 : tensor.size(place - labels.begin());
  }
};

[[noreturn]] void bad_equation(std::string_view equation, const char* why) {
  fail("einsum", "equation \"", equation, "\": ", why);
}

/// The labels of one term; `dots`: how many dimensions "..." stands for.
Labels parse_term(std::string_view equation, std::string_view term, std::int64_t dots) {
  Labels labels;
  bool seen_dots = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (seen_dots || term.substr(i, 3) != "...")
        bad_equation(equation, "a dot stands outside a single \"...\"");
      for (std::int64_t d = dots; d > 0; --d) labels.push_back(kEllipsis + static_cast<int>(d));
      seen_dots = true;
      i += 2;
      continue;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter) bad_equation(equation, "expected letters, \"...\", commas and one \"->\"");
    labels.push_back(c);
  }
  return labels;
}

Equation parse(std::string_view equation, const TensorList& tensors) {
  const std::size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  std::vector<std::string_view> terms;
  while (true) {
    const std::size_t comma = left.find(',');
    terms.push_back(left.substr(0, comma));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (terms.size() != tensors.size()) {
    fail("einsum", "equation \"", equation, "\" names ", terms.size(), " operands, got ", tensors.size());
  }
  Equation parsed;
  std::int64_t most_dots = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool has_dots = terms[i].find('.') != std::string_view::npos;
    const auto named = static_cast<std::int64_t>(parse_term(equation, terms[i], 0).size());
    const std::int64_t dots = tensors[i].dim() - named;
    if (has_dots ? dots < 0 : dots != 0) {
      fail("einsum", "equation \"", equation, "\": term ", i, " names ", named,
           " dimensions, the operand is ", tensors[i]);
    }
    most_dots = std::max(most_dots, dots);
    parsed.inputs.push_back(parse_term(equation, terms[i], dots));
  }
  if (arrow != std::string_view::npos) {
    parsed.output = parse_term(equation, equation.substr(arrow + 2), most_dots);
    for (std::size_t i = 0; i < parsed.output.size(); ++i) {
      const int label = parsed.output[i];
      if (std::count(parsed.output.begin(), parsed.output.end(), label) > 1)
        bad_equation(equation, "the result names a dimension twice");
      if (std::none_of(parsed.inputs.begin(), parsed.inputs.end(),
                       [&](const Labels& labels) { return contains(labels, label); }))
        bad_equation(equation, "the result names a dimension that no operand has");
    }
    return parsed;
  }
  // Without an arrow: "..." and then, in alphabetical order, the letters that occur once.
  for (std::int64_t d = most_dots; d > 0; --d) parsed.output.push_back(kEllipsis + static_cast<int>(d));
  std::array<int, 256> count{};
  for (const Labels& labels : parsed.inputs) {
    for (int label : labels) count[at(label < kEllipsis ? label : 0)] += 1;
  }
  for (int letter = 'A'; letter <= 'z'; ++letter) {
    if (count[at(letter)] == 1) parsed.output.push_back(letter);
  }
  return parsed;
}

/// Dimensions that one term names twice become their diagonal.
Operand with_unique_labels(Operand operand) {
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    for (std::size_t j = operand.labels.size() - 1; j > i; --j) {
      if (operand.labels[j] != operand.labels[i]) continue;
      const auto a = static_cast<std::int64_t>(i), b = static_cast<std::int64_t>(j);
      if (operand.tensor.size(a) != operand.tensor.size(b))
        fail("einsum", "a repeated letter stands for sizes ", operand.tensor.size(a), " and ",
             operand.tensor.size(b));
      operand.tensor = movedim(diagonal(operand.tensor, 0, a, b), -1, a);
      operand.labels.erase(operand.labels.begin() + b);
    }
  }
  return operand;
}

/// Without the dimensions that nothing else needs: summed.
Operand summed(Operand operand, const Labels& needed) {
  Dims dims;
  Labels kept;
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    if (contains(needed, operand.labels[i]))
      kept.push_back(operand.labels[i]);
    else
      dims.push_back(static_cast<std::int64_t>(i));
  }
  if (!dims.empty()) operand.tensor = sum(operand.tensor, dims);
  return {operand.tensor, kept};
}

/// Dimensions in the order of `labels`; absent ones have size 1.
Tensor arranged(const Operand& operand, const Labels& labels) {
  Dims order, sizes;
  for (int label : labels) {
    const auto place = std::find(operand.labels.begin(), operand.labels.end(), label);
    if (place != operand.labels.end()) order.push_back(place - operand.labels.begin());
    sizes.push_back(operand.size(label));
  }
  return reshape(permute(operand.tensor, order), sizes);
}

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels out;
  for (const Labels* part : parts) out.insert(out.end(), part->begin(), part->end());
  return out;
}

/// Two operands multiplied, and summed over what is not needed any more: one batched matrix product.
Operand contracted(const Operand& a, const Operand& b, const Labels& needed) {
  Labels batch, inner, left, right;
  for (int label : joined({&a.labels, &b.labels})) {
    if (contains(batch, label) || contains(inner, label) || contains(left, label) || contains(right, label))
      continue;
    const std::int64_t in_a = a.size(label), in_b = b.size(label);
    if (in_a != in_b && in_a != 1 && in_b != 1)
      fail("einsum", "a dimension has size ", in_a, " in one operand and ", in_b, " in another");
    const bool wanted = contains(needed, label);
    const bool in_both = contains(a.labels, label) && contains(b.labels, label);
    // A size of 1 that broadcasts belongs to the other operand alone; if it is summed, that is summed first.
    if (in_both && in_a == in_b)
      (wanted ? batch : inner).push_back(label);
    else if (in_both ? in_b == 1 : contains(a.labels, label))
      left.push_back(label);
    else
      right.push_back(label);
  }
  // What only one operand has and nobody needs was summed before, except for broadcast sizes.
  const auto without = [&](const Operand& x, Labels& own) {
    Labels keep = joined({&batch, &inner, &needed});
    Operand out = summed(x, keep);
    own.erase(std::remove_if(own.begin(), own.end(), [&](int l) { return !contains(needed, l); }), own.end());
    return out;
  };
  const Operand x = without(a, left), y = without(b, right);

  Dims sizes;
  const auto size_of = [&](int label) { return std::max(x.size(label), y.size(label)); };
  const auto count = [&](const Labels& labels, const Operand& operand) {
    std::int64_t n = 1;
    for (int label : labels) n *= operand.size(label);
    return n;
  };
  const Labels result = joined({&batch, &left, &right});
  for (int label : result) {
    const bool zero = x.size(label) == 0 || y.size(label) == 0;
    sizes.push_back(zero ? 0 : size_of(label));
  }
  const auto squeezed = [&](const Operand& operand, const Labels& other) {
    Operand out = operand;  // size-1 dimensions that the other operand fills
    for (std::size_t i = out.labels.size(); i-- > 0;) {
      if (!contains(other, out.labels[i])) continue;
      out.tensor = select(out.tensor, static_cast<std::int64_t>(i), 0);
      out.labels.erase(out.labels.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return out;
  };
  const Operand p = squeezed(x, right), q = squeezed(y, left);
  const Tensor first = reshape(arranged(p, joined({&batch, &left, &inner})),
                               {count(batch, p), count(left, p), count(inner, p)});
  const Tensor second = reshape(arranged(q, joined({&batch, &inner, &right})),
                                {count(batch, q), count(inner, q), count(right, q)});
  return {reshape(bmm(first, second), sizes), result};
}

}  // namespace

Tensor einsum(std::string_view equation, const TensorList& tensors) {
  if (tensors.empty()) fail("einsum", "expected at least one operand");
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined()) fail("einsum", "an operand is undefined");
  }
  const Equation parsed = parse(equation, tensors);
  const auto needed_after = [&](std::size_t i) {
    Labels labels = parsed.output;
    for (std::size_t k = i + 1; k < tensors.size(); ++k) labels = joined({&labels, &parsed.inputs[k]});
    return labels;
  };
  Operand result = with_unique_labels({tensors[0], parsed.inputs[0]});
  result = summed(result, needed_after(0));
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    const Labels later = needed_after(i);
    const Operand next = with_unique_labels({tensors[i], parsed.inputs[i]});
    result = contracted(result, summed(next, joined({&later, &result.labels})), later);
  }
  return arranged(summed(result, parsed.output), parsed.output);
}

Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other) {
  if (dims_self.size() != dims_other.size())
    fail("tensordot", "expected as many dimensions of both, got ", dims_self, " and ", dims_other);
  // Free dimensions and summed ones; a summed size of 1 broadcasts: the other operand is summed first.
  Tensor a = self, b = other;
  std::array<bool, kMaxDims> summed_a{}, summed_b{};
  Dims order_a, order_b, sizes, inner_a, inner_b;
  for (std::size_t i = 0; i < dims_self.size(); ++i) {
    const std::int64_t da = wrap_dim("tensordot", dims_self[i], self.dim());
    const std::int64_t db = wrap_dim("tensordot", dims_other[i], other.dim());
    if (self.dim() == 0 || other.dim() == 0) fail("tensordot", "a 0-d tensor has no dimension to sum over");
    if (summed_a[at(da)] || summed_b[at(db)])
      fail("tensordot", "a dimension is named twice in ", dims_self, " or ", dims_other);
    summed_a[at(da)] = summed_b[at(db)] = true;
    const std::int64_t na = a.size(da), nb = b.size(db);
    if (na != nb && na != 1 && nb != 1) {
      fail("tensordot", "dimension ", da, " of ", self, " and dimension ", db, " of ", other, " differ");
    }
    if (na != nb && na == 1) b = sum(b, db, true);
    if (na != nb && nb == 1) a = sum(a, da, true);
    inner_a.push_back(da);
    inner_b.push_back(db);
  }
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (summed_a[at(d)]) continue;
    order_a.push_back(d);
    sizes.push_back(self.size(d));
  }
  const std::int64_t rows = product(sizes);
  std::int64_t columns = 1, inner = 1;
  for (std::size_t i = 0; i < inner_a.size(); ++i) {
    order_a.push_back(inner_a[i]);
    order_b.push_back(inner_b[i]);
    inner *= a.size(inner_a[i]);
  }
  for (std::int64_t d = 0; d < other.dim(); ++d) {
    if (summed_b[at(d)]) continue;
    order_b.push_back(d);
    sizes.push_back(other.size(d));
    columns *= other.size(d);
  }
  const Tensor left = reshape(permute(a, order_a), {rows, inner}),
               right = reshape(permute(b, order_b), {inner, columns});
  return reshape(mm(left, right), sizes);
}

Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return self * other;
  if (self.size(-1) != other.size(-1))
    fail("inner", "the last dimensions of ", self, " and ", other, " differ");
  return tensordot(self, other, -1, -1);
}

Tensor kron(const Tensor& self, const Tensor& other) {
  const std::int64_t rank = std::max(self.dim(), other.dim());
  Dims a, b, sizes;
  for (std::int64_t d = 0; d < rank; ++d) {
    const std::int64_t in_a = d - (rank - self.dim()), in_b = d - (rank - other.dim());
    const std::int64_t na = in_a < 0 ? 1 : self.size(in_a), nb = in_b < 0 ? 1 : other.size(in_b);
    a.push_back(na);
    a.push_back(1);
    b.push_back(1);
    b.push_back(nb);
    sizes.push_back(na * nb);
  }
  return reshape(reshape(self, a) * reshape(other, b), sizes);
}

}  // namespace halftone
