// book_figures FOLDER         draws all figures of the book into the folder
// book_figures --check FOLDER says whether they are there and as this program draws them

#include "halftone/docs/book/figures/figures.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

#include "halftone/amp/trace.h"

namespace {

struct Figure {
  const char* name;
  std::string (*draw)();
};

constexpr Figure kFigures[] = {
    {"spacing", spacing_figure},
    {"gradients", gradients_figure},
    {"tape", tape_figure},
    {"controller", controller_figure},
    {"scale_history", scale_history_figure},
    {"stalled", stalled_figure},
    {"accumulation", accumulation_figure},
    {"gemm", gemm_figure},
};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run(bool check, const std::string& folder) {
  int wrong = 0;
  for (const Figure& figure : kFigures) {
    const std::string path = folder + "/" + figure.name + ".svg", drawn = figure.draw();
    if (read(path) == drawn) continue;
    if (check) {
      std::printf("%s is not what the program draws; the target update_book draws it again\n", path.c_str());
      ++wrong;
    } else {
      halftone::amp::write_text_file(path, drawn);
    }
  }
  return wrong ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const bool check = argc == 3 && std::string(argv[1]) == "--check";
  if (argc != 2 && !check) {
    std::fputs("usage: book_figures [--check] FOLDER\n", stderr);
    return 2;
  }
  return run(check, argv[argc - 1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "book_figures: %s\n", error.what());
  return 1;
}
