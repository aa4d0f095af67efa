#pragma once

// Declarations in a header, one at a time, as far as the API reference's input filter has to understand them.

#include <string>

/// What a line declares.
struct Declaration {
  std::string name;  ///< "size", "operator+=", "~Guard"; empty: nothing to document
  bool is_function = false;
  bool is_override = false;
};

/// Reads a declaration, joined to one line, in class `type`; empty: in a namespace.
Declaration parse_declaration(const std::string& text, const std::string& type);

/// Makes `double a = 0, b = 0;  ///< both` one declaration for each name, with that comment, because Doxygen
/// gives it to one of them. Without a comment of its own the line shares `above`, which stands before it.
/// False: there is just one name, or no comment.
bool split_names(std::string& line, const std::string& above);
