package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree is the source of one module.
type tree struct {
	module   string // path of the module, from go.mod
	goMod    string // text of go.mod
	readme   string // text of README.md, empty without one
	fset     *token.FileSet
	folders  []string // every folder that was read, "." first
	packages []*pkg   // by folder
	links    map[string][]string
}

// pkg is the Go code of one folder.
type pkg struct {
	dir   string // relative to the module, "." for its root
	name  string // package name, without _test
	files []*file
	info  *types.Info    // of the files of package name; imports are not resolved
	types *types.Package // with errors ignored
}

// file is one Go file.
type file struct {
	path      string // relative to the module
	text      string
	syntax    *ast.File
	test      bool // *_test.go
	external  bool // package x_test
	generated bool
	lines     int
}

// main reports whether the package is a command.
func (p *pkg) main() bool { return p.name == "main" }

// code returns the files of the package that are not tests.
func (p *pkg) code() []*file {
	return slices.DeleteFunc(slices.Clone(p.files), func(f *file) bool { return f.test })
}

// importPath returns the path under which the package is imported.
func (t *tree) importPath(p *pkg) string { return path.Join(t.module, p.dir) }

// own returns the folder of an import path of this module.
func (t *tree) own(importPath string) (dir string, ok bool) {
	if importPath == t.module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.module+"/")
}

// at returns "file:line" of a position.
func (t *tree) at(pos token.Pos) string {
	p := t.fset.Position(pos)
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

// imports yields what a file imports.
func (f *file) imports(yield func(importPath string, pos token.Pos) bool) {
	for _, spec := range f.syntax.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err == nil && !yield(importPath, spec.Pos()) {
			return
		}
	}
}

// loadTree reads the module whose go.mod is at the root of fsys. Folders that
// the go command ignores are left out, and so are nested modules.
func loadTree(fsys fs.FS) (*tree, error) {
	goMod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	readme, err := fs.ReadFile(fsys, "README.md")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	t := &tree{goMod: string(goMod), readme: string(readme), fset: token.NewFileSet()}
	for line := range strings.Lines(t.goMod) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			t.module = strings.TrimSpace(name)
		}
	}
	if t.module == "" {
		return nil, errors.New("go.mod: no module line")
	}
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name != "." && ignored(fsys, name) {
			return fs.SkipDir
		}
		t.folders = append(t.folders, name)
		p, err := t.loadPackage(fsys, name)
		if p != nil {
			t.packages = append(t.packages, p)
		}
		return err
	})
	return t, err
}

// ignored reports whether the go command would not look into the folder.
func ignored(fsys fs.FS, dir string) bool {
	base := path.Base(dir)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

// loadPackage reads the Go files of one folder; nil if it has none.
func (t *tree) loadPackage(fsys fs.FS, dir string) (*pkg, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	p := &pkg{dir: dir}
	for _, entry := range entries {
		if entry.IsDir() || path.Ext(entry.Name()) != ".go" {
			continue
		}
		f, err := t.loadFile(fsys, path.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
		if name := f.syntax.Name.Name; !f.external && (p.name == "" || !f.test) {
			p.name = name
		}
	}
	if len(p.files) == 0 {
		return nil, nil
	}
	t.resolve(p)
	return p, nil
}

func (t *tree) loadFile(fsys fs.FS, name string) (*file, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	test := strings.HasSuffix(name, "_test.go")
	return &file{
		path:      name,
		text:      string(text),
		syntax:    syntax,
		test:      test,
		external:  test && strings.HasSuffix(syntax.Name.Name, "_test"),
		generated: ast.IsGenerated(syntax),
		lines:     t.fset.File(syntax.Pos()).LineCount(),
	}, nil
}

// resolve finds out what each identifier of the package means. Nothing that is
// imported is read: its types are unknown, and the errors that follow from
// that are ignored.
func (t *tree) resolve(p *pkg) {
	p.info = &types.Info{
		Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{},
	}
	var syntax []*ast.File
	for _, f := range p.files {
		if !f.external {
			syntax = append(syntax, f.syntax)
		}
	}
	config := types.Config{Importer: noImporter{}, Error: func(error) {}}
	p.types, _ = config.Check(t.importPath(p), t.fset, syntax, p.info) // incomplete on purpose
}

// noImporter makes every import unknown.
type noImporter struct{}

func (noImporter) Import(importPath string) (*types.Package, error) {
	return nil, errors.New("not read: " + importPath)
}

// matches reports whether the folder is meant by the pattern: the folder
// itself, or with "/..." at the end any folder at or below it.
func matches(pattern, dir string) bool {
	if pattern == "..." {
		return true
	}
	parent, below := strings.CutSuffix(pattern, "/...")
	return dir == parent || (below && strings.HasPrefix(dir, parent+"/"))
}

// matchesAny reports whether one of the patterns means the folder.
func matchesAny(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, dir) })
}
