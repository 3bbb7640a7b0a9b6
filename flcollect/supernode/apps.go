package supernode

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of a folder of apps.
const (
	mostApps  = 1024
	maxFAB    = 64 << 20 // bytes of a file; Flower publishes at most 10 MiB
	maxBundle = 64 << 20 // bytes of all files in it
	mostFiles = 10_000
)

// App is an app of Flower, in a .fab file (Flower App Bundle) as `flwr build` makes it.
type App struct {
	// ID is "publisher/name", from its pyproject.toml.
	ID string
	// Version is its version.
	Version string
	// Hash is the SHA-256 of the file, in hexadecimal digits.
	Hash string
	// File is the path of the file.
	File string
}

// String returns "publisher/name==version".
func (a *App) String() string { return a.ID + "==" + a.Version }

// Content reads the file. It is an error if it has changed since it was checked.
func (a *App) Content() ([]byte, error) {
	content, err := readFAB(a.File)
	if err != nil {
		return nil, fmt.Errorf("read app %v: %w", a, err)
	}
	if contentHash(content) != a.Hash {
		return nil, fmt.Errorf("read app %v: %s has changed while a run uses it", a, a.File)
	}
	return content, nil
}

func contentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// readFAB reads a file of bounded size.
func readFAB(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFAB+1))
	if err == nil && len(content) > maxFAB {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFAB)
	}
	return content, err
}

// Apps is a folder of .fab files. It is safe for concurrent use. Make one with [OpenApps].
type Apps struct {
	dir string

	mu    sync.Mutex
	files map[string]*bundle // by name
}

// bundle is a file of the folder, as it was when it was read.
type bundle struct {
	size int64
	time time.Time
	app  *App
	err  error
}

// OpenApps reads a folder of .fab files. Files that appear, change or go later are noticed
// when an app is looked for. A file that is no app is not an error here: [Apps.Find] and
// [Apps.Problems] tell of it.
func OpenApps(ctx context.Context, dir string) (*Apps, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open apps: %w", err)
	}
	a := &Apps{dir: dir, files: map[string]*bundle{}}
	if err := a.refreshLocked(); err != nil {
		return nil, fmt.Errorf("open apps: %w", err)
	}
	return a, nil
}

// refreshLocked reads what has changed.
func (a *Apps) refreshLocked() error {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".fab") {
			continue
		}
		info, err := os.Stat(filepath.Join(a.dir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return err
		}
		if len(seen) == mostApps {
			return fmt.Errorf("%s has more than %d .fab files", a.dir, mostApps)
		}
		seen[name] = true
		if known := a.files[name]; known == nil || known.size != info.Size() || !known.time.Equal(info.ModTime()) {
			app, err := loadApp(filepath.Join(a.dir, name))
			a.files[name] = &bundle{info.Size(), info.ModTime(), app, err}
		}
	}
	for name := range a.files {
		if !seen[name] {
			delete(a.files, name)
		}
	}
	return nil
}

// loadApp reads and checks a file.
func loadApp(path string) (*App, error) {
	content, err := readFAB(path)
	if err != nil {
		return nil, err
	}
	id, version, err := CheckFAB(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return &App{id, version, contentHash(content), path}, nil
}

// Apps returns those of the configuration, nil if there are none.
func (s *Server) Apps() *Apps { return s.config.Apps }

// List returns the apps by name, the newest version of each first.
func (a *Apps) List() ([]*App, error) {
	if a == nil {
		return nil, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refreshLocked(); err != nil {
		return nil, fmt.Errorf("list apps: %w", err)
	}
	return a.sortedLocked(), nil
}

func (a *Apps) sortedLocked() []*App {
	var apps []*App
	for _, file := range a.files {
		if file.app != nil {
			apps = append(apps, file.app)
		}
	}
	slices.SortFunc(apps, func(x, y *App) int {
		return cmp.Or(cmp.Compare(x.ID, y.ID), compareVersions(y.Version, x.Version), cmp.Compare(x.File, y.File))
	})
	return apps
}

// Problems returns why files of the folder are no apps, in the order of their names.
func (a *Apps) Problems() []error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var problems []error
	for _, file := range a.files {
		if file.err != nil {
			problems = append(problems, file.err)
		}
	}
	slices.SortFunc(problems, func(x, y error) int { return cmp.Compare(x.Error(), y.Error()) })
	return problems
}

// ErrNoApp is matched by an error of [Apps.Find] for an app that is not there.
var ErrNoApp = errors.New("supernode: no such app")

// Find returns the app "publisher/name" of the newest version, or of the one that follows
// after "==". The error names the apps that are there.
func (a *Apps) Find(name string) (*App, error) {
	if a == nil {
		return nil, fmt.Errorf("find app %q: %w: the collector has no folder of apps", name, ErrNoApp)
	}
	id, version, exact := strings.Cut(name, "==")
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refreshLocked(); err != nil {
		return nil, fmt.Errorf("find app %q: %w", name, err)
	}
	apps := a.sortedLocked()
	for _, app := range apps {
		if app.ID == id && (!exact || app.Version == version) {
			return app, nil
		}
	}
	return nil, fmt.Errorf("find app %q: %w; %s", name, ErrNoApp, a.describeLocked(apps))
}

// describeLocked says what is in the folder.
func (a *Apps) describeLocked(apps []*App) string {
	text := a.dir + " has no apps"
	if len(apps) > 0 {
		names := make([]string, len(apps))
		for i, app := range apps {
			names[i] = app.String()
		}
		text = a.dir + " has " + listed(names)
	}
	for _, file := range a.files {
		if file.err != nil {
			return text + "; a file that is no app: " + file.err.Error()
		}
	}
	return text
}

// compareVersions compares versions by their parts: numbers by value, others as text; a
// part that is missing counts as 0, and a pre-release such as "1.0rc1" comes before "1.0"
// (PEP 440).
func compareVersions(x, y string) int {
	for x != "" || y != "" {
		var a, b string
		a, x = versionPart(x)
		b, y = versionPart(y)
		if c := cmp.Compare(weigh(a), weigh(b)); c != 0 {
			return c
		}
		if c := cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)); c != 0 && isDigit(a) && isDigit(b) {
			return c
		} else if c := cmp.Compare(a, b); c != 0 && !isDigit(a) && !isDigit(b) {
			return c
		}
	}
	return 0
}

// versionPart cuts the first run of digits or of letters from a version. Numbers lose
// leading zeros.
func versionPart(v string) (part, rest string) {
	v = strings.TrimLeft(v, ".-_+")
	if v == "" {
		return "", ""
	}
	digit := v[0] >= '0' && v[0] <= '9'
	end := 0
	for end < len(v) && (v[end] >= '0' && v[end] <= '9') == digit && !strings.ContainsRune(".-_+", rune(v[end])) {
		end++
	}
	part, rest = v[:end], v[end:]
	if digit {
		part = strings.TrimLeft(part, "0")
		if part == "" {
			part = "0"
		}
	}
	return part, rest
}

func isDigit(part string) bool { return part != "" && part[0] >= '0' && part[0] <= '9' }

// weigh orders kinds of parts: development releases, pre-releases, the end, "post", and
// numbers.
func weigh(part string) int {
	switch {
	case isDigit(part) && part != "0":
		return 4
	case part == "post":
		return 3
	case part == "", part == "0":
		return 2
	case part == "dev":
		return 0
	}
	return 1
}
