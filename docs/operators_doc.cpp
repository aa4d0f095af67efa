// Prints docs/operators.md from the registry: `operators_doc > docs/operators.md`. CI compares the two.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "halftone/halftone.h"

using namespace halftone;

namespace {

void print_table(const std::vector<const ops::OpInfo*>& rows) {
  std::puts("| operator | policy | gradient | what it computes |");
  std::puts("| --- | --- | --- | --- |");
  for (const ops::OpInfo* op : rows) {
    std::printf("| `%s`%s | `%s` | %s | %s |\n", op->signature().c_str(), op->is_view ? " (view)" : "",
                amp::precision_name(op->precision), op->gradient(), op->doc);
  }
}

}  // namespace

int main() {
  std::vector<const ops::OpInfo*> forward, backward;
  for (const ops::OpInfo* op : registry()) (op->is_backward() ? backward : forward).push_back(op);
  const auto by_name = [](const ops::OpInfo* a, const ops::OpInfo* b) {
    return std::string(a->name) < b->name;
  };
  std::sort(forward.begin(), forward.end(), by_name);
  std::sort(backward.begin(), backward.end(), by_name);

  std::puts("# Operators");
  std::puts("");
  std::puts("Printed from the registry (`docs/operators_doc.cpp`); do not edit by hand.");
  std::puts("The policy says what an operator does inside an autocast region:");
  std::puts("");
  std::puts("| policy | inputs | result |");
  std::puts("| --- | --- | --- |");
  std::puts("| `low` | cast to the autocast dtype | autocast dtype |");
  std::puts("| `fp32` | read in their own dtype, computed in fp32 | fp32 |");
  std::puts("| `fp32_inside` | read in their own dtype, computed in fp32 | the input's dtype |");
  std::puts("| `promote` | the widest of the inputs | widest |");
  std::puts("| `any` | as they are | the input's dtype |");
  std::puts("| `banned` | half inputs are refused | - |");
  std::puts("");
  std::printf("## The %zu operators\n\n", forward.size());
  print_table(forward);
  std::puts("");
  std::printf("## %zu operators used by gradient rules\n\n", backward.size());
  std::puts("They run with autocast off, in the dtypes that forward recorded.");
  std::puts("");
  print_table(backward);
}
