#pragma once

#include <string>

namespace halftone::amp {

/// Text as it may stand between tags and in quoted attributes.
std::string html_escaped(const std::string& text);

/// A page on its own, for phones and dark mode too: nothing is fetched. `style` comes after the shared one,
/// which has colours (--paper, --ink, --faint, --line, --card, --blue, --orange, --green, --purple, --bad),
/// tables, pictures, and lists of facts. `body` is HTML.
std::string html_page(const std::string& title, const std::string& style, const std::string& body);

}  // namespace halftone::amp
