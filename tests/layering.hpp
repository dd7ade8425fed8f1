// What may include what: the floors of include/hybridmem/ and the rules of its README, as a
// function over a tree of files, so that it can be tried on trees that break them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hybridmem_test {

/// Bottom to top. A header includes from its own floor or one below.
inline constexpr std::array<std::string_view, 8> floors{"core", "observe",      "model",  "device",
                                                        "pool", "organization", "prefix", "cache"};

/// What kernels stand on; nothing stands on kernels.
inline constexpr std::array<std::string_view, 4> below_kernels{"core", "model", "device",
                                                               "kernels"};

/// An opt-in header, by its include name, and the foreign header that it may include.
struct OptIn {
  std::string header;  ///< "hybridmem/model/json_fields.hpp"
  std::string prefix;  ///< "nlohmann/"
};

/// Files by path relative to the root of the tree, with their text.
using SourceTree = std::map<std::string, std::string>;

struct LayeringFinding {
  std::string file;
  std::string included;  ///< empty where the file itself is misplaced
  std::string reason;
};

struct IncludeLine {
  std::string name;
  bool quoted;
};

/// The `#include` lines of a text, in order. Lines that are commented out with `//` are none.
inline std::vector<IncludeLine> includes_of(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  std::vector<IncludeLine> includes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto skip = [&](std::string_view expected) {
      line.remove_prefix(std::min(line.find_first_not_of(blank), line.size()));
      if (!line.starts_with(expected)) return false;
      line.remove_prefix(expected.size());
      return true;
    };
    if (!skip("#") || !skip("include") || !skip("") || line.empty()) continue;
    const bool quoted = line.front() == '"';
    const std::size_t close = line.find(quoted ? '"' : '>', 1);
    if ((!quoted && line.front() != '<') || close == std::string_view::npos) continue;
    includes.push_back({std::string(line.substr(1, close - 1)), quoted});
  }
  return includes;
}

/// The first directory below "hybridmem/" of an include name; none for a file that lies directly
/// there.
inline std::optional<std::string_view> floor_of(std::string_view include_name) {
  constexpr std::string_view root = "hybridmem/";
  if (!include_name.starts_with(root)) return std::nullopt;
  include_name.remove_prefix(root.size());
  const std::size_t slash = include_name.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return include_name.substr(0, slash);
}

/// How high a floor is; none for a directory that is no floor.
inline std::optional<std::size_t> height_of(std::string_view floor) {
  const auto at = std::find(floors.begin(), floors.end(), floor);
  if (at == floors.end()) return std::nullopt;
  return static_cast<std::size_t>(at - floors.begin());
}

namespace detail {

/// What is wrong with `file` (its floor, or "kernels") including `include`; empty if nothing is.
inline std::string reason_against(std::string_view name, std::string_view floor,
                                  const IncludeLine& include, const std::vector<OptIn>& opt_in) {
  const auto is_opt_in = [&](std::string_view header) {
    return std::any_of(opt_in.begin(), opt_in.end(),
                       [&](const OptIn& entry) { return entry.header == header; });
  };
  for (const std::string_view outside : {"simulator/", "tools/", "tests/", "bench/", "examples/"})
    if (include.name.starts_with(outside) ||
        include.name.find("/" + std::string(outside)) != std::string::npos)
      return "nothing in the library stands on " + std::string(outside);
  if (include.name.starts_with("hybridmem/")) {
    const auto target = floor_of(include.name);
    if (!target) return "a header of the library lies on a floor";
    if (floor == "kernels") {
      if (std::find(below_kernels.begin(), below_kernels.end(), *target) == below_kernels.end())
        return "kernels stand on core, model and device alone";
    } else if (*target == "kernels") {
      return "no floor stands on kernels";
    } else if (!height_of(*target)) {
      return "an unknown floor";
    } else if (*height_of(*target) > *height_of(floor)) {
      return "climbs from " + std::string(floor) + " to " + std::string(*target);
    }
    if (is_opt_in(include.name) && !is_opt_in(name))
      return "only an opt-in header includes an opt-in header";
    return {};
  }
  if (include.quoted) return "a header of the library is named from hybridmem/ on";
  if (floor == "kernels") return {};
  const bool standard = include.name.find_first_of("./") == std::string::npos;
  const bool allowed = std::any_of(opt_in.begin(), opt_in.end(), [&](const OptIn& entry) {
    return entry.header == name && include.name.starts_with(entry.prefix);
  });
  return standard || allowed ? "" : "not a header of the standard library";
}

}  // namespace detail

/// Every breach of the rules in the files of `tree` that lie under include/hybridmem/ or kernels/.
inline std::vector<LayeringFinding> check_layering(const SourceTree& tree,
                                                   const std::vector<OptIn>& opt_in) {
  std::vector<LayeringFinding> findings;
  for (const auto& [path, text] : tree) {
    std::string_view name = path;
    std::string_view floor = "kernels";
    if (name.starts_with("include/")) {
      name.remove_prefix(std::string_view("include/").size());
      const auto found = floor_of(name);
      if (!found || (*found != "kernels" && !height_of(*found))) {
        findings.push_back({path, "", "lies on no known floor"});
        continue;
      }
      floor = *found;
    } else if (!name.starts_with("kernels/")) {
      continue;
    }
    for (const IncludeLine& include : includes_of(text)) {
      std::string reason = detail::reason_against(name, floor, include, opt_in);
      if (!reason.empty()) findings.push_back({path, include.name, std::move(reason)});
    }
  }
  return findings;
}

}  // namespace hybridmem_test
