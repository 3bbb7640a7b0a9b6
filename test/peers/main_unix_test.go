//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3/s3test"
	"github.com/iotenablers/enablers/test/interop"
)

const patience = time.Minute

// asProgram is the environment variable that makes this test the program.
const asProgram = "ENABLERS_PEERS_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// scratch builds the servers where that is demanded, else it may skip the test, and returns the
// empty folder where the program keeps its data.
func scratch(t *testing.T) string {
	t.Helper()
	mongotest.Program(t)
	s3test.Program(t)
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	return folder
}

// program is the program as a process.
type program struct {
	*interop.Process
	folder    string
	mongo, s3 string // values of the variables
	mongoPid  int
	minioPid  int
}

func startProgram(t *testing.T) *program {
	t.Helper()
	p := &program{folder: scratch(t)}
	t.Setenv(asProgram, "1")
	command := exec.Command(os.Args[0])
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // else it is in the group of the test
	p.Process = interop.StartProcess(t, command)
	t.Cleanup(func() { _ = syscall.Kill(-p.Pid(), syscall.SIGKILL) }) // fails if all have ended
	p.mongo = p.AwaitLine(mongotest.URIVariable + "=")
	p.s3 = p.AwaitLine(s3test.AddressVariable + "=")
	var err error
	p.mongoPid, err = strconv.Atoi(p.AwaitLine("FerretDB is process "))
	require.NoError(t, err)
	p.minioPid, err = strconv.Atoi(p.AwaitLine("MinIO is process "))
	require.NoError(t, err)
	return p
}

// use has a test use the servers of the variables.
func use(t *testing.T, uri, address string) {
	t.Helper()
	t.Setenv(mongotest.URIVariable, uri)
	t.Setenv(s3test.AddressVariable, address)
	t.Run("use", func(t *testing.T) {
		database, bucket := mongotest.Start(t), s3test.StartMinIO(t)
		require.Equal(t, uri, database.URI)
		require.Equal(t, address, bucket.Address())
		documents, blobs := database.Open(t).Documents(), bucket.Open(t).Blobs()
		_, err := documents.Create(t.Context(), "key", []byte(`1`))
		require.NoError(t, err)
		writer, err := blobs.Create(t.Context(), "key")
		require.NoError(t, err)
		_, err = writer.Commit(t.Context())
		require.NoError(t, err)
	})
}

// isEmpty checks that nothing is left of the data.
func isEmpty(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

// isGone checks that a process does not exist.
func isGone(t *testing.T, pid int) {
	t.Helper()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestPeers_endInOrderAfterSIGTERM(t *testing.T) {
	p := startProgram(t)
	use(t, p.mongo, p.s3)
	require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGTERM))
	require.Zero(t, p.AwaitEnd(), p.Output())
	isGone(t, p.mongoPid)
	isGone(t, p.minioPid)
	isEmpty(t, p.folder)
}

func TestPeers_endWhenAServerEnds(t *testing.T) {
	p := startProgram(t)
	require.NoError(t, syscall.Kill(p.mongoPid, syscall.SIGKILL))
	require.Equal(t, 1, p.AwaitEnd())
	require.Contains(t, p.Output(), "peers: FerretDB (process "+strconv.Itoa(p.mongoPid)+") has ended")
	isGone(t, p.minioPid)
	isEmpty(t, p.folder)
}

func TestPeers_endWithTheirProcessGroup(t *testing.T) {
	p := startProgram(t)
	require.NoError(t, syscall.Kill(-p.Pid(), syscall.SIGKILL))
	for _, address := range []string{strings.TrimPrefix(p.mongo, "mongodb://"), p.s3} {
		require.Eventually(t, func() bool {
			connection, err := net.Dial("tcp", address)
			if err == nil {
				_ = connection.Close()
			}
			return errors.Is(err, syscall.ECONNREFUSED)
		}, patience, 10*time.Millisecond)
	}
}

func TestRun_endsWithItsInput(t *testing.T) {
	folder := scratch(t)
	input, inputEnd := io.Pipe()
	output, outputEnd := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		err := run(t.Context(), []string{"-until-eof"}, input, outputEnd, &stderr)
		ended <- errors.Join(err, outputEnd.Close())
	}()
	lines := bufio.NewReader(output)
	read := func(variable string) string {
		line, err := lines.ReadString('\n')
		require.NoError(t, err, "%v", &stderr)
		value, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), variable+"=")
		require.True(t, found, line)
		return value
	}
	uri := read(mongotest.URIVariable)
	use(t, uri, read(s3test.AddressVariable))
	require.NoError(t, inputEnd.Close())
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.NoError(t, <-ended)
	isEmpty(t, folder)
}

func TestRun_saysWhatItCannotStart(t *testing.T) {
	folder := scratch(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := run(ctx, nil, nil, io.Discard, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "start FerretDB: ")
	require.ErrorContains(t, err, "start MinIO: ")
	isEmpty(t, folder)
	require.ErrorContains(t, run(t.Context(), []string{"all"}, nil, io.Discard, io.Discard), `unexpected argument "all"`)
}
