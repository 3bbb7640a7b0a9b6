package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
)

func TestFlags_Logging_logsTheLevelAndAbove(t *testing.T) {
	f := server.NewFlags("thing", "THING", "")
	f.Logging("thing.log")
	var out bytes.Buffer
	parsed := f.Parse([]string{"-log-level", "WARNING"})
	require.NoError(t, f.Serve(t.Context(), parsed, io.Discard, &out, func(_ context.Context, log *slog.Logger) error {
		log.Info("quiet")
		log.Warn("loud", "channel", "a b")
		return nil
	}))
	require.NotContains(t, out.String(), "quiet")
	require.Contains(t, out.String(), `level=WARN msg=loud channel="a b"`)
}

func TestFlags_Logging_continuesAFileAndCreatesItsFolder(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log", "thing.log")
	for range 2 {
		f := server.NewFlags("thing", "THING", "")
		f.Logging(name)
		parsed := f.Parse([]string{"-log-to-file"})
		require.NoError(t, f.Serve(t.Context(), parsed, io.Discard, io.Discard, func(_ context.Context, log *slog.Logger) error {
			log.Info("here")
			return nil
		}))
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(text), "msg=here"))
}

// broken is standard error of a terminal that was closed.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.EIO }

func TestFlags_Logging_writesTheFileWithoutATerminal(t *testing.T) {
	name := filepath.Join(t.TempDir(), "thing.log")
	f := server.NewFlags("thing", "THING", "")
	f.Logging(name)
	parsed := f.Parse([]string{"-log-to-file"})
	require.NoError(t, f.Serve(t.Context(), parsed, io.Discard, broken{}, func(_ context.Context, log *slog.Logger) error {
		log.Info("here")
		return nil
	}))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(text), "msg=here")
}

func TestFlags_Logging_writesObjectsOnRequest(t *testing.T) {
	f := server.NewFlags("thing", "THING", "")
	f.Logging("thing.log")
	var out bytes.Buffer
	parsed := f.Parse([]string{"-log-format", "json"})
	require.NoError(t, f.Serve(t.Context(), parsed, io.Discard, &out, func(_ context.Context, log *slog.Logger) error {
		log.Warn("loud", "channel", "a b")
		return nil
	}))
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "a b", line["channel"])
	require.ErrorContains(t, f.Parse([]string{"-log-format", "xml"}), `invalid value "xml" for flag -log-format: expected text or json`)
}
