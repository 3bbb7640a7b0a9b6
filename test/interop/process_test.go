package interop_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// TestAsServer is not a test: it is the program that the tests below start.
func TestAsServer(t *testing.T) {
	if os.Getenv("INTEROP_TEST_AS_SERVER") != "1" {
		t.Skip("only run as a program by the other tests")
	}
	if os.Getenv("ANNOTATOR_MQTT_HOST") != "" {
		fmt.Println("the environment reached the server")
		os.Exit(1)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = http.Serve(listener, http.NotFoundHandler()) }()
	fmt.Println("something before")
	fmt.Printf("listening on http://%s (fake)\n", listener.Addr())
	<-stop
	fmt.Println("stopped in order")
	os.Exit(0)
}

func startAsServer(t *testing.T) *interop.Server {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	t.Setenv("INTEROP_TEST_AS_SERVER", "1")
	t.Setenv("ANNOTATOR_MQTT_HOST", "set by the machine")
	return interop.StartServer(t, os.Args[0], "-test.run=^TestAsServer$")
}

func TestStartServer_isReadyAtThePrintedAddress(t *testing.T) {
	server := startAsServer(t)
	require.Regexp(t, `^http://127\.0\.0\.1:[0-9]+$`, server.URL)
	response, err := http.Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNotFound, response.StatusCode)
}

func TestProcess_Stop_endsInOrder(t *testing.T) {
	server := startAsServer(t)
	server.Stop()
	<-server.Ended()
	require.Contains(t, server.Output(), "stopped in order")
	server.Stop() // does nothing
}

func TestProcess_Kill_givesNoTimeToPrint(t *testing.T) {
	server := startAsServer(t)
	server.Kill()
	<-server.Ended()
	require.NotContains(t, server.Output(), "stopped in order")
	_, err := http.Get(server.URL)
	require.Error(t, err)
	server.Kill() // does nothing
}

func TestProcess_Output_isBounded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no shell of this kind")
	}
	process := interop.StartProcess(t, exec.Command("sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo end"))
	require.Equal(t, "", process.AwaitLine("end"))
	require.Len(t, process.Output(), 64<<10)
	require.True(t, strings.HasSuffix(process.Output(), "x\nend\n"))
}

// outcome is a test that remembers why it failed.
type outcome struct {
	testing.TB
	failed string
}

func (o *outcome) Helper() {}

func (o *outcome) Fatalf(format string, arguments ...any) {
	o.failed = fmt.Sprintf(format, arguments...)
	runtime.Goexit()
}

func TestProcess_AwaitLine_reportsOutputOfAProcessThatEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no shell of this kind")
	}
	o := &outcome{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		interop.StartProcess(o, exec.Command("sh", "-c", "echo cannot listen")).AwaitLine("listening on ")
	}()
	<-ended
	require.Contains(t, o.failed, "ended before it wrote")
	require.Contains(t, o.failed, "cannot listen")
}
