package apimgmt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/entity"
)

// Upload is a definition to be published.
type Upload struct {
	// Enabler is the name: letters, digits, spaces and "._-". Names that differ only
	// in case or in spaces and hyphens are the same enabler.
	Enabler string
	// Description says in short what the enabler is. With KeepDescription an empty
	// one leaves what is there.
	Description     string
	KeepDescription bool
	// Definition is the file.
	Definition []byte
	// State is Published, which empty means, or Draft.
	State State
	// Server is what relative addresses of servers in the definition are relative to.
	// Empty means that there may be none.
	Server string
	// Path is the prefix below which the gateway serves the version, such as /weather;
	// the enabler's service sees requests without it. [definition.CheckPath] says what
	// it may be. NoPath means none. Empty leaves what is there: that of the version, or
	// for a new one that of the version that stands for the enabler, or none.
	Path string
	// By is who uploads it, for the record and the log.
	By string
	// Condition is what has to hold of the record. Its zero value holds always.
	Condition Condition
}

// NoPath is the [Upload].Path of a version that is served at the paths of its file, whatever
// was before.
const NoPath = "/"

// listenPath is the prefix below which a version is to be served.
func (u Upload) listenPath(before record, version string) string {
	switch old := before.find(version); {
	case u.Path == NoPath:
		return ""
	case u.Path != "":
		return u.Path
	case old != nil:
		return old.ListenPath
	}
	if current := before.current(); current != nil {
		return current.ListenPath
	}
	return ""
}

// checkPath checks the path of an upload.
func checkPath(path string) error {
	if path == "" || path == NoPath {
		return nil
	}
	return definition.CheckPath(path)
}

// Condition is what a record has to be like for a change to be made.
type Condition struct {
	// Exists says that the record has to be there.
	Exists bool
	// Absent says that it must not.
	Absent bool
	// Revisions are those of which it has to have one; empty means any.
	Revisions []string
}

func (c Condition) check(op, key string, r record, exists bool) error {
	switch {
	case c.Exists && !exists:
		return notFound(op, key, "there is no enabler of that name")
	case c.Absent && exists, len(c.Revisions) > 0 && (!exists || !slices.Contains(c.Revisions, r.revision())):
		return &Error{Op: op, Key: key, Kind: ErrPrecondition, Text: "the record has changed since it was read"}
	}
	return nil
}

// Publish checks a definition, keeps it, and has the gateway route to it if it is
// not a draft: all of its routes or none. A version that is there already is
// replaced. Errors are of the type [*Error]; those of other types come from the
// storage.
func (p *Publisher) Publish(ctx context.Context, u Upload) (Record, error) {
	c, err := p.check(ctx, u)
	if err != nil {
		p.totals.refused.Add(1)
		return Record{}, err
	}
	var made record
	var superseded []string
	err = p.change(ctx, opPublish, c.key, func(ctx context.Context, at *snapshot) (*decision, error) {
		plan, err := p.plan(ctx, at, c)
		if err != nil {
			return nil, err
		}
		if len(plan.conflicts) > 0 {
			return nil, inTheWay(opPublish, u.Enabler, c.listenPath, plan.conflicts)
		}
		if err := p.keepUpload(ctx, c, plan); err != nil {
			return nil, fmt.Errorf("%s %q: %w", opPublish, u.Enabler, err)
		}
		made, superseded = plan.after, plan.superseded
		return &plan.decision, nil
	})
	if err != nil {
		return Record{}, err
	}
	e := made.find(c.definition.Version())
	p.log.Info("published", "enabler", u.Enabler, "version", e.Version, "state", e.State, "by", u.By, "sha256", e.SHA256,
		"operations", e.Operations, "superseded", superseded)
	warnings := c.definition.Warnings()
	for _, warning := range warnings {
		p.log.Warn("published with a warning", "enabler", u.Enabler, "version", e.Version, "warning", warning)
	}
	answer, err := p.answer(ctx, c.key, superseded)
	answer.Warnings = warnings
	return answer, err
}

const opPublish = "publish"

