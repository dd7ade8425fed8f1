// The version of the library, and its only source: CMake, the packages and the tests read it here.
#pragma once

// NOLINTBEGIN(cppcoreguidelines-macro-usage): build systems and `#if` need the preprocessor.
#define HYBRIDMEM_VERSION_MAJOR 0
#define HYBRIDMEM_VERSION_MINOR 1
#define HYBRIDMEM_VERSION_PATCH 0

/// Inline namespace of plain types: code built against different minor versions does not link.
#define HYBRIDMEM_VERSION_NAMESPACE v0_1
// NOLINTEND(cppcoreguidelines-macro-usage)

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// A release number, compared by major, then minor, then patch.
struct Version {
  unsigned major_number;
  unsigned minor_number;
  unsigned patch_number;

  friend constexpr bool operator==(const Version&, const Version&) = default;
};

/// The version of the headers this translation unit was compiled against.
inline constexpr Version library_version{HYBRIDMEM_VERSION_MAJOR, HYBRIDMEM_VERSION_MINOR,
                                         HYBRIDMEM_VERSION_PATCH};

/// The same as text, `"major.minor.patch"`.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): text is made of macros by macros.
#define HYBRIDMEM_TEXT_OF(x) #x
#define HYBRIDMEM_TEXT(x) HYBRIDMEM_TEXT_OF(x)
inline constexpr const char* library_version_text =
    HYBRIDMEM_TEXT(HYBRIDMEM_VERSION_MAJOR) "." HYBRIDMEM_TEXT(
        HYBRIDMEM_VERSION_MINOR) "." HYBRIDMEM_TEXT(HYBRIDMEM_VERSION_PATCH);
#undef HYBRIDMEM_TEXT
#undef HYBRIDMEM_TEXT_OF
// NOLINTEND(cppcoreguidelines-macro-usage)

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
