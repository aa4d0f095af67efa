// Whole training steps and small overheads, each library in a process of its own; the processes take turns.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "halftone/bench/peers/report.h"
#include "halftone/bench/support/work.h"
#include "halftone/engine/error.h"
#include "halftone/kernels/cpu/isa.h"

extern char** environ;

namespace peers {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// A worker process, see worker.cpp. Ends with this object.
class Worker {
 public:
  Worker(const std::string& program, const std::vector<std::string>& arguments,
         const Environment& environment) {
    int to[2], from[2];
    // Closed in the other workers, so that each sees the end of its own.
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
      halftone::fail("bench_peers", "cannot make a pipe");
    process_ = fork();
    if (process_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      // Presets that make OpenBLAS take a slower kernel than the processor's own.
      unsetenv("OPENBLAS_CORETYPE");
      unsetenv("OPENBLAS_L2_SIZE");
      std::vector<char*> argv{const_cast<char*>(program.c_str())};
      for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      execv(program.c_str(), argv.data());
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    commands_ = fdopen(to[1], "w");
    answers_ = fdopen(from[0], "r");
  }
  ~Worker() {
    std::fclose(commands_);
    std::fclose(answers_);
    waitpid(process_, nullptr, 0);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  struct Answer {
    double seconds = 0;
    long switches = 0, bytes = 0;
    double loss = 0;
  };
  Answer run(long steps) {
    std::fprintf(commands_, "%ld\n", steps);
    std::fflush(commands_);
    Answer answer;
    if (std::fscanf(answers_, "%lf %ld %ld %lf", &answer.seconds, &answer.switches, &answer.bytes,
                    &answer.loss) != 4)
      halftone::fail("bench_peers", "a worker process ended before it answered");
    return answer;
  }
  /// Steps that take 25 ms or more together; runs some, so everything is warm afterwards.
  void calibrate() {
    run(2);
    for (steps_ = 1; run(steps_).seconds * static_cast<double>(steps_) < 25e-3; steps_ *= 2) {
    }
  }
  /// A sample that was not preempted, as far as a few attempts yield one.
  double sample() {
    for (int attempt = 0; attempt < 5; ++attempt) {
      last_ = run(steps_);
      if (last_.switches == 0) break;
    }
    usleep(5000);  // this library's waiting threads stop spinning before the next one begins
    return last_.seconds;
  }
  long peak_bytes() const { return last_.bytes; }

 private:
  pid_t process_;
  std::FILE* commands_;
  std::FILE* answers_;
  long steps_ = 1;
  Answer last_;
};

struct Runner {
  std::string name, program;
  Environment environment;
};

/// Halftone; libtorch as it is installed; and libtorch with the settings that were found to help it: one pool
/// of threads instead of two, and a malloc that does not return memory to the system.
std::vector<Runner> runners(const Request& request, int threads) {
  const std::string count = std::to_string(threads);
  const Environment plain{{"OMP_NUM_THREADS", count}, {"OPENBLAS_NUM_THREADS", count}};
  std::vector<Runner> all{{"halftone", request.folder + "/bench_worker_halftone", plain}};
  const std::string libtorch = request.folder + "/bench_worker_libtorch";
  if (!std::filesystem::exists(libtorch)) return all;
  all.push_back({"libtorch", libtorch, plain});
  Environment tuned = plain;
  tuned.push_back({"GLIBC_TUNABLES",
                   "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=8589934592:"
                   "glibc.malloc.top_pad=268435456"});
  const std::string one_pool = "/usr/lib/x86_64-linux-gnu/openblas-openmp";
  if (std::filesystem::exists(one_pool)) tuned.push_back({"LD_LIBRARY_PATH", one_pool});
  all.push_back({"libtorch tuned", libtorch, tuned});
  return all;
}

struct Outcome {
  std::vector<Runner> runners;
  std::vector<double> seconds;  // the ceiling's, then the runners'
  std::vector<long> bytes;
};

Outcome compare(const Request& request, const std::vector<std::string>& arguments, int threads, bool bf16,
                double flops) {
  Outcome outcome{runners(request, threads), {}, {}};
  halftone::set_num_threads(threads);
  std::vector<Contender> all{ceiling(bf16 ? bench::bf16_unit() : bench::fp32_unit(), flops)};
  std::vector<std::shared_ptr<Worker>> workers;
  for (const Runner& runner : outcome.runners) {
    auto worker = std::make_shared<Worker>(runner.program, arguments, runner.environment);
    worker->calibrate();
    workers.push_back(worker);
    all.push_back({runner.name, [worker] { return worker->sample(); }});
  }
  outcome.seconds = median_times(all, threads);
  for (const auto& worker : workers) outcome.bytes.push_back(worker->peak_bytes());
  return outcome;
}

struct Case {
  const char *name, *model, *optimizer;
  double fp32, bf16;         // most times the floor that the targets allow on one thread; 0: none
  double most_microseconds;  // or the most microseconds in fp32, 1.3 times that in bf16; 0: none
};

constexpr Case kCases[] = {
    {"MLP 784-512-512-10, batch 128", "mlp", "sgd", 1.25, 1.5, 0},
    {"MLP 784-512-512-10, batch 128", "mlp", "adamw", 1.4, 2.0, 0},
    {"tiny MLP 16-32-1, batch 32", "tiny", "sgd", 0, 0, 10},
    {"tiny MLP 16-32-1, batch 32", "tiny", "adamw", 0, 0, 14},
    {"CNN 1-32-64, 28x28, batch 64", "cnn", "sgd", 1.4, 1.7, 0},
    {"CNN 1-32-64, 28x28, batch 64", "cnn", "adamw", 1.4, 1.7, 0},
    {"char-GPT 4x128, context 128, batch 16", "gpt", "adamw", 1.4, 1.7, 0},
};

Table step_table(const Request& request, int threads) {
  Table table{halftone::concat("Training steps, ", threads, " thread", threads > 1 ? "s" : ""),
              "Milliseconds per step; the floor is what the step's multiply-adds take at the ceiling of the "
              "same run. "
              "Targets: times the floor on one thread as given; 1.4 times as fast as libtorch as it is "
              "installed, and "
              "faster than libtorch tuned.",
              {}};
  for (const Case& c : kCases) {
    for (const bool bf16 : {false, true}) {
      const Outcome o =
          compare(request, {c.model, c.optimizer, bf16 ? "bf16" : "fp32", std::to_string(threads)}, threads,
                  bf16, bench::step_model(c.model)->flops());
      const double floor = o.seconds[0], own = o.seconds[1];
      Table::Row row{{"model", c.name}, {"optimizer", c.optimizer}, {"precision", bf16 ? "bf16" : "fp32"}};
      for (std::size_t i = 0; i < o.runners.size(); ++i)
        row[o.runners[i].name + " ms"] = 1e3 * o.seconds[i + 1];
      bool met = true;
      row["times the floor"] = own / floor;
      row["target"] = nullptr;
      const double most = bf16 ? c.bf16 : c.fp32;
      if (threads == 1 && most > 0) row["target"] = most, met = own <= most * floor;
      if (threads == 1 && c.most_microseconds > 0) {
        const double seconds = (bf16 ? 1.3 : 1.0) * c.most_microseconds * 1e-6;
        row["target"] = halftone::concat(std::round(1e7 * seconds) / 10, " us");
        met = own <= seconds;
      }
      if (o.runners.size() > 2) {
        row["libtorch / halftone"] = o.seconds[2] / own;
        row["tuned / halftone"] = o.seconds[3] / own;
        met = met && o.seconds[2] >= 1.4 * own && o.seconds[3] > own;
        row["peak MB"] = static_cast<double>(o.bytes[0]) / 1e6;
        row["libtorch peak MB"] = static_cast<double>(o.bytes[1]) / 1e6;
      }
      row["met"] = met ? "yes" : "no";
      table.add(std::move(row));
    }
  }
  return table;
}

}  // namespace

std::vector<Table> step_tables(const Request& request) {
  std::vector<Table> tables;
  for (const int threads : request.threads) tables.push_back(step_table(request, threads));
  return tables;
}

std::vector<Table> overhead_tables(const Request& request) {
  struct Small {
    const char *name, *what;
    double repeats, target_ns;
  };
  constexpr Small kSmall[] = {{"recording an addition of one element", "add", 1, 100},
                              {"the same with its backward, in a chain of 100", "chain", 100, 250},
                              {"AdamW on 10 x 1,000,000 parameters, per parameter", "parameters", 1e7, 0}};
  Table table{"Overhead, 1 thread", "Nanoseconds each.", {}};
  for (const Small& small : kSmall) {
    const Outcome o = compare(request, {small.what, "-", "fp32", "1"}, 1, false, 1);
    Table::Row row{{"what", small.name}};
    for (std::size_t i = 0; i < o.runners.size(); ++i)
      row[o.runners[i].name] = 1e9 * o.seconds[i + 1] / small.repeats;
    row["target"] = small.target_ns > 0 ? nlohmann::ordered_json(small.target_ns) : nlohmann::ordered_json();
    table.add(std::move(row));
  }
  return {table};
}

}  // namespace peers
