// The tape of a small layer under autocast, drawn from the tape itself.

#include <algorithm>
#include <map>

#include "halftone/docs/book/figures/figures.h"
#include "halftone/examples/support/svg.h"
#include "halftone/halftone.h"

using namespace halftone;

namespace {

/// All nodes that `node` leads to, with the longest way from there to the loss.
void visit(const autograd::Node* node, int depth, std::map<const autograd::Node*, int>& depths) {
  const auto [place, is_new] = depths.emplace(node, depth);
  if (!is_new && place->second >= depth) return;
  place->second = depth;
  for (const autograd::Edge& edge : node->next_edges()) {
    if (edge) visit(edge.node.get(), depth + 1, depths);
  }
}

/// Of a leaf: the parameter's.
std::string name_of(const autograd::Node* node) {
  return node->is_accumulator() ? static_cast<const autograd::TensorMeta*>(node)->name : node->name();
}

std::string label(const autograd::Node* node, std::uint64_t first) {
  if (node->is_accumulator()) return name_of(node);
  return name_of(node) + "  #" + std::to_string(node->sequence_nr() - first + 1);
}

}  // namespace

std::string tape_figure() {
  nn::Linear layer(4, 3);
  optim::SGD names(layer->named_parameters(), optim::SGDOptions(0.1));  // gives the leaves their names
  Tensor loss;
  {
    const amp::Autocast autocast(kCPU, kHalf);
    loss = layer->forward(ones({2, 4})).relu().sum();
  }
  std::map<const autograd::Node*, int> depths;
  visit(autograd::grad_fn(loss), 0, depths);

  // Nodes in the order in which backward runs them.
  std::vector<const autograd::Node*> nodes;
  for (const auto& entry : depths) nodes.push_back(entry.first);
  std::sort(nodes.begin(), nodes.end(), [](const autograd::Node* a, const autograd::Node* b) {
    if (a->is_accumulator() != b->is_accumulator()) return !a->is_accumulator();
    return a->is_accumulator() ? name_of(a) > name_of(b) : a->sequence_nr() > b->sequence_nr();
  });
  std::uint64_t first = ~std::uint64_t{0};
  for (const autograd::Node* node : nodes) {
    if (!node->is_accumulator()) first = std::min(first, node->sequence_nr());
  }
  std::map<int, int> used;
  std::map<const autograd::Node*, Svg::Point> places;
  for (const autograd::Node* node : nodes) {
    const int depth = depths[node], row = used[depth]++;
    places[node] = {20.0 + 140 * depth, 40.0 + 90 * row};
  }
  Svg svg(720, 200, "The nodes and edges recorded for linear, relu and sum under autocast");
  for (const autograd::Node* node : nodes) {
    const auto [x, y] = places[node];
    svg.frame({x, y}, 116, 40, node->is_accumulator() ? "three" : "one");
    svg.text({x + 58, y + 25}, label(node, first), Svg::Anchor::kMiddle);
    for (const autograd::Edge& edge : node->next_edges()) {
      if (!edge) continue;
      const auto [to_x, to_y] = places[edge.node.get()];
      svg.arrow({x + 116, y + 20}, {to_x, to_y + 20}, "ink");
    }
  }
  svg.text({20, 185}, "An edge leads to where the gradient goes: always to a smaller number. Green: leaves.");
  return svg.str();
}
