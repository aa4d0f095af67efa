#pragma once

namespace CLI {
class App;
}

// The subcommands of `halftone`, one source file each. Every function adds its subcommand to the program;
// what it does runs when the command line has been read. It writes to standard output and throws when it
// cannot do its work.
namespace halftone::tool {

/// `halftone ops`: the operators and their precision policies.
void add_ops(CLI::App& app);
/// `halftone info`: this machine, and what is compiled in.
void add_info(CLI::App& app);
/// `halftone bench`: operators beside this machine's own ceilings, and two such results compared.
void add_bench(CLI::App& app);

/// `halftone trace`: a recorded trace, or two of them side by side.
void add_trace(CLI::App& app);
/// `halftone inspect`: the tensors of a file.
void add_inspect(CLI::App& app);

}  // namespace halftone::tool
