package server_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
)

// accessed runs a command with arguments and returns its standard error.
func accessed(t *testing.T, stderr io.Writer, use func(*server.AccessLog), args ...string) error {
	t.Helper()
	f := server.NewFlags("thing", "THING", "")
	f.Logging("thing.log")
	f.AccessLog()
	return f.Serve(t.Context(), f.Parse(args), io.Discard, stderr, func(ctx context.Context, _ *slog.Logger) error {
		use(server.AccessLogOf(ctx))
		return nil
	})
}

func TestFlags_AccessLog_writesFailuresUnlessItIsToldOtherwise(t *testing.T) {
	for _, c := range []struct {
		args  []string
		lines int
	}{{nil, 1}, {[]string{"-access-log", "failures"}, 1}, {[]string{"-access-log", "all"}, 2}, {[]string{"-access-log", "off"}, 0}} {
		var out guardedBuffer
		require.NoError(t, accessed(t, &out, func(log *server.AccessLog) {
			if c.lines == 0 {
				require.Nil(t, log.Logger())
				return
			}
			log.Logger().Info("request", "status", 200)
			log.Logger().Warn("request", "status", 502)
		}, c.args...))
		require.Equal(t, c.lines, strings.Count(out.String(), "\n"), c.args)
		for line := range strings.Lines(out.String()) {
			require.True(t, json.Valid([]byte(line)), line)
		}
	}
	require.ErrorContains(t, accessed(t, io.Discard, nil, "-access-log", "errors"), "expected off, failures or all")
}

func TestFlags_AccessLog_writesToAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log", "access.log")
	var out guardedBuffer
	require.NoError(t, accessed(t, &out, func(log *server.AccessLog) { log.Logger().Warn("request", "status", 502) },
		"-access-log-file", name))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(text), `"status":502`)
	require.Empty(t, out.String())
	require.ErrorContains(t, accessed(t, io.Discard, nil, "-access-log-file", filepath.Join(name, "x")), "-access-log-file")
}

// stuck is standard error that takes nothing before it is released.
type stuck struct{ release chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.release
	return len(p), nil
}

func TestAccessLog_Logger_neverWaitsAndCountsWhatItDrops(t *testing.T) {
	const lines = 100_000
	s := stuck{make(chan struct{})}
	require.NoError(t, accessed(t, s, func(log *server.AccessLog) {
		for range lines {
			log.Logger().Info("request")
		}
		require.Greater(t, log.Dropped(), uint64(lines/2))
		close(s.release)
	}, "-access-log", "all"))
}

func TestAccessLog_Logger_boundsTheRateAndSaysWhatItDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out guardedBuffer
		f := server.NewFlags("thing", "THING", "")
		f.Logging("thing.log")
		f.AccessLog()
		require.NoError(t, f.Serve(t.Context(), f.Parse(nil), io.Discard, &out, func(ctx context.Context, _ *slog.Logger) error {
			log := server.AccessLogOf(ctx)
			for range 60 {
				for range 300 {
					log.Logger().Warn("request")
				}
				time.Sleep(time.Second)
			}
			return nil
		}))
		written := strings.Count(out.String(), `"msg":"request"`)
		require.InDelta(t, 60*100+1000, written, 200)
		require.Contains(t, out.String(), "requests have no line in the access log")
		require.LessOrEqual(t, strings.Count(out.String(), "requests have no line"), 7)
	})
}
