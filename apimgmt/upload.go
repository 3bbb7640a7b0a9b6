package apimgmt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	// Description describes the enabler in short. With KeepDescription an empty one
	// leaves the stored one.
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
	// the enabler's service receives requests without it. It has to pass
	// [definition.CheckPath]. NoPath means none. Empty means the stored one of the version,
	// or for a new version that of the version that stands for the enabler.
	Path string
	// By is the user that uploads it, for the record and the log.
	By string
	// Condition is a condition on the stored record. Its zero value holds always.
	Condition Condition
}

// NoPath is the [Upload].Path of a version that is served at the paths of its file.
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

// Publish checks a definition, stores it, and has the gateway route to it if it is
// not a draft: all of its routes or none. A stored version of the same name is
// replaced. What others have attached to the version before in the gateway, such as a plugin
// on its service, is carried over, or the error names it and wraps [entity.ErrAttached].
// Errors are of the type [*Error]; those of other types come from the storage.
func (p *Publisher) Publish(ctx context.Context, u Upload) (Record, error) {
	c, err := p.checkUpload(ctx, u)
	if err != nil {
		p.totals.refused.Add(1)
		return Record{}, err
	}
	var prepared *change
	err = p.apply(ctx, opPublish, c.key, func(ctx context.Context, current *snapshot) (*change, error) {
		next, served, err := p.prepareUpload(ctx, current, c)
		if err != nil {
			return nil, err
		}
		if len(next.conflicts) > 0 {
			return nil, conflicting(opPublish, u.Enabler, c.listenPath, next.conflicts)
		}
		upload := next.desired.find(c.definition.Version()).Upload
		if err := p.files.write(ctx, upload, c.definition, u.Definition, served); err != nil {
			return nil, fmt.Errorf("%s %q: %w", opPublish, u.Enabler, err)
		}
		next.fresh = []string{upload}
		prepared = next
		return next, nil
	})
	if err != nil {
		return Record{}, err
	}
	e := prepared.desired.find(c.definition.Version())
	said := "version stored"
	if e.State == Published {
		said = "published"
	}
	p.log.Info(said, "enabler", u.Enabler, "version", e.Version, "state", e.State, "by", u.By, "sha256", e.SHA256,
		"operations", e.Operations, "superseded", prepared.superseded,
		"carried", prepared.carried())
	answer, err := p.answer(ctx, c.key, prepared)
	answer.Warnings = c.definition.Warnings()
	if routes, faulty := p.routes(ctx, *e); faulty == nil { // those of this version, which need not be the answer's
		answer.Warnings = append(answer.Warnings, differences(routes, e.State)...)
	}
	for _, warning := range answer.Warnings {
		p.log.Warn("published with a warning", "enabler", u.Enabler, "version", e.Version, "warning", warning)
	}
	return answer, err
}

const opPublish = "publish"

// Preview returns what Publish would do, or the error that it would return, and changes
// nothing.
func (p *Publisher) Preview(ctx context.Context, u Upload) (Preview, error) {
	c, err := p.checkUpload(ctx, u)
	if err != nil {
		return Preview{}, err
	}
	return readSnapshot(ctx, p, opPublish, u.Enabler, func(current *snapshot) (Preview, error) {
		prepared, version, err := p.prepareUpload(ctx, current, c)
		if err != nil {
			return Preview{}, err
		}
		if prepared.routing {
			err := p.routing.plan(ctx, opPublish, prepared)
			if err != nil && len(prepared.conflicts) == 0 { // which are the reason otherwise
				return Preview{}, err
			}
		}
		routes := version.view(c.state, p.config.GatewayURL, c.listenPath, newGuard(prepared.plan.After))
		suggested := ""
		if len(prepared.conflicts) > 0 {
			suggested = suggestedPath(u.Enabler, c.listenPath)
		}
		return Preview{
			SuggestedPath: suggested, DryRun: true, Enabler: u.Enabler, Version: c.definition.Version(), State: c.state, Path: c.listenPath,
			Changes:    slices.Concat([]entity.Change{}, prepared.plan.Changes),
			Conflicts:  slices.Concat([]Conflict{}, prepared.conflicts),
			Superseded: slices.Concat([]string{}, prepared.superseded),
			Carried:    prepared.carried(),
			Routes:     routes,
			Warnings:   slices.Concat(c.definition.Warnings(), differences(routes, c.state)),
		}, nil
	})
}