// answer is the record after a change, as the catalogue has it now.
func (p *Publisher) answer(ctx context.Context, key string, superseded []string) (Record, error) {
	const op = "read"
	return look(ctx, p, op, key, func(at *snapshot) (Record, error) {
		r, ok := at.records[key]
		if !ok {
			return Record{}, notFound(op, key, "somebody has deleted the enabler meanwhile")
		}
		made, err := p.full(ctx, r)
		made.Superseded = superseded
		return made, err
	})
}

// Preview tells what Publish would do, and changes nothing.
func (p *Publisher) Preview(ctx context.Context, u Upload) (Preview, error) {
	c, err := p.check(ctx, u)
	if err != nil {
		return Preview{}, err
	}
	return look(ctx, p, opPublish, u.Enabler, func(at *snapshot) (Preview, error) {
		plan, err := p.plan(ctx, at, c)
		if err != nil {
			return Preview{}, err
		}
		before, err := p.serve(ctx, at.records[c.key])
		if err != nil {
			return Preview{}, fmt.Errorf("%s %q: %w", opPublish, u.Enabler, err)
		}
		changes, err := entity.Diff(before, plan.config)
		if err != nil {
			return Preview{}, fmt.Errorf("%s %q: %w", opPublish, u.Enabler, err)
		}
		return Preview{
			DryRun: true, Enabler: u.Enabler, Version: c.definition.Version(), State: c.state, Path: c.listenPath, Changes: slices.Concat([]entity.Change{}, changes),
			Conflicts: slices.Concat([]Conflict{}, plan.conflicts), Superseded: slices.Concat([]string{}, plan.superseded),
			Routes: p.routesOf(c.definition.Operations(), c.state, c.listenPath), Warnings: c.definition.Warnings(),
		}, nil
	})
}

// checked is an upload whose definition is in order by itself.
type checked struct {
	Upload
	key, prefix string
	state       State
	definition  *definition.Definition
	listenPath  string // that config is for
	config      entity.Config
}

// check reads the definition and converts it.
func (p *Publisher) check(ctx context.Context, u Upload) (*checked, error) {
	c := &checked{Upload: u, key: keyOf(u.Enabler), state: u.State}
	if c.state == "" {
		c.state = Published
	}
	if err := checkName(u.Enabler); err != nil {
		return nil, invalid(opPublish, clip(u.Enabler), err)
	}
	if err := checkDescription(u.Description); err != nil {
		return nil, invalid(opPublish, u.Enabler, err)
	}
	if err := checkPath(u.Path); err != nil {
		return nil, invalid(opPublish, u.Enabler, err)
	}
	if c.state != Published && c.state != Draft {
		return nil, invalid(opPublish, u.Enabler, fmt.Errorf("state %q: a definition is published, or stored as a draft", c.state))
	}
	release, err := take(ctx, p.checks)
	if err != nil {
		return nil, fmt.Errorf("%s %q: wait for other uploads: %w", opPublish, u.Enabler, err)
	}
	defer release()
	if c.definition, err = definition.Load(ctx, u.Definition, p.config.Definition); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, invalid(opPublish, u.Enabler, err)
	}
	if err := checkVersion(c.definition.Version()); err != nil {
		return nil, invalid(opPublish, u.Enabler, err)
	}
	c.prefix = prefixOf(c.key, c.definition.Version())
	at, err := p.snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", opPublish, u.Enabler, err)
	}
	if err := p.convert(ctx, c, c.listenPathOf(at.records[c.key])); err != nil {
		return nil, err
	}
	return c, nil
}

// listenPathOf is the path that the version is to be served below, with a record that is
// there.
func (c *checked) listenPathOf(before record) string {
	return c.Upload.listenPath(before, c.definition.Version())
}

