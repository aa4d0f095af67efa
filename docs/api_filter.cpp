// The input filter of Doxygen (docs/Doxyfile.in) for the headers that list operators: `api_filter HEADER`
// prints the header with a comment before every function that has none. An overload shares the comment above
// it; an operator's is its line in the registry with its policy. Lines keep their numbers.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <regex>
#include <string>

#include "halftone/halftone.h"

using namespace halftone;

namespace {

/// "relu" of "relu_", whose result is written into its first argument.
std::string out_of_place(const std::string& name) {
  return name.size() > 1 && name.back() == '_' ? name.substr(0, name.size() - 1) : name;
}

std::string text_of(const std::string& name) {
  const bool has_out = name.size() > 4 && name.compare(name.size() - 4, 4, "_out") == 0;
  const std::string base = has_out ? name.substr(0, name.size() - 4) : name;
  const ops::OpInfo* op = ops::find_operator(base);
  if (!op) op = ops::find_operator(out_of_place(base));
  if (!op) return "libtorch's function of that name, composed of other operators or another name of one.";
  if (has_out) return concat(op->doc, ", written into `out`.");
  if (op->name != base) return concat(op->doc, ", in place. Autocast leaves it alone.");
  return concat(op->doc, ". Policy under autocast: ", amp::precision_name(op->precision), ".");
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream header(argc == 2 ? argv[1] : "");
  if (!header) {
    std::fprintf(stderr, "usage: api_filter HEADER\n");
    return 2;
  }
  const std::regex declaration(R"(^(?:inline )?[\w:<>,& ]+?[&>\w] (\w+)\(.*)");
  const std::regex not_one(R"(^(?:using|return|namespace|struct|class|template|else|if|for)\b.*)");
  std::string comment, last_name, last_comment;
  bool in_group = false;
  for (std::string line; std::getline(header, line);) {
    std::smatch match;
    if (line.rfind("///", 0) == 0) {
      if (line.find("@{") != std::string::npos) in_group = true;
      if (line.find("@}") != std::string::npos) in_group = false;
      comment += line.substr(3);
    } else if (std::regex_match(line, match, declaration) && !std::regex_match(line, not_one)) {
      const std::string name = match[1];
      if (comment.empty() && !in_group) {
        comment = out_of_place(name) == out_of_place(last_name) ? last_comment : text_of(name);
        line = "/** " + comment + " */ " + line;
      }
      last_name = name;
      last_comment = comment;
      comment.clear();
    } else {
      comment.clear();
      if (line.empty()) last_name.clear();
    }
    std::cout << line << '\n';
  }
  return 0;
}
