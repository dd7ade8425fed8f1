// What the command refuses: status 2, nothing on standard output, one line that names the option,
// the value and what was expected.
#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

#include "hybridmem/core/version.hpp"
#include "invoke.hpp"

using namespace hybridmem_test;

namespace {

struct Case {
  std::vector<std::string_view> arguments;
  std::string line;
};

const std::string file = HYBRIDMEM_TEST_DATA "/tool/hybrid.json";
const std::string source_directory = HYBRIDMEM_SOURCE_DIR;
const std::string not_json = HYBRIDMEM_SOURCE_DIR "/CMakeLists.txt";

void check(const std::vector<Case>& cases) {
  for (const Case& refused : cases) {
    const Outcome outcome = invoke(refused.arguments);
    CHECK(outcome.err == refused.line + "\n");
    CHECK(outcome.status == 2);
    CHECK(outcome.out == "");
  }
}

std::vector<Case> with(std::vector<std::string_view> first, const std::string& prefix,
                       std::vector<Case> rest) {
  for (Case& each : rest) {
    each.arguments.insert(each.arguments.begin(), first.begin(), first.end());
    each.line = prefix + each.line;
  }
  return rest;
}

/// A device that is full.
class FullBuffer : public std::streambuf {
 protected:
  int_type overflow(int_type /*character*/) override { return traits_type::eof(); }
  int sync() override { return -1; }
};

}  // namespace

TEST_CASE("a missing or unknown command is refused") {
  check({
      {{}, "hybridmem: no command: expected models, layout, plan or compare (hybridmem --help)"},
      {{"frobnicate"},
       "hybridmem: unknown command frobnicate: expected models, layout, plan or compare"},
      {{"two\nlines"},
       "hybridmem: unknown command two?lines: expected models, layout, plan or compare"},
      {{"--frobnicate"},
       "hybridmem: unknown option --frobnicate: expected one of those in hybridmem --help"},
  });
}

TEST_CASE("an argument that no option takes is refused") {
  check({
      {{"layout", "falcon-h1-7b"},
       "hybridmem layout: unexpected argument falcon-h1-7b: expected options only"},
      {{"models", "layout"}, "hybridmem models: unexpected argument layout: expected options only"},
      {{"plan", "--budgets=3"},
       "hybridmem plan: unknown option --budgets: expected one of those in hybridmem plan --help"},
      {{"layout", "--model"}, "hybridmem layout: --model: expected a value"},
      {{"layout", "--model", "a", "--model", "b"}, "hybridmem layout: --model: expected once"},
      {{"models", "--json=maybe"}, "hybridmem models: --json = maybe: expected no value"},
  });
}

TEST_CASE("a model that cannot be found or read is refused") {
  check({
      {{"layout"},
       "hybridmem layout: --model is missing: expected a preset, a config.json, or a model in "
       "numbers (--attention-layers, --recurrent-layers, ...)"},
      {{"layout", "--model", ""},
       "hybridmem layout: --model = (nothing): expected a preset or a config.json"},
      {{"layout", "--model", "falcon-h1-7c"},
       "hybridmem layout: --model = falcon-h1-7c: expected a preset or a config.json; did you mean "
       "falcon-h1-7b? (hybridmem models lists all)"},
      {{"layout", "--model", "absent.json"},
       "hybridmem layout: --model = absent.json: expected a file that exists, or a preset"},
      {{"layout", "--model", source_directory},
       "hybridmem layout: --model = " + source_directory +
           ": expected a file, not a directory: its config.json"},
      {{"layout", "--model", "/dev/null"},
       "hybridmem layout: --model = /dev/null: expected a preset or a readable config.json"},
  });
  const Outcome outcome = invoke({"layout", "--model", not_json});
  CHECK(outcome.status == 2);
  CHECK(outcome.err.starts_with("hybridmem layout: --model = " + not_json + ": not JSON"));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
}