// convert makes what the gateway serves of a definition below a path.
func (p *Publisher) convert(ctx context.Context, c *checked, listenPath string) error {
	u := c.Upload
	kinds, err := p.gateway.Kinds(ctx)
	if err != nil {
		return refused(opPublish, u.Enabler, err)
	}
	ours := slices.Contains(kinds, deprecationKind) // which no Kong has
	if kinds == nil {
		kinds = append(pluginsIn(c.definition), p.config.SecurityPlugin, definition.TransformerPlugin)
	}
	c.config, err = definition.Convert(c.definition, definition.Options{
		Name: c.prefix, Plugins: kinds, Server: u.Server, Path: listenPath, SecurityPlugin: p.config.SecurityPlugin, RequestValidator: ours,
		Allow: func(host string, _ int) error { return p.config.Upstreams.allow(host) },
	})
	if err != nil {
		return invalid(opPublish, u.Enabler, err)
	}
	for key := range byOwner(c.config) {
		return invalid(opPublish, u.Enabler, fmt.Errorf("the tag %q is one of the publisher's own", ownerOf(key)))
	}
	c.listenPath = listenPath
	return nil
}

var pluginKey = regexp.MustCompile(`"x-kong-plugin-([^"\\]+)"`)

// pluginsIn names the plugins that a definition asks for.
func pluginsIn(d *definition.Definition) []string {
	names := []string{}
	for _, found := range pluginKey.FindAllSubmatch(d.JSON(), -1) {
		names = append(names, string(found[1]))
	}
	return names
}

// plan is what an upload comes to on a state of the catalogue.
type plan struct {
	decision
	own        entity.Config // of the version alone
	conflicts  []Conflict
	superseded []string
}

// plan decides on an upload.
func (p *Publisher) plan(ctx context.Context, at *snapshot, c *checked) (*plan, error) {
	before, exists := at.records[c.key]
	if err := c.Condition.check(opPublish, c.Enabler, before, exists); err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	after := before.clone()
	if !exists {
		after = record{Enabler: c.Enabler, Created: now}
	}
	if !exists || !c.KeepDescription || c.Description != "" {
		after.Description = c.Description
	}
	after.Updated = now
	version := c.definition.Version()
	old := after.find(version)
	if old != nil && c.state == Draft && old.State.Routed() {
		return nil, &Error{Op: opPublish, Key: c.Enabler, Kind: ErrState,
			Text: fmt.Sprintf("version %q is %s: a draft needs a version of its own", version, old.State)}
	}
	if old == nil && len(after.Versions) >= p.config.Versions {
		return nil, &Error{Op: opPublish, Key: c.Enabler, Kind: ErrTooLarge,
			Text: fmt.Sprintf("it has %d versions; delete those that nobody needs", len(after.Versions))}
	}
	if path := c.listenPathOf(before); path != c.listenPath { // another upload has changed it since the check
		if err := p.convert(ctx, c, path); err != nil {
			return nil, err
		}
	}
	own, err := p.secrets(ctx, c, before)
	if err != nil {
		return nil, err
	}
	made := &plan{own: own}
	made.key = c.key
	sum := sha256.Sum256(c.Definition)
	next := edition{State: c.state, Upload: uuid.NewString(), Size: int64(len(c.Definition)), SHA256: hex.EncodeToString(sum[:]), By: c.By, Created: now, Updated: now, Serial: at.catalogue.Serial + 1}
	next.describe(c.definition)
	next.About = shortened(next.About)
	next.ListenPath = c.listenPath
	if old != nil {
		next.Created = old.Created
		made.stale = append(made.stale, old.Upload)
		*old = next
	} else {
		after.Versions = append(after.Versions, next)
	}
	if err := p.unlike(at, c.key, after); err != nil {
		return nil, err
	}
	served := &content{Config: own, Operations: c.definition.Operations()}
	if err := served.prepare(); err != nil {
		return nil, refused(opPublish, c.Enabler, err)
	}
	made.after = after
	if err := p.arrange(ctx, at, made, version, served); err != nil {
		return nil, err
	}
	made.routing = c.state.Routed() || old != nil && before.find(version).State.Routed()
	return made, nil
}

func shortened(text string) string {
	if utf8.RuneCountInString(text) <= maxAbout {
		return text
	}
	return string([]rune(text)[:maxAbout]) + "…"
}

