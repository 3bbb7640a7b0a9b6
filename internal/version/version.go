// Package version says which version of the module a program was built from.
//
// A release is stamped by the linker:
//
//	go build -ldflags "-X github.com/iotenablers/enablers/internal/version.stamped=v1.2.3" ./cmd/...
package version

import (
	"runtime/debug"
	"strings"
)

// stamped is set by the linker, before anything runs.
var stamped string

// String returns the stamped version, else that of the main module, else the
// commit, else "devel". A version or commit that ends in "dirty" was built from
// changed files. It never has parentheses or spaces.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(stamped, info)
}

// of is String for what is stamped and a program's build information.
func of(stamped string, info *debug.BuildInfo) string {
	if stamped != "" {
		return stamped
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	parts := []string{"devel"}
	if revision := settings["vcs.revision"]; revision != "" {
		parts = append(parts, revision[:min(len(revision), 12)])
		if settings["vcs.modified"] == "true" {
			parts = append(parts, "dirty")
		}
	}
	return strings.Join(parts, "-")
}
