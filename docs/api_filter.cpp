// The input filter of Doxygen (docs/Doxyfile.in): `api_filter SOURCE_DIR HEADER` prints the header with a
// comment before declarations that have none, from where the thing is said already:
//
// - an overload shares the comment of the one above it, a member of a group that of the group;
// - a function, or a method of Tensor, has that of the function of its name in engine/, or else the
// operator's line
//   in the registry, with its policy;
// - constructors, forward() and call operators have the comment of their class;
// - a member that its class's comment names (with parentheses, if it is a function) has the sentence that
// does;
// - a name that means the same everywhere has its line in docs/api_names.txt.
//
// What is left, Doxygen warns about. Lines keep their numbers. Declarations are found by their indentation,
// which clang-format sees to.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "halftone/docs/api_filter/declaration.h"
#include "halftone/halftone.h"

using namespace halftone;

namespace {

using Names = std::map<std::string, std::string>;  // what each means

/// A class that is being read.
struct Type {
  std::size_t indent;
  std::string name, comment;
};

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail("api_filter", "cannot read ", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::size_t indent_of(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// The sentence about a member in its class's comment, or nothing: one that begins with its name ("eps, beta:
/// ..."), or else one that has its name as a word of its own, and does not begin with others.
std::string sentence_about(const Declaration& member, const std::string& comment) {
  const std::regex word("(^|\\W)" + member.name + (member.is_function ? "\\(\\)" : "(?![\\w(])"));
  static const std::regex end(R"([.;]\s+|\n\n|\n- )"), keys(R"(^((?:\w+(?:, | and |,? or ))*\w+):\s)");
  std::string mentioned;
  for (std::sregex_token_iterator it(comment.begin(), comment.end(), end, -1), last; it != last; ++it) {
    const std::string sentence = *it;
    std::smatch begin;
    const bool has_keys = std::regex_search(sentence, begin, keys);
    if (has_keys && std::regex_search(begin[1].str(), word)) return sentence;
    if (!has_keys && mentioned.empty() && std::regex_search(sentence, word)) mentioned = sentence;
  }
  return mentioned;
}

/// "relu" of "relu_", whose result is written into its first argument, and of "relu_out".
std::string plain_name(std::string name) {
  if (name.size() > 4 && name.ends_with("_out")) name.resize(name.size() - 4);
  if (name.size() > 1 && name.ends_with('_')) name.pop_back();
  return name;
}

/// Where comments come from.
struct Sources {
  Names functions;  // comments in the headers of engine/ that list functions
  Names names;      // docs/api_names.txt, for this header

  std::string of_function(const std::string& name) const {
    if (const auto found = functions.find(name); found != functions.end()) return found->second;
    if (const ops::OpInfo* op = ops::find_operator(name))
      return concat(op->doc, ". Policy under autocast: ", amp::precision_name(op->precision), ".");
    const std::string plain = plain_name(name);
    if (const ops::OpInfo* op = ops::find_operator(plain))
      return concat(op->doc,
                    name.ends_with('_') ? ", in place. Autocast leaves it alone." : ", written into `out`.");
    for (const Names* said : {&functions, &names}) {
      if (const auto found = said->find(plain); found != said->end())
        return found->second + (plain == name ? "" : " In place.");
    }
    return {};
  }

  std::string of(const Declaration& declared, const Type* type) const {
    const std::string& name = declared.name;
    if (!type) return declared.is_function ? of_function(name) : std::string();
    if (declared.is_function) {
      if (name == type->name || name == "forward" || name == "operator()")
        return type->comment.substr(0, type->comment.find("\n\n"));
      const std::string found = type->name == "Tensor" ? of_function(name) : std::string();
      if (!found.empty()) return found;
    }
    const std::string found = declared.is_override ? std::string() : sentence_about(declared, type->comment);
    if (!found.empty()) return found;
    const auto usual = names.find(name);
    return usual == names.end() ? std::string() : usual->second;
  }
};

/// Puts comments from `sources` into a header's lines. Returns the comments of functions in namespaces.
Names comment(std::vector<std::string>& lines, const Sources& sources) {
  static const std::regex class_head(R"(^(?:class|struct|union) (?:\[\[\w+\]\] )?(\w+)\b(?:.*[^;])?$)"),
      breaks("\n+");
  Names functions;
  std::vector<Type> types;
  std::string above, group, last_name, last_comment;  // group: what is said of all between @{ and @}
  std::size_t first = lines.size();  // line of a declaration: `template` stands before the rest

  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t indent = indent_of(lines[i]);
    const std::string text = lines[i].substr(indent);
    if (text.empty()) {
      last_name.clear();
      above.clear();
    }
    if (!types.empty() && indent == types.back().indent && text.starts_with("}")) types.pop_back();
    if (indent != (types.empty() ? 0 : types.back().indent + 2)) continue;
    if (text.starts_with("///") && !text.starts_with("///<")) {
      if (text.starts_with("/// @{")) group = std::exchange(above, "");
      if (text.starts_with("/// @}")) group.clear();
      if (text.starts_with("/// @")) continue;
      const std::string words = text.size() > 4 ? text.substr(4) : std::string();
      above += words.empty() ? "\n\n" : (above.empty() ? "" : "\n") + words;
      continue;
    }
    if (text.starts_with("template <") || text.starts_with("requires requires")) {
      first = std::min(first, i);
      continue;
    }
    std::smatch match;
    if (std::regex_match(text, match, class_head)) {
      types.push_back({indent, match[1], std::exchange(above, "")});
      last_name.clear();
      first = lines.size();
      continue;
    }

    std::string declaration = text;
    for (std::size_t k = i + 1; k < lines.size() && indent_of(lines[k]) > indent; ++k) {
      if (std::string(";{}").find(declaration.back()) != std::string::npos) break;
      declaration += ' ' + lines[k].substr(indent_of(lines[k]));
    }
    const Type* type = types.empty() ? nullptr : &types.back();
    const Declaration declared = parse_declaration(declaration, type ? type->name : std::string());
    const bool is_split = !declared.is_function && split_names(lines[i], above);
    if (!declared.name.empty() && !is_split) {
      first = std::min(first, i);
      if (above.empty() && declaration.find("///<") == std::string::npos) {
        const bool is_overload = declared.name == last_name && !last_comment.empty();
        above = !group.empty() ? group : is_overload ? last_comment : sources.of(declared, type);
        const std::string inserted = "/** " + std::regex_replace(above, breaks, " ") + " */ ";
        if (!above.empty()) lines[first].insert(indent, inserted);
      }
      if (!type && declared.is_function && !above.empty()) functions.emplace(declared.name, above);
      last_name = declared.name;
      last_comment = above;
      first = lines.size();
    }
    above.clear();
  }
  return functions;
}

/// The sections of docs/api_names.txt whose pattern the path of the header begins with.
Names read_names(const std::string& path, const std::string& header) {
  Names names;
  bool applies = false;
  for (const std::string& line : read_lines(path)) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(": ");
    if (line[0] == '[') {
      applies = std::regex_search(header, std::regex("^" + line.substr(1, line.size() - 2)));
    } else if (colon == std::string::npos) {
      fail("api_filter", path, ": expected 'name: meaning', got: ", line);
    } else if (applies) {
      names[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) fail("usage", "api_filter SOURCE_DIR HEADER");
  const std::string source_dir = argv[1], header = argv[2];
  Sources sources;
  for (const char* listed : {"functions", "composed_functions", "nn_functions"}) {
    std::vector<std::string> lines = read_lines(concat(source_dir, "/engine/", listed, ".h"));
    sources.functions.merge(comment(lines, sources));
  }
  const bool is_below = header.starts_with(source_dir + "/");
  const std::string path = is_below ? header.substr(source_dir.size() + 1) : header;
  sources.names = read_names(source_dir + "/docs/api_names.txt", path);
  std::vector<std::string> lines = read_lines(header);
  comment(lines, sources);
  for (const std::string& line : lines) std::cout << line << '\n';
  return 0;
} catch (const std::exception& error) {
  std::printf("/** @file\n * @api_filter_failed %s */\n",
              error.what());  // Doxygen sees no exit status: a warning
  return 1;
}
