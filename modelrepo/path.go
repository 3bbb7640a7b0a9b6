package modelrepo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Latest is the version tag for the version that a model's latestVersion names. It is
// for reading only.
const Latest = "latest"

// Unset is the value that removes a latestVersion or a defaultFormat.
const Unset = "@unset"

// The rules for names, by version 0.1 of the interface.
const (
	namespaceRule = `^[A-Za-z0-9_-]{3,100}$`
	modelRule     = `^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`
	versionRule   = `^[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}$`
	formatRule    = `^[a-zA-Z0-9][\w\-/+.]{0,99}$`
)

var (
	namespaceNames = regexp.MustCompile(namespaceRule)
	modelNames     = regexp.MustCompile(modelRule)
	versionTags    = regexp.MustCompile(versionRule)
	formatTags     = regexp.MustCompile(formatRule)
)

// reservedNames returns the first segments of the service's own paths that would be
// valid names of namespaces. Its other paths are too short or have a dot.
func reservedNames() []string { return []string{"docs", "healthz", "metrics", "readyz"} }

// scrubName is a name that new namespaces cannot have, because an archive could not be
// imported at its address. Earlier versions allowed it, so such a namespace may exist.
const scrubName = "scrub"

// validFormat reports whether the text is a format tag.
func validFormat(format string) bool { return formatTags.MatchString(format) }

// Path names a namespace, a model or a version. The fields of deeper levels are empty;
// the zero Path names the whole repository.
type Path struct {
	// Namespace has 3 to 100 ASCII letters, digits, hyphens and underscores. The names
	// docs, healthz, metrics and readyz are reserved, and scrub for new namespaces.
	Namespace string
	// Model has 1 to 100 of the same, with a letter or digit first.
	Model string
	// Version has 1 to 100 of the same, dots and plus signs, with a letter or
	// digit first.
	Version string
}

// ParsePath reads "namespace", "namespace/model" or "namespace/model/version".
// The error matches [ErrInvalid].
func ParsePath(text string) (Path, error) {
	parts := strings.Split(text, "/")
	if len(parts) > 3 {
		return Path{}, fmt.Errorf("parse path %.400q: %w: it has more than three parts", text, ErrInvalid)
	}
	parts = append(parts, "", "")
	p := Path{parts[0], parts[1], parts[2]}
	depth := strings.Count(text, "/") + 1
	if !p.valid(depth) {
		return Path{}, fmt.Errorf("parse path %.400q: %w: a name breaks the rules", text, ErrInvalid)
	}
	return p, nil
}

// String returns the path as [ParsePath] reads it.
func (p Path) String() string {
	return strings.TrimRight(p.Namespace+"/"+p.Model+"/"+p.Version, "/")
}

// depth returns 0 for the repository, 1 for a namespace, 2 for a model, 3 for a
// version.
func (p Path) depth() int {
	switch {
	case p.Version != "":
		return 3
	case p.Model != "":
		return 2
	case p.Namespace != "":
		return 1
	}
	return 0
}

// valid reports whether the path names something of that depth by the rules.
// Only valid paths become keys.
func (p Path) valid(depth int) bool {
	return p.depth() == depth &&
		(depth < 1 || namespaceNames.MatchString(p.Namespace) && !slices.Contains(reservedNames(), p.Namespace)) &&
		(depth < 2 || modelNames.MatchString(p.Model)) &&
		(depth < 3 || versionTags.MatchString(p.Version))
}

// Kind returns what the path names: "repository", "namespace", "model" or "model version".
func (p Path) Kind() string {
	return [...]string{"repository", "namespace", "model", "model version"}[p.depth()]
}

// title returns the kind as the beginning of a sentence.
func (p Path) title() string {
	kind := p.Kind()
	return strings.ToUpper(kind[:1]) + kind[1:]
}

// Name returns the last part of the path, nothing of the zero Path.
func (p Path) Name() string {
	return [...]string{"", p.Namespace, p.Model, p.Version}[p.depth()]
}

// Parent returns the path without its last part. That of the zero Path is the zero Path.
func (p Path) Parent() Path {
	switch p.depth() {
	case 3:
		p.Version = ""
	case 2:
		p.Model = ""
	default:
		p = Path{}
	}
	return p
}

// child returns the path of a child.
func (p Path) child(name string) Path {
	switch p.depth() {
	case 0:
		p.Namespace = name
	case 1:
		p.Model = name
	default:
		p.Version = name
	}
	return p
}

// The first parts of keys. They are a stored format.
const (
	rootKey         = "root"
	namespacePrefix = "namespace/"
	modelPrefix     = "model/"
	versionPrefix   = "version/"
	contentPrefix   = "content/"
	condemnedPrefix = "condemned/"
	blobPrefix      = "blob/"
)

// key returns the key of the node's document. Names have no slash, so no two paths
// share a key, and the children of two paths have different prefixes.
func (p Path) key() string {
	if p.depth() == 0 {
		return rootKey
	}
	return [...]string{"", namespacePrefix, modelPrefix, versionPrefix}[p.depth()] + p.String()
}

// childPrefix returns the prefix of the keys of all children.
func (p Path) childPrefix() string {
	if p.depth() == 0 {
		return namespacePrefix
	}
	return [...]string{"", modelPrefix, versionPrefix}[p.depth()] + p.String() + "/"
}
