//go:build linux

package vmtest

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// module is one to load: its name, and its parameters as the kernel reads them.
type module struct{ name, parameters string }

// transport returns the modules of the port between the host and the guest.
func transport() []string { return []string{"virtio_pci", "virtio_console"} }

// order returns the modules that are wanted, each written as "NAME" or "NAME
// PARAMETERS", behind those that they depend on. A module that is built into the
// kernel is left out.
func (k kernel) order(wanted []string) ([]module, error) {
	builtin, err := k.builtin()
	if err != nil {
		return nil, err
	}
	var ordered []module
	seen := map[string]bool{}
	var add func(name, parameters string) error
	add = func(name, parameters string) error {
		name = moduleName(name)
		if seen[name] || builtin[name] {
			return nil
		}
		seen[name] = true
		needs, err := dependencies(k.module(name))
		if err != nil {
			return fmt.Errorf("module %q: %w", name, err)
		}
		for _, need := range needs {
			if err := add(need, ""); err != nil {
				return err
			}
		}
		ordered = append(ordered, module{name, parameters})
		return nil
	}
	for _, want := range wanted {
		name, parameters, _ := strings.Cut(want, " ")
		if err := add(name, parameters); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}

// module returns the path of a module.
func (k kernel) module(name string) string {
	return filepath.Join(k.home, "modules", name+".ko")
}

// builtin returns the modules that the kernel has without loading them.
func (k kernel) builtin() (map[string]bool, error) {
	list, err := os.ReadFile(filepath.Join(k.home, "builtin"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		names[moduleName(filepath.Base(strings.TrimSpace(line)))] = true
	}
	return names, nil
}

// dependencies reads what a module says of itself: strings with a zero at
// the end of each, one of which is "depends=" and names with commas between.
func dependencies(path string) ([]string, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	section := file.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("read %s: it is not a module", path)
	}
	said, err := section.Data()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for entry := range bytes.SplitSeq(said, []byte{0}) {
		if names, found := strings.CutPrefix(string(entry), "depends="); found && names != "" {
			return strings.Split(names, ","), nil
		}
	}
	return nil, nil
}
