//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mount mounts the file systems that programs expect.
func mount() error {
	for _, m := range []struct{ kind, on string }{
		{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}, {"tmpfs", "/run"}, {"tmpfs", "/tmp"},
	} {
		if err := os.MkdirAll(m.on, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.on, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.on, err)
		}
	}
	if err := os.MkdirAll("/var", 0o755); err != nil {
		return err
	}
	return os.Symlink("/run", "/var/run")
}

// loadModules loads the modules that a file names, a path and parameters a line,
// in its order.
func loadModules(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		path, parameters, _ := strings.Cut(lines.Text(), " ")
		if err := loadModule(path, parameters); err != nil {
			return fmt.Errorf("load %s: %w", path, err)
		}
	}
	return lines.Err()
}

func loadModule(path, parameters string) error {
	module, err := os.Open(path)
	if err != nil {
		return err
	}
	defer module.Close()
	return unix.FinitModule(int(module.Fd()), parameters, 0)
}

// openPort opens the port with a name. The device appears a little after its
// driver was loaded.
func openPort(name string) (*os.File, error) {
	for range 200 {
		found, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err == nil && strings.TrimSpace(string(text)) == name {
				return os.OpenFile(filepath.Join("/dev", filepath.Base(filepath.Dir(file))), os.O_RDWR, 0)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, fmt.Errorf("open the port %q: %w", name, os.ErrNotExist)
}

// uptime returns how long the kernel runs, in seconds.
func uptime() (float64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, fmt.Errorf("read the uptime: %w", err)
	}
	return float64(now.Nano()) / 1e9, nil
}
