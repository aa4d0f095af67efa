// What the pages have in common: their frame and their style.

#include "halftone/amp/html_page.h"

#include "halftone/engine/error.h"

namespace halftone::amp {
namespace {

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --paper: #fff; --ink: #1c1e21; --faint: #6a7078; --line: #d9dce1; --card: #f6f7f9;
  --blue: #2f6fde; --orange: #c4621a; --green: #3a8f4f; --purple: #8a4fc4; --bad: #c62f3b; }
@media (prefers-color-scheme: dark) { :root { --paper: #15171a; --ink: #e6e8eb; --faint: #9aa1ab; --line: #33383f;
  --card: #1d2024; --blue: #6fa3ff; --orange: #f0975a; --green: #6cc784; --purple: #c09bf0; --bad: #ff7780; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p.note { color: var(--faint); margin: .2rem 0 .6rem; }
ul.facts { display: flex; flex-wrap: wrap; gap: .5rem; list-style: none; padding: 0; }
ul.facts li { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .4rem .7rem; }
ul.facts b { display: block; font-size: 1.1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: auto; background: var(--card); border: 1px solid var(--line); }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.rule { stroke: var(--faint); stroke-dasharray: 4 3; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-size: .85rem; color: var(--faint); overflow-wrap: anywhere; }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 .8em; }
)css";

}  // namespace

std::string html_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string html_page(const std::string& title, const std::string& style, const std::string& body) {
  return concat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      html_escaped(title), "</title>\n<style>", kStyle, style, "</style>\n</head>\n<body>\n<h1>",
      html_escaped(title), "</h1>", body, "\n</body>\n</html>\n");
}

}  // namespace halftone::amp
