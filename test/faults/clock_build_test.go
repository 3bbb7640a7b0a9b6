//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// stepped is the name of cmd/enablers with a clock that the tests set. Its time.Now adds the
// seconds in the file that the environment variable steps names; timers and durations follow the
// monotonic clock, as on a machine whose clock is set.
const (
	stepped = "stepped"
	steps   = "FAULTS_CLOCK"
)

// The part of package time that is replaced for the build, and what is added to it.
const (
	now        = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	steppedNow = now + "\tsec += atomic.LoadInt64(steps)\n"
	stepsFile  = `package time

import (
	"syscall"
	"unsafe"
)

var steps = mapSteps()

func mapSteps() *int64 {
	name, set := syscall.Getenv("` + steps + `")
	if !set {
		return new(int64)
	}
	file, err := syscall.Open(name, syscall.O_RDONLY, 0)
	if err != nil {
		panic(err)
	}
	mapped, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	_ = syscall.Close(file)
	return (*int64)(unsafe.Pointer(&mapped[0]))
}
`
)

// buildCommands builds the commands into a folder.
func buildCommands(folder string) error {
	arguments := []string{"build", "-buildvcs=false", "-o", folder + "/"}
	for _, b := range blocks() {
		arguments = append(arguments, "github.com/iotenablers/enablers/cmd/"+b.command)
	}
	return goCommand(arguments...)
}

// buildStepped builds the command whose clock the tests set.
func buildStepped(folder string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	library := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		return err
	}
	if strings.Count(string(source), now) != 1 {
		return fmt.Errorf("time.Now of %s is not the one that these tests know: adapt them", runtime.Version())
	}
	changed := strings.Replace(string(source), now, steppedNow, 1)
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"sync/atomic\"\n", 1)
	replaced := map[string]string{}
	for name, text := range map[string]string{"time.go": changed, "steps.go": stepsFile} {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		replaced[filepath.Join(library, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return err
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	return goCommand("build", "-buildvcs=false", "-overlay", file, "-o", filepath.Join(folder, stepped),
		"github.com/iotenablers/enablers/cmd/enablers")
}

func goCommand(arguments ...string) error {
	if output, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return nil
}