// secrets puts kept secrets into what was uploaded: those of the same version, or
// else of the one that stands for the enabler.
func (p *Publisher) secrets(ctx context.Context, c *checked, before record) (entity.Config, error) {
	redacted := slices.ContainsFunc(c.config.Plugins, func(e entity.Plugin) bool { return strings.Contains(string(e.Config), entity.Redaction) })
	if !redacted {
		return c.config, nil
	}
	older := before.find(c.definition.Version())
	if older == nil {
		older = before.current()
	}
	var there entity.Config
	prefix := c.prefix
	if older != nil {
		kept, err := p.content(ctx, *older)
		if err != nil {
			return entity.Config{}, fmt.Errorf("%s %q: %w", opPublish, c.Enabler, err)
		}
		there, prefix = kept.Config, prefixOf(c.key, older.Version)
	}
	made, err := keepSecrets(c.config, c.prefix, there, prefix)
	if err != nil {
		return entity.Config{}, invalid(opPublish, c.Enabler, err)
	}
	return made, nil
}

// keepUpload writes the blobs of an upload.
func (p *Publisher) keepUpload(ctx context.Context, c *checked, made *plan) error {
	upload := made.after.find(c.definition.Version()).Upload
	shown, err := c.definition.Redacted()
	if err != nil {
		return err
	}
	entities, err := json.Marshal(content{Config: made.own, Operations: c.definition.Operations()})
	if err != nil {
		return err
	}
	made.fresh = []string{upload}
	for prefix, data := range map[string][]byte{filePrefix: c.Definition, shownPrefix: shown, entitiesPrefix: entities} {
		if _, err := p.store(ctx, prefix+upload, data); err != nil {
			p.discard(context.WithoutCancel(ctx), made.fresh)
			return err
		}
	}
	return nil
}

// inTheWay refuses because of routes of others, and says how to publish beside them. path
// is that of the version.
func inTheWay(op, enabler, path string, conflicts []Conflict) error {
	var lines []string
	for _, c := range conflicts {
		if len(lines) == 10 {
			lines = append(lines, fmt.Sprintf("and %d more", len(conflicts)-10))
			break
		}
		lines = append(lines, c.String())
	}
	lines = append(lines, fmt.Sprintf("publish with path=%s to serve it below %s", suggestedPath(enabler, path),
		map[bool]string{true: "a prefix", false: "another prefix"}[path == ""]))
	return &Error{Op: op, Key: enabler, Kind: ErrConflict, Text: strings.Join(lines, "; "), Conflicts: conflicts}
}

// suggestedPath is a listen path for an enabler, other than the one it has.
func suggestedPath(enabler, path string) string {
	made := "/" + keyOf(enabler)
	switch {
	case definition.CheckPath(made) != nil:
		made = "/name"
	case made == path:
		made += "-2"
	}
	return made
}

// unlike refuses an enabler of which a version would have the same names in the
// gateway as a version of another one, or as another version of its own.
func (p *Publisher) unlike(at *snapshot, key string, after record) error {
	if !strings.EqualFold(plain(after.Enabler), key) {
		return errors.New("the record belongs to another enabler")
	}
	taken := map[string]string{}
	for _, e := range after.Versions {
		prefix := prefixOf(key, e.Version)
		if other, ok := taken[prefix]; ok {
			return &Error{Op: opPublish, Key: after.Enabler, Kind: ErrConflict, Text: fmt.Sprintf("the versions %q and %q are too much alike", other, e.Version)}
		}
		taken[prefix] = e.Version
	}
	for _, other := range at.keys {
		if other == key {
			continue
		}
		r := at.records[other]
		for _, e := range r.Versions {
			if version, ok := taken[prefixOf(other, e.Version)]; ok {
				return &Error{Op: opPublish, Key: after.Enabler, Kind: ErrConflict,
					Text: fmt.Sprintf("version %q has the same name in the gateway as version %q of enabler %q", version, e.Version, r.Enabler)}
			}
		}
	}
	return nil
}
