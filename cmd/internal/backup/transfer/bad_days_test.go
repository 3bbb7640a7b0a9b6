//go:build unix

package transfer_test

import (
	"archive/tar"
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/backup/transfer"
)

// The variables that have the test binary run a command, and where no file can be larger
// than a number of bytes.
const (
	childCommand = "BACKUP_TRANSFER_CHILD"
	childLimit   = "BACKUP_TRANSFER_LIMIT"
)

func TestMain(m *testing.M) {
	command := os.Getenv(childCommand)
	if command == "" {
		os.Exit(m.Run())
	}
	if err := runChild(command); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runChild(command string) error {
	var limit uint64
	if _, err := fmt.Sscan(os.Getenv(childLimit), &limit); err == nil {
		signal.Ignore(syscall.SIGXFSZ) // writing fails instead
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return transfer.Commands()[command](context.Background(), os.Args[1:], os.Stdout, os.Stderr)
}

// child returns a command in a process of its own.
func child(t *testing.T, command string, args ...string) *exec.Cmd {
	t.Helper()
	made := exec.CommandContext(t.Context(), os.Args[0], args...)
	made.Env = append(os.Environ(), childCommand+"="+command)
	return made
}

func TestBackup_removesWhatItWroteToAFullDisk(t *testing.T) {
	above := t.TempDir()
	dir := newData(t, filepath.Join(above, "data"))
	from := filepath.Join(above, "backup")
	serve(t, dir, openData(t, dir)) // which is not on the full disk
	for _, limit := range []int{0, 1, 4096, 100_000} {
		run := child(t, "backup", "-data", dir, from)
		run.Env = append(run.Env, fmt.Sprint(childLimit, "=", limit))
		output, err := run.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), syscall.EFBIG.Error())
		require.Equal(t, []string{"data"}, entries(t, above))
	}
	require.NoError(t, takeBackup(t, dir, from))
	for _, limit := range []int{0, 1, 4096, 100_000} {
		run := child(t, "restore", "-data", filepath.Join(above, "again"), from)
		run.Env = append(run.Env, fmt.Sprint(childLimit, "=", limit))
		output, err := run.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), syscall.EFBIG.Error())
		require.Equal(t, []string{"backup", "data"}, entries(t, above))
	}
}

func TestBackup_leavesNoBackupWhenItIsKilled(t *testing.T) {
	above, err := os.MkdirTemp("", "backup") // a short path
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(above)) })
	dir := newData(t, filepath.Join(above, "data"))
	// A server that sends one file and then nothing.
	listener, err := net.Listen("unix", filepath.Join(dir, backup.SocketName))
	require.NoError(t, err)
	defer listener.Close()
	run := child(t, "backup", "-data", dir, filepath.Join(above, "backup"))
	require.NoError(t, run.Start())
	conn, err := listener.Accept()
	require.NoError(t, err)
	defer conn.Close()
	_, err = http.ReadRequest(bufio.NewReader(conn))
	require.NoError(t, err)
	_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	archive := tar.NewWriter(conn)
	for _, name := range []string{"blobs/aa/aa" + strings.Repeat("0", 30), "store.db"} {
		require.NoError(t, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 4, Mode: 0o600}))
		_, err = io.WriteString(archive, "data")
		require.NoError(t, err)
	}
	require.NoError(t, archive.Flush())
	written := func() string {
		found, err := filepath.Glob(filepath.Join(above, ".backup.unfinished-*", "store.db"))
		require.NoError(t, err)
		return strings.Join(found, "")
	}
	require.Eventually(t, func() bool { return written() != "" }, patience, pause)
	require.NoError(t, run.Process.Kill())
	require.Error(t, run.Wait())

	require.NoDirExists(t, filepath.Join(above, "backup"))
	refused(t, filepath.Dir(written()), "it has no backup.json")
	require.NoError(t, listener.Close())
	require.NoError(t, takeBackup(t, dir, filepath.Join(above, "backup")), "the next one works")
	require.NoError(t, restore(t, filepath.Join(above, "again"), filepath.Join(above, "backup")))
	checkData(t, filepath.Join(above, "again"))
}

func TestBackup_stopsWithTheServer(t *testing.T) {
	above := t.TempDir()
	dir := newData(t, filepath.Join(above, "data"))
	store := openData(t, dir)
	require.NoError(t, putBlob(t.Context(), store, "file/large", strings.Repeat("x", 32<<20))) // more than sockets buffer
	stop := serve(t, dir, store)
	conn, err := backup.Dial(t.Context(), dir)
	require.NoError(t, err)
	defer conn.Close()
	r, err := http.NewRequest(http.MethodGet, "http://backup/", nil)
	require.NoError(t, err)
	require.NoError(t, r.Write(conn))
	answer, err := http.ReadResponse(bufio.NewReader(conn), r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	stop()
	_, err = io.Copy(io.Discard, answer.Body)
	require.Error(t, err, "what was sent does not look like the whole")
}
