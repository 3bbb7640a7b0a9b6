package rig

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Machine is where a benchmark ran.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Kernel string `json:"kernel"`
}

// ThisMachine returns the machine that the program runs on. What the system
// does not report is empty.
func ThisMachine(ctx context.Context) Machine {
	return Machine{
		CPU:    ProcField("/proc/cpuinfo", "model name"),
		Cores:  runtime.NumCPU(),
		Memory: ProcField("/proc/meminfo", "MemTotal"),
		Kernel: Printed(ctx, "uname", "-sr"),
	}
}

// String is the machine in one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s", m.CPU, m.Cores, m.Memory, m.Kernel)
}

// ProcField returns the value behind "name:" in a file of /proc, empty if there
// is none.
func ProcField(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// LoadAverage is how many tasks wanted to run in the last minute (proc(5),
// /proc/loadavg), zero if the system does not report it.
func LoadAverage() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// AwaitCalm waits until no other task is runnable, or for so long at most. Three
// looks in a row have to find that.
func AwaitCalm(ctx context.Context, most time.Duration) {
	const pause, looks = 200 * time.Millisecond, 3
	deadline := time.Now().Add(most)
	for quiet := 0; quiet < looks && time.Now().Before(deadline) && ctx.Err() == nil; quiet++ {
		if running() > 1 { // the one is this process
			quiet = -1
		}
		time.Sleep(pause)
	}
}

// running returns how many tasks are runnable at this moment (proc(5),
// procs_running).
func running() int {
	text, _ := os.ReadFile("/proc/stat")
	found := regexp.MustCompile(`(?m)^procs_running (\d+)$`).FindSubmatch(text)
	if found == nil {
		return 1
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}
