//go:build linux

package vmtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/multilink/vm/wire"
)

// Limits of a machine.
const (
	defaultLimit  = 10 * time.Minute
	defaultMemory = 512
	// endLimit is how long a machine may take to power off.
	endLimit = 5 * time.Second
	// consoleSize is how much of the console is kept: its end.
	consoleSize = 256 << 10
)

// Config is what the machine has. The zero value is a kernel, and nothing that
// could be started.
type Config struct {
	// Modules of the kernel to load, in this order, each behind those that it
	// needs, as "NAME" or "NAME PARAMETERS".
	Modules []string
	// Programs of the host, by name. They are found in the guest's PATH.
	Programs []string
	// Files of the host, by the path that they have in the guest.
	Files map[string]string
	// Texts are files of the guest by their path.
	Texts map[string]string
	// Memory in MiB. Default: 512. The files take twice their size while the
	// machine starts.
	Memory int
	// Limit is when the machine is ended, however the test goes. Default: 10 minutes.
	Limit time.Duration
}

func skipUnlessRequired(tb testing.TB) {
	tb.Helper()
	if !peertest.Required() {
		tb.Skipf("a virtual machine without acceleration takes a core for minutes; %s=1 has it run", peertest.RequirePeers)
	}
}

// Boot starts a machine and waits until it is ready. It ends the test when there
// is none to be had; see the package's documentation.
func Boot(tb testing.TB, config Config) *Guest {
	tb.Helper()
	skipUnlessRequired(tb)
	qemu, linux, err := needs()
	var programs []string
	if err == nil {
		programs, err = findPrograms(config.Programs)
	}
	if err != nil {
		tb.Fatalf("a virtual machine is demanded by %s=1: %v", peertest.RequirePeers, err)
	}
	config.Limit = cmp.Or(config.Limit, defaultLimit)
	config.Memory = cmp.Or(config.Memory, defaultMemory)
	files := filepath.Join(tb.TempDir(), "files")
	if err := pack(files, linux, config, programs, Build(tb,
		"github.com/iotenablers/enablers/test/multilink/vm/guest")); err != nil {
		tb.Fatalf("pack the files of the virtual machine: %v", err)
	}
	m := &machine{console: &tail{limit: consoleSize}, ended: make(chan struct{})}
	begun := time.Now()
	port, err := m.start(qemu, linux, files, config)
	if err != nil {
		tb.Fatalf("start the virtual machine: %v", err)
	}
	g := newGuest(tb, port)
	tb.Cleanup(func() {
		g.powerOff()
		m.end()
		if tb.Failed() {
			tb.Logf("what was done in the virtual machine:\n%s", g.transcript.String())
			tb.Logf("its console:\n%s", m.console.String())
		}
		if errors.Is(m.context.Err(), context.DeadlineExceeded) {
			tb.Errorf("the virtual machine was ended after %v", config.Limit)
		}
	})
	select {
	case ready := <-g.ready:
		tb.Logf("the virtual machine is ready after %v; its kernel runs for %.1f s",
			time.Since(begun).Round(10*time.Millisecond), ready.Uptime)
	case <-m.ended:
		tb.Fatal("the virtual machine ended before it was ready")
	}
	return g
}

// needs finds what a machine is made of.
func needs() (qemu string, linux kernel, err error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", kernel{}, fmt.Errorf("the kernel and the programs are those of linux/amd64, not of %s/%s",
			runtime.GOOS, runtime.GOARCH)
	}
	qemu, err = exec.LookPath("qemu-system-x86_64")
	if err != nil {
		return "", kernel{}, err
	}
	linux, err = findKernel()
	return qemu, linux, err
}

// pack writes the first file system of the machine.
func pack(name string, linux kernel, config Config, programs []string, guest string) error {
	modules, err := linux.order(append(transport(), config.Modules...))
	if err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	var content bytes.Buffer
	a := newArchive(&content)
	var order strings.Builder
	for _, m := range modules {
		place := "/modules/" + m.name + ".ko"
		fmt.Fprintf(&order, "%s %s\n", place, m.parameters)
		a.copy(place, linux.module(m.name))
	}
	a.file("/modules/order", 0o644, []byte(order.String()))
	a.copy("/init", guest)
	for _, program := range programs {
		a.copy(program, program)
	}
	for place, source := range config.Files {
		a.copy(place, source)
	}
	for place, text := range config.Texts {
		a.file(place, 0o644, []byte(text))
	}
	if err := a.close(); err != nil {
		return err
	}
	if _, err := file.Write(content.Bytes()); err != nil {
		return err
	}
	return file.Close()
}

// copy adds a file of the host.
func (a *archive) copy(place, source string) {
	content, err := os.ReadFile(source)
	if err != nil {
		a.err = cmp.Or(a.err, err)
		return
	}
	mode := fs.FileMode(0o755)
	if info, err := os.Stat(source); err == nil {
		mode = info.Mode()
	}
	a.file(place, mode, content)
}

// machine is the process that emulates.
type machine struct {
	context context.Context
	cancel  context.CancelFunc
	command *exec.Cmd
	console *tail
	ended   chan struct{}
}

// start starts the machine and returns the host's end of the port.
func (m *machine) start(qemu string, linux kernel, files string, config Config) (net.Conn, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	here, there := os.NewFile(uintptr(ends[0]), "host"), os.NewFile(uintptr(ends[1]), "guest")
	defer here.Close()
	defer there.Close()
	port, err := net.FileConn(here)
	if err != nil {
		return nil, err
	}
	m.context, m.cancel = context.WithTimeout(context.Background(), config.Limit)
	m.command = exec.CommandContext(m.context, qemu,
		"-accel", "tcg", // a /dev/kvm that is there need not work
		"-cpu", "qemu64,+rdrand", "-smp", "1", "-m", strconv.Itoa(config.Memory),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", filepath.Join(linux.home, "vmlinuz"), "-initrd", files,
		"-append", "console=ttyS0 loglevel=6 panic=-1 mitigations=off",
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", "socket,id=port,fd=3",
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=port,name="+wire.Port)
	m.command.ExtraFiles = []*os.File{there}
	m.command.Stdout, m.command.Stderr = m.console, m.console
	// Also when the test's process is killed.
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	m.command.WaitDelay = time.Second
	if err := m.command.Start(); err != nil {
		m.cancel()
		return nil, errors.Join(err, port.Close())
	}
	go func() {
		_ = m.command.Wait() // says that it was ended
		close(m.ended)
	}()
	return port, nil
}

// end waits a while for the machine to power off, and then ends it.
func (m *machine) end() {
	select {
	case <-m.ended:
	case <-time.After(endLimit):
		m.cancel()
		<-m.ended
	}
}
