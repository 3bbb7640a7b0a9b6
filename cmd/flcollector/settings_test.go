package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReadSettings_readsEverySettingFromAllSources goes over all flags there are, so that a new
// one that lacks a source fails.
func TestReadSettings_readsEverySettingFromAllSources(t *testing.T) {
	number, period, choice := [3]string{"1", "2", "3"}, [3]string{"1s", "2s", "3s"}, [3]string{"true", "false", "true"}
	special := map[string][3]string{
		"max-connections": {"5", "6", "7"}, "drain-delay": {"1s", "2s", "3s"},
		"port": number, "federated-port": number, "max-message": number, "uploads": number, "max-context": number,
		"client-timeout": period, "store-timeout": period, "lease": period,
		"park": period, "demo-pause": period, "demo": choice, "log-to-file": choice, "clip": choice,
		"trust-clients": choice, "no-audit": choice, "no-edges": choice, "upstream-tls": choice,
		"log-level": {"debug", "warn", "error"}, "log-format": {"json", "text", "json"},
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
			file := filepath.Join(t.TempDir(), "flcollector.conf")
			require.NoError(t, os.WriteFile(file, []byte(one.Name+" "+given[0]+"\n"), 0o600))
			variable := declare().Variable(one.Name)
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

func TestReadSettings_readsTheVariablesOfTheOriginal(t *testing.T) {
	for name, value := range map[string]string{
		"HOST": "127.0.0.9", "PORT": "9000", "FEDERATED_PORT": "9080",
		"REPOSITORY_ADDRESS": "http://flrepository:9012", "ORCHESTRATOR_ADDRESS": "http://fl-orchestrator-app:5000",
	} {
		t.Setenv(name, value)
	}
	s, err := readSettings(nil)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.9:9000", s.address())
	require.Equal(t, "127.0.0.9:9080", s.grpcAddress())
	require.Equal(t, "http://flrepository:9012", s.Repository.BaseURL)
	require.Equal(t, "http://fl-orchestrator-app:5000", s.Orchestrator.BaseURL)
	s, err = readSettings([]string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:1"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:0", s.address())
	require.Equal(t, "127.0.0.1:1", s.grpcAddress())
}

func TestReadSettings_hasDefaults(t *testing.T) {
	s, err := readSettings(nil)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8000", s.address())
	require.Equal(t, "127.0.0.1:8088", s.grpcAddress())
	require.Equal(t, "./data/flcollector", s.Stores.Data())
	require.Equal(t, int64(512<<20), s.Gate.MaxMessage)
	require.Equal(t, 24*time.Hour, s.Training.ClientTimeout)
}

func TestReadSettings_namesAWrongSetting(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-port", "65536"}, "-port (PORT): expected 0 to 65535, got 65536"},
		{[]string{"-federated-port", "-1"}, "-federated-port (FEDERATED_PORT): expected 0 to 65535, got -1"},
		{[]string{"-repository-address", "user:secret@host"}, "-repository-address (REPOSITORY_ADDRESS): expected a URL such as"},
		{[]string{"-orchestrator-address", "ftp://secret@host"}, "-orchestrator-address (ORCHESTRATOR_ADDRESS): expected a URL such as"},
		{[]string{"-models", "missing"}, "-models (FLCOLLECTOR_MODELS): open missing: "},
		{[]string{"-max-message", "3000000000"}, "-max-message (FLCOLLECTOR_MAX_MESSAGE): expected 1024 to 2147483647"},
		{[]string{"-max-context", "0"}, "-max-context (FLCOLLECTOR_MAX_CONTEXT): expected 1 to"},
		{[]string{"-uploads", "0"}, "-uploads (FLCOLLECTOR_UPLOADS): expected 1 to"},
		{[]string{"-client-timeout", "0s"}, "-client-timeout (FLCOLLECTOR_CLIENT_TIMEOUT): expected more than nothing, got 0s"},
		{[]string{"-park", "10ms"}, "-park (FLCOLLECTOR_PARK): expected 1s to 24h, got 10ms"},
		{[]string{"-grpc-cert", "c.pem"}, "-grpc-cert (FLCOLLECTOR_GRPC_CERT): -grpc-cert and -grpc-key go together"},
		{[]string{"-grpc-client-ca", "ca.pem"}, "-grpc-client-ca (FLCOLLECTOR_GRPC_CLIENT_CA): certificates of clients need TLS"},
		{[]string{"-demo", "-grpc-cert", "c.pem", "-grpc-key", "k.pem"}, "-demo (FLCOLLECTOR_DEMO): its clients know no TLS"},
		{[]string{"-clip", "-trust-clients"}, "-clip (FLCOLLECTOR_CLIP): -clip and -trust-clients exclude each other"},
		{[]string{"-grpc-access", "token"}, "-grpc-access (FLCOLLECTOR_GRPC_ACCESS): expected none or nothing"},
		{[]string{"-grpc-access", "none", "-grpc-client-ca", "ca.pem", "-grpc-cert", "c.pem", "-grpc-key", "k.pem"},
			"-grpc-access (FLCOLLECTOR_GRPC_ACCESS): none cannot be given together with -grpc-client-ca"},
		{[]string{"-access", "magic"}, "-access: "},
		{[]string{"-upstream", "collector"}, `-upstream (FLCOLLECTOR_UPSTREAM): expected HOST:PORT, got "collector"`},
		{[]string{"-upstream-token", "secret@"}, "-upstream-token (FLCOLLECTOR_UPSTREAM_TOKEN): is set, but -upstream is not"},
		{[]string{"-upstream", "collector:8088", "-upstream-token", "secret@"}, "is not sent to collector in the clear"},
		{[]string{"-upstream", "collector:8088", "-upstream-cert", "c.pem"}, "-upstream-cert and -upstream-key go together"},
		{[]string{"-upstream", "collector:8088", "-upstream-name", "ä"}, "-upstream-name (FLCOLLECTOR_UPSTREAM_NAME): "},
		{[]string{"-upstream", "collector:8088", "-demo"}, "-demo (FLCOLLECTOR_DEMO): its clients train for a collector without"},
		{[]string{"-advertise", "collector"}, `-advertise (FLCOLLECTOR_ADVERTISE): expected HOST:PORT, got "collector"`},
		{[]string{"-lease", "1ms"}, "-lease (FLCOLLECTOR_LEASE): expected 1s to 1h, got 1ms"},
		{[]string{"-bogus"}, "-bogus"},
	} {
		_, err := readSettings(c.args)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "secret@")
	}
	for args, want := range map[[4]string]string{
		{"-grpc-cert", "missing.pem", "-grpc-key", "missing.pem"}:      "-grpc-cert, -grpc-key: open missing.pem",
		{"-upstream", "collector:8088", "-upstream-ca", "missing.pem"}: "-upstream-ca: open missing.pem",
	} {
		err := run(t.Context(), append([]string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0", "-data",
			t.TempDir()}, args[:]...), io.Discard, io.Discard)
		require.ErrorContains(t, err, want)
	}
}

