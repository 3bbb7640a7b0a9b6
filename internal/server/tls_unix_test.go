//go:build unix

package server_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestTLS_Open_readsFilesAgainThatChangeDuringTheStart(t *testing.T) {
	own := servertest.NewAuthority(t)
	certificate, renewed := own.Issue("old"), own.Issue("new")
	files := writeFiles(own, certificate)
	authorities, err := os.ReadFile(own.File)
	require.NoError(t, err)
	files.ClientCA = filepath.Join(t.TempDir(), "authorities") // a pipe, which is read after the certificate
	require.NoError(t, syscall.Mkfifo(files.ClientCA, 0o600))
	meanwhile := make(chan error)
	go func() {
		pipe, err := os.OpenFile(files.ClientCA, os.O_WRONLY, 0) // waits for the reader
		if err != nil {
			meanwhile <- err
			return
		}
		for name, from := range map[string]string{
			certificate.Cert: renewed.Cert, certificate.Key: renewed.Key, files.ClientCA: own.File,
		} {
			if err == nil {
				err = replace(name, from)
			}
		}
		_, _ = pipe.Write(authorities)
		_ = pipe.Close()
		meanwhile <- err
	}()
	opened, err := files.Open(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	config := opened.Config()
	require.NoError(t, <-meanwhile)
	require.Eventually(t, func() bool { return presented(t, config) == "new" }, patience, 50*time.Millisecond)
}

// replace puts a later copy of a file in the place of another.
func replace(name, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	later := time.Now().Add(time.Minute)
	if err := os.WriteFile(name+"-new", data, 0o600); err != nil {
		return err
	}
	if err := os.Chtimes(name+"-new", later, later); err != nil {
		return err
	}
	return os.Rename(name+"-new", name)
}
