package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadSettings_readsEverySettingFromAllSources goes over all flags there are, so that a new
// one that lacks a source fails.
func TestReadSettings_readsEverySettingFromAllSources(t *testing.T) {
	special := map[string][3]string{
		"max-connections": {"5", "6", "7"}, "drain-delay": {"1s", "2s", "3s"},
		"max-models": {"1", "2", "3"}, "max-versions": {"1", "2", "3"}, "max-content": {"1", "2", "3"}, "max-namespace": {"1",
			"2", "3"},
		"grace": {"1s", "2s", "3s"}, "collect-interval": {"1s", "2s", "3s"}, "scrub-interval": {"1s", "2s", "3s"},
		"store-timeout": {"1s", "2s", "3s"},
		"log-level":     {"debug", "warn", "error"}, "log-format": {"json", "text", "json"},
		"log-to-file": {"true", "false", "true"}, "webhooks-private": {"true", "false",
			"true"},
	}
	declare().VisitAll(func(one *flag.Flag) {
		if one.Name == "config" || one.Name == "version" {
			return // which cannot be in itself
		}
		t.Run(one.Name, func(t *testing.T) {
			given, ok := special[one.Name]
			if !ok {
				given = [3]string{"file", "environment", "flag"}
			}
			file := filepath.Join(t.TempDir(), "modelrepo.conf")
			require.NoError(t, os.WriteFile(file, []byte(one.Name+" "+given[0]+"\n"), 0o600))
			variable := declare().Variable(one.Name)
			require.Regexp(t, "^MODELREPO_[A-Z_]+$", variable)
			value := func(args ...string) string {
				flags := declare()
				require.NoError(t, flags.Parse(args))
				return flags.Lookup(one.Name).Value.String()
			}
			t.Setenv(variable, "")
			require.Equal(t, one.DefValue, value())
			require.Equal(t, given[0], value("-config", file))
			t.Setenv(variable, given[1])
			require.Equal(t, given[1], value("-config", file), "the environment goes before the file")
			require.Equal(t, given[2], value("-config", file, "-"+one.Name+"="+given[2]), "the flag goes before all")
		})
	})
}