TEST_CASE("options of the model are checked") {
  check(with(
      {"layout", "--model", "falcon-h1-7b"}, "hybridmem layout: ",
      {
          {{"--state-dtype", "int4"},
           "--state-dtype = int4: expected auto-vllm, auto-sglang, bf16, fp16 or fp32"},
          {{"--kv-dtype", "int4"}, "--kv-dtype = int4: expected auto, bf16, fp16, fp32 or fp8"},
          {{"--tensor-parallel", "0"},
           "--tensor-parallel = 0: expected a whole number from 1 to 4096"},
          {{"--tensor-parallel", "3"},
           "--tensor-parallel = 3: expected a divisor or a multiple of the key-value heads"},
          {{"--attention-layers", "3"},
           "--attention-layers: expected either --model or a model in numbers, not both"},
      }));
}

TEST_CASE("a model in numbers is checked") {
  check(with({"layout"}, "hybridmem layout: ",
             {
                 {{"--attention-layers", "3"},
                  "--recurrent-layers is missing: expected a number of layers"},
                 {{"--recurrent-layers", "0"},
                  "--recurrent-layers = 0: expected a whole number from 1 to 65536"},
                 {{"--recurrent-layers", "3"},
                  "--recurrent-bytes = 0: expected state bytes, recurrent or convolution"},
                 {{"--recurrent-layers", "3", "--attention-layers", "3", "--conv-bytes", "1KiB"},
                  "--kv-bytes = 0: expected a positive number of bytes"},
                 {{"--recurrent-layers", "3", "--recurrent-bytes", "5GiB"},
                  "--recurrent-bytes = 5GiB: expected bytes from 0 to 4.00 GiB, as a number or "
                  "with a unit such as 512KiB"},
                 {{"--recurrent-layers", "3", "--tensor-parallel", "2"},
                  "--tensor-parallel: expected only with --model; numbers are the bytes of one "
                  "rank"},
                 {{"--recurrent-layers", "65536", "--attention-layers", "65536", "--kv-bytes",
                   "4294967295", "--recurrent-bytes", "4294967295"},
                  "state bytes over all layers: expected less than 2^63"},
             }));
}

TEST_CASE("options of the page layout are checked") {
  check(with(
      {"layout", "--model", "falcon-h1-7b"}, "hybridmem layout: ",
      {
          {{"--block-tokens", "100"},
           "--block-tokens = 100: expected a multiple of the attention alignment and of "
           "--key-tokens; nearest: 96 or 112"},
          {{"--block-tokens", "0"},
           "--block-tokens = 0: expected a whole number from 1 to 16777216"},
          {{"--block-tokens", "-512"},
           "--block-tokens = -512: expected a whole number from 1 to 16777216"},
          {{"--block-tokens", "512k"},
           "--block-tokens = 512k: expected a whole number from 1 to 16777216"},
          {{"--block-tokens", "99999999999999999999"},
           "--block-tokens = 99999999999999999999: expected a whole number from 1 to 16777216"},
          {{"--block-tokens", "16"},
           "--block-tokens = 16: expected a page (here 16384 bytes) with room for one convolution "
           "slot; nearest: 32768 bytes"},
          {{"--page-bytes", "1000"},
           "--page-bytes = 1000: expected a multiple of 256; nearest: 768 or 1024"},
          {{"--page-bytes", "1KiB"},
           "--page-bytes = 1024: expected room for one kernel block of attention; nearest: 16384"},
          {{"--page-bytes", "512XiB"},
           "--page-bytes = 512XiB: expected bytes from 1 to 1 TiB, as a number or with a unit such "
           "as 512KiB"},
          {{"--page-bytes", "1TiB", "--block-tokens", "512", "--attention-blocks-per-checkpoint",
            "1000000"},
           "--page-bytes = 1099511627776: expected pages whose mix takes less than 2^63 bytes"},
          {{"--slots", "pow3"}, "--slots = pow3: expected pow2 or exact"},
          {{"--stack-layers", "3"},
           "--stack-layers = 3: expected a common divisor of the attention and the recurrent "
           "layers; nearest: 2 or 4"},
          {{"--checkpoint-interval", "700"},
           "--checkpoint-interval = 700: expected a multiple of lcm(kernel chunk, block tokens); "
           "nearest: 512 or 1024"},
          {{"--dual-interval", "300"},
           "--dual-interval = 300: expected a multiple of lcm(kernel chunk, attention alignment); "
           "nearest: 256 or 384"},
          {{"--key-tokens", "17"}, "--key-tokens = 17: expected 16 or 32"},
      }));
  check({{{"layout", "--model", "codestral-mamba-7b", "--block-tokens", "512"},
          "hybridmem layout: --block-tokens = 512: expected no block size for a model without "
          "attention layers"}});
}

