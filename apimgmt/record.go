package apimgmt

import (
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/internal/keep"
)

// record is an enabler as it is stored, under the key "enabler/<key>". Its fields
// are a stored format.
type record struct {
	// Serial is the serial of the change that wrote it; see head.
	Serial uint64 `json:"serial"`
	// RolledBack is the serial of the last change that was rolled back, so that a slow process
	// does not commit it afterwards.
	RolledBack uint64 `json:"rolled_back,omitempty"`
	// Removed is the time at which the enabler was deleted. The record stays for the grace period, so
	// that a slow process does not write an older state after it.
	Removed     *time.Time `json:"removed,omitempty"`
	Enabler     string     `json:"enabler"`
	Description string     `json:"description"`
	Created     time.Time  `json:"created"`
	Updated     time.Time  `json:"updated"`
	Versions    []edition  `json:"versions"`

	unknown keep.Members
}

// edition is a version of an API as it is stored.
type edition struct {
	Version string `json:"version" keep:"key"`
	State   State  `json:"state"`
	// Upload is the id of its blobs.
	Upload  string    `json:"upload"`
	Title   string    `json:"title"`
	About   string    `json:"about,omitempty"`
	OpenAPI string    `json:"openapi"`
	Format  string    `json:"format"`
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"`
	By      string    `json:"by"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Serial is the serial of the change that wrote it last: the order of updates.
	Serial     uint64   `json:"serial"`
	Operations int      `json:"operations"`
	Tags       []string `json:"tags,omitempty"`
	// Paths are for searching.
	Paths []string `json:"paths,omitempty"`
	// ListenPath is the prefix below which the gateway serves it, empty if none exists.
	ListenPath string `json:"listen_path,omitempty"`
	// Deprecated is the time at which the version became deprecated, Sunset when it ends, and Link the
	// address of a page about that.
	Deprecated *time.Time `json:"deprecated,omitempty"`
	Sunset     *time.Time `json:"sunset,omitempty"`
	Link       string     `json:"link,omitempty"`
}

// outcome is what has become of a change.
type outcome int

const (
	open       outcome = iota // neither committed nor rolled back
	committed                 // the record was written
	rolledBack                // the record stays what it was
	forgotten                 // one of both, and later changes of the enabler hide which
)

// outcome returns what has become of the change with a serial, by the record that is stored.
func (r record) outcome(serial uint64) outcome {
	switch {
	case r.Serial < serial && r.RolledBack < serial:
		return open
	case r.RolledBack == serial, r.Serial < serial:
		return rolledBack
	case r.Serial == serial, r.RolledBack < serial:
		return committed
	}
	return forgotten
}

// without returns the record after the change with a serial was rolled back. A record of an
// enabler that there is not stays for the grace period.
func (r record) without(serial uint64, enabler string) record {
	r.RolledBack = serial
	if len(r.Versions) == 0 {
		now := time.Now().UTC()
		r.Enabler, r.Removed = enabler, &now
	}
	return r
}

// clone returns a copy whose versions can be changed.
func (r record) clone() record {
	r.Versions = slices.Clone(r.Versions)
	return r
}

// find returns the version of a name, or nil.
func (r *record) find(version string) *edition {
	for i := range r.Versions {
		if r.Versions[i].Version == version {
			return &r.Versions[i]
		}
	}
	return nil
}

// current is the version that stands for the enabler: the one uploaded or changed
// last among the published ones, or else the deprecated ones, the drafts, the sunset
// ones.
func (r *record) current() *edition {
	for _, state := range states() {
		var found *edition
		for i := range r.Versions {
			if e := &r.Versions[i]; e.State == state && (found == nil || e.Serial > found.Serial) {
				found = e
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// routed lists the versions that the gateway serves.
func (r *record) routed() []edition {
	return slices.DeleteFunc(slices.Clone(r.Versions), func(e edition) bool { return !e.State.Routed() })
}

// matches reports whether a text in lower case occurs in what describes the
// enabler: name, descriptions, title, paths and tags of any version.
func (r *record) matches(text string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return has(r.Enabler) || has(r.Description) || slices.ContainsFunc(r.Versions, func(e edition) bool {
		return has(e.Title) || has(e.About) || has(e.ListenPath) ||
			slices.ContainsFunc(e.Tags, has) || slices.ContainsFunc(e.Paths, has)
	})
}

// describe copies from a definition what lists and searches show.
func (e *edition) describe(d *definition.Definition) {
	e.Title = d.Title()
	e.OpenAPI = d.OpenAPI()
	e.Version = d.Version()
	e.About = d.Description()
	e.Format = "json"
	if d.IsYAML() {
		e.Format = "yaml"
	}
	operations := d.Operations()
	e.Operations = len(operations)
	e.Tags, e.Paths = nil, nil
	for _, operation := range operations {
		e.Tags = append(e.Tags, operation.Tags...)
		e.Paths = append(e.Paths, operation.Path)
	}
	slices.Sort(e.Tags)
	slices.Sort(e.Paths)
	e.Tags, e.Paths = slices.Compact(e.Tags), slices.Compact(e.Paths)
}
