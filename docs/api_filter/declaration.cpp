#include "halftone/docs/api_filter/declaration.h"

#include <regex>
#include <vector>

namespace {

/// The text without what stands between angle brackets.
std::string without_template_arguments(const std::string& text) {
  std::string result;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_arrow = text[i] == '>' && i > 0 && text[i - 1] == '-';
    if (text[i] == '<') ++depth;
    if (depth == 0) result += text[i];
    if (text[i] == '>' && !is_arrow && depth > 0) --depth;
  }
  return result;
}

bool is_constructor(const std::string& text, const std::string& type) {
  const bool has_condition = text.rfind("requires", 0) == 0;  // may stand on the same line, with "=" inside
  const std::string head = has_condition ? text : text.substr(0, text.find_first_of("{="));
  return std::regex_search(head, std::regex("(^|[ )])" + type + "\\("));
}

Declaration named(const std::string& text, const std::string& type) {
  static const std::regex other(
      R"(^(?:[#{}]|//|namespace\b|typedef\b|static_assert\b|extern\b).*|.*= delete;.*)");
  static const std::regex option(R"(^HALFTONE_ARG\(.*,\s*(\w+)\).*)");
  static const std::regex type_name(R"(^(?:using|enum class|enum)\s+(\w+)\b.*)");
  static const std::regex op(R"(.*?\boperator\s*(\(\)|[^\s\w(]+|[\w:&*]+(?: [\w&*]+)*)\s*\(.*)");
  static const std::regex function(R"(.*?(~?\w+)\s*\(.*)");
  static const std::regex variable(R"(.*?\b(\w+)\s*(?:,.*|=.*|\{.*\}.*|\[.*)?;.*)");
  std::smatch match;
  if (text.empty() || std::regex_match(text, other)) return {};
  if (std::regex_match(text, match, option)) return {match[1]};
  if (std::regex_match(text, match, type_name)) return {match[1]};
  if (!type.empty() && is_constructor(text, type)) return {type, true};
  if (std::regex_match(text, match, op)) return {"operator" + match[1].str(), true};
  if (text.rfind("requires", 0) == 0) return {};
  const std::string bare = without_template_arguments(text), head = bare.substr(0, bare.find('='));
  if (std::regex_match(head, match, function)) return {match[1], true};
  if (std::regex_match(bare, match, variable)) return {match[1]};
  return {};
}

}  // namespace

Declaration parse_declaration(const std::string& text, const std::string& type) {
  static const std::regex overrides(R"(\boverride\b)");
  Declaration declaration = named(text, type);
  declaration.is_override = std::regex_search(text, overrides);
  return declaration;
}

bool split_names(std::string& line, const std::string& above) {
  const std::size_t trailing = line.find("///<");
  const bool has_own = trailing != std::string::npos;
  std::string comment = has_own ? line.substr(trailing + 4) : above;
  if (comment.empty()) return false;
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : line.substr(0, line.find(';'))) {
    depth += (c == '<' || c == '(' || c == '{') - (c == '>' || c == ')' || c == '}');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  static const std::regex typed(R"((\s*(?:mutable )?[\w:]+(?:<.*>)? )(\w+.*))"), breaks("\n+");
  std::smatch match;
  if (parts.size() == 1 || !std::regex_match(parts[0], match, typed)) return false;
  const std::string type = match[1], first = match[2];
  parts[0] = first;
  comment = "/** " + std::regex_replace(comment, breaks, " ") + " */ ";
  line.clear();
  for (const std::string& part : parts) {
    if (has_own || !line.empty()) line += comment;
    line += type + part + "; ";
  }
  return true;
}