func TestRun_helpNamesEveryFlag(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-h"}, &out, io.Discard))
	for _, name := range []string{"-listen", "-grpc-listen", "-data", "-demo", "-config", "-log-level",
		"environment REPOSITORY_ADDRESS", "environment PORT, default 8000"} {
		require.Contains(t, out.String(), name)
	}
}

func TestReadSettings_refusesTokensThatNoServiceGets(t *testing.T) {
	const (
		repository   = "-repository-token (FLCOLLECTOR_REPOSITORY_TOKEN): "
		orchestrator = "-orchestrator-token (FLCOLLECTOR_ORCHESTRATOR_TOKEN): "
	)
	for want, args := range map[string][]string{
		repository + "is set, but -repository-address (REPOSITORY_ADDRESS) is not": {
			"-repository-token=s3cret",
		},
		orchestrator + "is set, but -orchestrator-address (ORCHESTRATOR_ADDRESS) is not": {
			"-orchestrator-token=s3cret",
		},
		repository + "expected printable ASCII": {
			"-repository-token=s3 cret", "-repository-address=http://h",
		},
		orchestrator + "the base URL has a user": {
			"-orchestrator-token=s3cret", "-orchestrator-address=http://u:p@h",
		},
	} {
		_, err := readSettings(args)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3")
	}
	_, err := readSettings([]string{"-repository-token", "s3cret", "-repository-address", "http://h"})
	require.NoError(t, err)
}
