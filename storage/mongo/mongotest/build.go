package mongotest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// module is the folder of the server's module within the project.
const module = "test/ferretdb"

// program returns the path of the server's program. It is built when that is
// demanded and it is not in the cache folder yet.
func program() (string, error) {
	source, err := findModule()
	if err != nil {
		return "", err
	}
	name, err := cacheName(source)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if os.Getenv(RequirePeers) != "1" {
		return "", errors.New("the program of " + module + " is not built yet")
	}
	return name, build(source, name)
}

// findModule looks for the module in the working folder and those above, since
// tests run in the folder of their package.
func findModule() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		source := filepath.Join(dir, filepath.FromSlash(module))
		if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
			return source, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", fmt.Errorf("find %s: %w", module, fs.ErrNotExist)
		}
		dir = above
	}
}

// cacheName returns where the program is kept. The name changes with what it
// is built from.
func cacheName(source string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(source, "*"))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, file := range files { // in order of their names
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %x\n", filepath.Base(file), sha256.Sum256(text))
	}
	name := "ferretdb-" + hex.EncodeToString(sum.Sum(nil)[:8])
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(cache, "enablers", name), nil
}

// build builds the program beside its name and then renames it, since tests of
// other packages may build it at the same time.
func build(source, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(name), "build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	made := filepath.Join(folder, filepath.Base(name))
	command := exec.Command("go", "build", "-o", made, ".")
	command.Dir = source
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", module, err, output)
	}
	return os.Rename(made, name)
}