// candidate is an upload whose definition is in order by itself.
type candidate struct {
	Upload
	key, prefix string
	state       State
	definition  *definition.Definition
	listenPath  string // that config is for
	config      entity.Config
}

// checkUpload checks an upload by itself, and converts its definition.
func (p *Publisher) checkUpload(ctx context.Context, u Upload) (*candidate, error) {
	c := &candidate{Upload: u, key: enablerKey(u.Enabler), state: u.State}
	if c.state == "" {
		c.state = Published
	}
	if found := u.Check(); len(found) > 0 {
		return nil, found[0]
	}
	release, err := acquire(ctx, p.checks)
	if err != nil {
		return nil, fmt.Errorf("%s %q: wait for other uploads: %w", opPublish, u.Enabler, err)
	}
	defer release()
	if c.definition, err = definition.Load(ctx, u.Definition, p.config.Definition); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, invalid(opPublish, u.Enabler, "definition", err)
	}
	if err := checkVersion(c.definition.Version()); err != nil {
		return nil, invalid(opPublish, u.Enabler, "definition", err)
	}
	c.prefix = versionPrefix(c.key, c.definition.Version())
	current, err := p.catalogue.snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", opPublish, u.Enabler, err)
	}
	if err := p.convert(ctx, c, c.chooseListenPath(current.records[c.key])); err != nil {
		return nil, err
	}
	return c, nil
}

// chooseListenPath returns the prefix below which the version is to be served, beside the stored
// record of its enabler.
func (c *candidate) chooseListenPath(before record) string {
	return c.Upload.listenPath(before, c.definition.Version())
}

// convert computes what the gateway serves of a definition below a path.
func (p *Publisher) convert(ctx context.Context, c *candidate, listenPath string) error {
	u := c.Upload
	kinds, err := p.config.Gateway.Kinds(ctx)
	if err != nil {
		return refused(opPublish, u.Enabler, err)
	}
	embedded := slices.Contains(kinds, deprecationKind) // which Kong does not have
	if kinds == nil {
		kinds = append(pluginsIn(c.definition), p.config.SecurityPlugin, definition.TransformerPlugin)
	}
	c.config, err = definition.Convert(c.definition, definition.Options{
		Name: c.prefix, Plugins: kinds, Server: u.Server, Path: listenPath,
		SecurityPlugin: p.config.SecurityPlugin, RequestValidator: embedded, Preflights: true,
		Allow: func(host string, _ int) error { return p.config.Upstreams.allow(host) },
	})
	if err != nil {
		return invalid(opPublish, u.Enabler, "definition", err)
	}
	for key := range byOwner(c.config) {
		return invalid(opPublish, u.Enabler, "definition", fmt.Errorf("the tag %q is one of the publisher's own", ownerTag(key)))
	}
	c.listenPath = listenPath
	return nil
}

var pluginKey = regexp.MustCompile(`"x-kong-plugin-([^"\\]+)"`)

// pluginsIn names the plugins that a definition configures.
func pluginsIn(d *definition.Definition) []string {
	names := []string{}
	for _, found := range pluginKey.FindAllSubmatch(d.JSON(), -1) {
		names = append(names, string(found[1]))
	}
	return names
}

// prepareUpload prepares the change that an upload makes. It also returns what the
// gateway is to serve of the version.
func (p *Publisher) prepareUpload(ctx context.Context, current *snapshot, c *candidate) (*change, *content, error) {
	before, exists := current.records[c.key]
	if err := c.Condition.check(opPublish, c.Enabler, before, exists); err != nil {
		return nil, nil, err
	}
	old := before.find(c.definition.Version())
	if old != nil && c.state == Draft && old.State.Routed() {
		return nil, nil, &Error{Op: opPublish, Key: c.Enabler, Kind: ErrState,
			Text: fmt.Sprintf("version %q is %s: a draft needs a version of its own", old.Version, old.State)}
	}
	if old == nil && len(before.Versions) >= p.config.Versions {
		return nil, nil, &Error{Op: opPublish, Key: c.Enabler, Kind: ErrTooLarge,
			Text: fmt.Sprintf("it has %d versions; delete those that are not needed", len(before.Versions))}
	}
	if path := c.chooseListenPath(before); path != c.listenPath { // another upload has changed it since the check
		if err := p.convert(ctx, c, path); err != nil {
			return nil, nil, err
		}
	}
	own, err := p.withSecrets(ctx, c, before)
	if err != nil {
		return nil, nil, err
	}
	next := &change{key: c.key, desired: c.desired(before, exists, current.head.Serial+1)}
	if old != nil {
		next.stale = []string{old.Upload}
	}
	if err := current.checkPrefixes(c.key, next.desired); err != nil {
		return nil, nil, err
	}
	served := &content{Config: own, Operations: c.definition.Operations(), Declared: true}
	if err := served.fillIn(); err != nil {
		return nil, nil, refused(opPublish, c.Enabler, err)
	}
	next.routing = c.state.Routed() || (old != nil && old.State.Routed())
	if err := p.routing.prepare(ctx, current, next, c.definition.Version(), served); err != nil {
		return nil, nil, err
	}
	return next, served, nil
}

