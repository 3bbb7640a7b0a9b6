package mqtttest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// RequirePeers is the environment variable that decides about peers: with 1 a test
// without one fails, with 0 it is skipped even if the peer is there.
const RequirePeers = "ENABLERS_REQUIRE_PEERS"

// Mosquitto is a running Eclipse Mosquitto broker that keeps its sessions on
// disk.
type Mosquitto struct {
	Address
	tb     testing.TB
	path   string
	config string
	state  string // the file that holds the sessions

	mu      sync.Mutex
	process *exec.Cmd
	output  *bytes.Buffer
}

// StartMosquitto starts mosquitto from the PATH or /usr/sbin, with unlimited
// queues and the further lines of configuration. It writes its state to disk
// when Save is called. Without mosquitto the test is skipped, or fails when
// RequirePeers says so.
func StartMosquitto(tb testing.TB, lines ...string) *Mosquitto {
	tb.Helper()
	if os.Getenv(RequirePeers) == "0" {
		tb.Skipf("%s=0 excludes mosquitto", RequirePeers)
	}
	path, err := exec.LookPath("mosquitto")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/mosquitto")
	}
	if err != nil {
		if os.Getenv(RequirePeers) == "1" {
			tb.Fatalf("mosquitto is not installed and %s=1 demands it", RequirePeers)
		}
		tb.Skip("mosquitto is not installed: neither in the PATH nor in /usr/sbin")
	}
	folder := tb.TempDir()
	m := &Mosquitto{tb: tb, path: path, config: filepath.Join(folder, "mosquitto.conf"), state: filepath.Join(folder, "mosquitto.db")}
	m.Address = Reserve(tb)
	if err := m.configure(folder, lines); err != nil {
		tb.Fatalf("configure mosquitto: %v", err)
	}
	if err := m.start(); err != nil {
		tb.Fatalf("start mosquitto: %v", err)
	}
	tb.Cleanup(m.Kill)
	return m
}

func (m *Mosquitto) configure(folder string, lines []string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "listener %d %s\nallow_anonymous true\n", m.Port, m.Host)
	// Started as root mosquitto would change to a user who cannot write here.
	fmt.Fprintf(&b, "user root\n")
	fmt.Fprintf(&b, "persistence true\npersistence_location %s/\n", folder)
	fmt.Fprintf(&b, "autosave_interval 3600\n")
	fmt.Fprintf(&b, "max_inflight_messages 1000\nmax_queued_messages 0\nset_tcp_nodelay true\n")
	for _, line := range lines {
		fmt.Fprintln(&b, line)
	}
	return os.WriteFile(m.config, b.Bytes(), 0o600)
}

// Start starts the broker again, on the same port, after Kill.
func (m *Mosquitto) Start() {
	m.tb.Helper()
	if err := m.start(); err != nil {
		m.tb.Fatalf("start mosquitto again: %v", err)
	}
}

// start starts the process and waits until it accepts connections.
func (m *Mosquitto) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.output = &bytes.Buffer{}
	m.process = exec.Command(m.path, "-c", m.config)
	m.process.Stdout, m.process.Stderr = m.output, m.output
	if err := m.process.Start(); err != nil {
		return err
	}
	listens := eventually(func() bool {
		conn, err := net.DialTimeout("tcp", m.String(), time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	if listens {
		return nil
	}
	m.kill()
	return fmt.Errorf("it does not listen on %s: %s", m.Address, m.output)
}

// Save makes the broker write its sessions to disk and waits until it has.
func (m *Mosquitto) Save() {
	m.tb.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	before, _ := os.Stat(m.state)
	if err := tellToSave(m.process.Process); err != nil {
		m.tb.Fatalf("tell mosquitto to save: %v", err)
	}
	saved := eventually(func() bool {
		// The file is replaced as a whole, by renaming.
		after, err := os.Stat(m.state)
		return err == nil && (before == nil || !os.SameFile(before, after))
	})
	if !saved {
		m.kill()
		m.tb.Fatalf("mosquitto did not save its state: %s", m.output)
	}
}

// eventually reports whether something becomes true before one has to think
// that it never will.
func eventually(is func() bool) bool {
	late := time.NewTimer(2 * time.Minute)
	defer late.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !is() {
		select {
		case <-ticker.C:
		case <-late.C:
			return false
		}
	}
	return true
}

// Kill ends the broker at once (SIGKILL), as a crash would. It does nothing
// when the broker does not run.
func (m *Mosquitto) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
}

// Stop shuts the broker down in good order: it writes its sessions to disk and
// ends. It does nothing when the broker does not run.
func (m *Mosquitto) Stop() {
	m.tb.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return
	}
	if err := m.process.Process.Signal(syscall.SIGTERM); err != nil {
		m.tb.Fatalf("tell mosquitto to end: %v", err)
	}
	_ = m.process.Wait() // says how it ended
	m.process = nil
}

func (m *Mosquitto) kill() {
	if m.process == nil {
		return
	}
	_ = m.process.Process.Kill()
	_ = m.process.Wait() // says that it was killed
	m.process = nil
}
