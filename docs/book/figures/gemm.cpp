// How a product is cut up: tile, block of k, packed A and B, the micro-kernel's registers.

#include "halftone/docs/book/figures/figures.h"
#include "halftone/examples/support/svg.h"

namespace {

void matrix(Svg& svg, Svg::Point corner, double width, double height, const char* name) {
  svg.frame(corner, width, height, "faint");
  svg.text({corner.first, corner.second - 8}, name);
}

}  // namespace

std::string gemm_figure() {
  Svg svg(720, 400, "The blocks of a packed matrix product");
  // A on the left, B above C; k runs to the right in A and downwards in B.
  matrix(svg, {40, 190}, 170, 170, "A (m, k)");
  matrix(svg, {250, 30}, 200, 130, "B (k, n)");
  matrix(svg, {250, 190}, 200, 170, "C (m, n)");

  svg.bar({90, 190}, 50, 110, "faint");
  svg.bar({90, 220}, 50, 16, "one");
  svg.bar({250, 75}, 140, 40, "faint");
  svg.bar({290, 75}, 30, 40, "two");
  svg.frame({250, 190}, 140, 110, "ink");
  svg.bar({290, 220}, 30, 16, "three");
  svg.line({140, 228}, {290, 228}, "one", 1, true);
  svg.line({305, 115}, {305, 220}, "two", 1, true);

  svg.text({40, 380}, "grey in A: packed, stays in the second-level cache");
  svg.text({470, 60}, "a block of k words of B,", Svg::Anchor::kStart);
  svg.text({470, 78}, "packed in panels as wide", Svg::Anchor::kStart);
  svg.text({470, 96}, "as two vectors", Svg::Anchor::kStart, "two");
  svg.text({470, 215}, "a tile of C: one task", Svg::Anchor::kStart);
  svg.text({470, 250}, "the micro-kernel:", Svg::Anchor::kStart, "three");
  svg.text({470, 268}, "some rows of A times", Svg::Anchor::kStart, "one");
  svg.text({470, 286}, "one panel of B, all sums", Svg::Anchor::kStart);
  svg.text({470, 304}, "in registers while k runs", Svg::Anchor::kStart);
  return svg.str();
}