// desired is the record of the enabler with the version of the upload in it.
func (c *candidate) desired(before record, exists bool, serial uint64) record {
	now := time.Now().UTC().Truncate(time.Millisecond)
	r := before.clone()
	if !exists {
		r = record{Enabler: c.Enabler, Created: now}
	}
	if !exists || !c.KeepDescription || c.Description != "" {
		r.Description = c.Description
	}
	r.Updated = now
	sum := sha256.Sum256(c.Definition)
	e := edition{
		State: c.state, Upload: uuid.NewString(), Size: int64(len(c.Definition)), SHA256: hex.EncodeToString(sum[:]),
		By: c.By, Created: now, Updated: now, Serial: serial, ListenPath: c.listenPath,
	}
	e.describe(c.definition)
	e.About = shortened(e.About)
	if old := r.find(e.Version); old != nil {
		e.Created = old.Created
		*old = e
	} else {
		r.Versions = append(r.Versions, e)
	}
	return r
}

func shortened(text string) string {
	if utf8.RuneCountInString(text) <= maxAbout {
		return text
	}
	return string([]rune(text)[:maxAbout]) + "…"
}

// conflicting refuses a change because of routes of others, with a path to publish beside
// them. path is that of the version.
func conflicting(op, enabler, path string, conflicts []Conflict) error {
	var lines []string
	for _, c := range conflicts {
		if len(lines) == 10 {
			lines = append(lines, fmt.Sprintf("and %d more", len(conflicts)-10))
			break
		}
		lines = append(lines, c.String())
	}
	another := "another prefix"
	if path == "" {
		another = "a prefix"
	}
	suggested := suggestedPath(enabler, path)
	lines = append(lines, fmt.Sprintf("publish with path=%s to serve it below %s", suggested, another))
	return &Error{Op: op, Key: enabler, Kind: ErrConflict, Text: strings.Join(lines, "; "), Conflicts: conflicts, SuggestedPath: suggested}
}

// suggestedPath is a listen path for an enabler, other than the one it has.
func suggestedPath(enabler, path string) string {
	suggested := "/" + enablerKey(enabler)
	switch {
	case definition.CheckPath(suggested) != nil:
		return "/name"
	case suggested == path:
		return suggested + "-2"
	}
	return suggested
}

// checkPrefixes refuses a record of which a version would have the same names in the
// gateway as a version of another enabler, or as another version of its own.
func (s *snapshot) checkPrefixes(key string, desired record) error {
	if !strings.EqualFold(plain(desired.Enabler), key) {
		return errors.New("the record belongs to another enabler")
	}
	taken := map[string]string{}
	for _, e := range desired.Versions {
		prefix := versionPrefix(key, e.Version)
		if other, ok := taken[prefix]; ok {
			return &Error{Op: opPublish, Key: desired.Enabler, Kind: ErrConflict,
				Text: fmt.Sprintf("the versions %q and %q are too much alike", other, e.Version)}
		}
		taken[prefix] = e.Version
	}
	for _, other := range s.keys {
		if other == key {
			continue
		}
		r := s.records[other]
		for _, e := range r.Versions {
			if version, ok := taken[versionPrefix(other, e.Version)]; ok {
				return &Error{Op: opPublish, Key: desired.Enabler, Kind: ErrConflict,
					Text: fmt.Sprintf("version %q has the same name in the gateway as version %q of enabler %q", version, e.Version, r.Enabler)}
			}
		}
	}
	return nil
}