TEST_CASE("a budget must be bytes above zero or a label") {
  const std::string expected =
      ": expected a positive number of bytes with or without a unit (B, KiB to PiB, KB to PB), or "
      "the paper's b63, b83 or b108";
  check(with({"plan", "--model", "falcon-h1-7b", "--budget"}, "hybridmem plan: --budget = ",
             {
                 {{"0"}, "0" + expected},
                 {{"-5"}, "-5" + expected},
                 {{"much"}, "much" + expected},
                 {{"8Gi"}, "8Gi" + expected},
                 {{"b64"}, "b64" + expected},
                 {{"99999999TiB"}, "99999999TiB: expected less than 2^64 bytes (16 EiB)"},
                 {{"1KiB"},
                  "1KiB: expected at least 115343360 bytes (110 MiB), where paged_recurrent holds "
                  "one attention block and one checkpoint"},
             }));
  check({{{"plan", "--model", "falcon-h1-7b"},
          "hybridmem plan: --budget is missing: expected bytes such as 8GiB, or the paper's b63, "
          "b83 or b108"}});
}

TEST_CASE("a mix must be two counts of something") {
  const std::string expected =
      ": expected A,R: attention blocks and checkpoints, whole numbers, not both zero";
  std::vector<Case> cases;
  for (const char* mix : {"0,0", "1", "a,b", "1,2,3", ",1", "1,", "-1,2", "1,99999999999"})
    cases.push_back({{mix}, mix + expected});
  check(with({"plan", "--model", "falcon-h1-7b", "--budget", "8GiB", "--mix"},
             "hybridmem plan: --mix = ", cases));
  check({{{"plan", "--model", "codestral-mamba-7b", "--budget", "8GiB", "--mix", "3,0"},
          "hybridmem plan: --mix = 3,0: expected at least one attention block or checkpoint that "
          "takes storage"}});
}

TEST_CASE("sequences need a length and the other way round") {
  check(with({"plan", "--model", "falcon-h1-7b", "--budget", "8GiB"}, "hybridmem plan: ",
             {
                 {{"--sequences", "3"}, "--sequences without --length: expected both, or neither"},
                 {{"--length", "3"}, "--length without --sequences: expected both, or neither"},
                 {{"--checkpoints", "3"},
                  "--checkpoints without --sequences: expected --sequences and --length too"},
                 {{"--sequences", "0", "--length", "3"},
                  "--sequences = 0: expected a whole number from 1 to 1000000000"},
                 {{"--sequences", "1", "--length", "2000000000"},
                  "--length = 2000000000: expected a whole number from 1 to 1073741824"},
             }));
}

TEST_CASE("a split must be a fraction") {
  const std::string expected =
      ": expected a fraction from 0 to 1, the attention share of the budget";
  std::vector<Case> cases;
  for (const char* split : {"2", "-0.1", "nan", "0.5x", "half"})
    cases.push_back({{split}, split + expected});
  check(with({"plan", "--model", "falcon-h1-7b", "--budget", "8GiB", "--split"},
             "hybridmem plan: --split = ", cases));
}

TEST_CASE("help and version are answers") {
  CHECK(print({"--version"}) == std::string("hybridmem ") + hybridmem::library_version_text + "\n");
  for (const char* command : {"models", "layout", "plan", "compare"}) {
    CHECK(print({"--help"}).find(command) != std::string::npos);
    const std::string help = print({command, "--help"});
    check_readable(help);
    CHECK(help.find("--json") != std::string::npos);
    CHECK(help.find("\n\n\n") == std::string::npos);
  }
}

TEST_CASE("an output that cannot be written is a failure") {
  for (const std::vector<std::string_view>& arguments : {std::vector<std::string_view>{"models"},
                                                         {"--help"},
                                                         {"layout", "--model", file, "--json"}}) {
    FullBuffer full;
    std::ostream out(&full);
    std::ostringstream err;
    CHECK(hybridmem_tool::run(arguments, out, err) == 1);
    CHECK(err.str() == "hybridmem: the output cannot be written\n");
  }
}
