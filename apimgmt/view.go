package apimgmt

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/entity"
)

// Record is an enabler in the library: its name, and the version that stands for
// it, which is the one changed last among the published ones, or else among the
// deprecated ones, the drafts, the sunset ones.
type Record struct {
	Enabler     string `json:"enabler"`
	Description string `json:"description"`
	Version
	// Created is the time at which the enabler was published first, Updated when anything of it
	// was changed last.
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// GatewayURL is where the paths of the version above are once it is routed, with the
	// prefix that it is served below.
	GatewayURL string `json:"gateway_url"`
	// Revision changes whenever the record does. It is the ETag of the record.
	Revision string `json:"revision"`
	// Versions are all versions, in the order in which they were uploaded first.
	Versions []Version `json:"versions"`
	// Routes are the operations of the version above. Lists have none.
	Routes []Route `json:"routes,omitempty"`
	// Superseded are the versions that became sunset by the change. It is there only in
	// the answer to that change.
	Superseded []string `json:"superseded,omitempty"`
	// Carried is what others had attached to the gateway's entities of the enabler, such as a
	// plugin on a service, and what the change has attached to those of another version, in
	// sentences. It is there only in the answer to that change.
	Carried []string `json:"carried,omitempty"`
	// Warnings say where what the definition of the version above declares of security and
	// what the gateway enforces differ. Lists have none. The answer to an upload has the hints
	// for its author as well; see [definition.Definition.Warnings].
	Warnings []string `json:"warnings,omitempty"`
}

// Version is a version of an API.
type Version struct {
	Version string `json:"version"`
	State   State  `json:"state"`
	// Path is the prefix below which the gateway serves the version; empty if it serves
	// the paths as the definition has them.
	Path  string `json:"path,omitempty"`
	Title string `json:"title"`
	// About is the description in the definition, Markdown, up to 2,000 characters.
	About string `json:"about,omitempty"`
	// OpenAPI is the version of OpenAPI, Format is json or yaml.
	OpenAPI string `json:"openapi"`
	Format  string `json:"format"`
	// Size in bytes and SHA256 in hexadecimal digits are those of the uploaded
	// file.
	Size       int64     `json:"size"`
	SHA256     string    `json:"sha256"`
	UploadedBy string    `json:"uploaded_by"`
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
	// Operations is the number of operations, Tags are their tags.
	Operations int      `json:"operations"`
	Tags       []string `json:"tags,omitempty"`
	// DeprecatedAt is the time at which the version became deprecated, SunsetAt when it is going to
	// end, Link the address of a page about that.
	DeprecatedAt *time.Time `json:"deprecated_at,omitempty"`
	SunsetAt     *time.Time `json:"sunset_at,omitempty"`
	Link         string     `json:"link,omitempty"`
}

// Route is an operation of an API.
type Route struct {
	definition.Operation
	// Secured reports whether the gateway refuses callers without credentials there: a plugin that
	// authenticates callers counts, whether the definition has it, the gateway's operator has
	// attached it, or it is for everything. Of a version that is not routed it is what the
	// definition would have the gateway do. DeclaresSecurity is what the file claims.
	Secured bool `json:"secured"`
	// URL is its address at the gateway; empty as long as the version is not
	// routed. Parameters stand in braces.
	URL string `json:"url,omitempty"`
}

// Preview is the effect that publishing a definition would have.
type Preview struct {
	DryRun  bool   `json:"dry_run"`
	Enabler string `json:"enabler"`
	Version string `json:"version"`
	State   State  `json:"state"`
	// Path is the prefix below which the version would be served.
	Path string `json:"path,omitempty"`
	// Changes are all of the gateway, also of what others have added or changed there.
	Changes []entity.Change `json:"changes"`
	// Conflicts are the routes in common with others; publishing would be refused.
	Conflicts []Conflict `json:"conflicts"`
	// SuggestedPath is a path of which it is likely that it has none of the conflicts.
	SuggestedPath string `json:"suggested_path,omitempty"`
	// Superseded are the versions that would become sunset.
	Superseded []string `json:"superseded"`
	// Carried is what others have attached to the gateway's entities of the enabler and what
	// would be attached to those of this version, in sentences.
	Carried []string `json:"carried,omitempty"`
	// Routes are the operations of the definition.
	Routes []Route `json:"routes"`
	// Warnings are those that the answer to publishing would have.
	Warnings []string `json:"warnings,omitempty"`
}

const maxAbout = 2000

func (e *edition) view() Version {
	return Version{
		Version: e.Version, State: e.State, Path: e.ListenPath, Title: e.Title, About: e.About, OpenAPI: e.OpenAPI,
		Format: e.Format, Size: e.Size, SHA256: e.SHA256, UploadedBy: e.By, Created: e.Created, Updated: e.Updated,
		Operations: e.Operations, Tags: slices.Clone(e.Tags),
		DeprecatedAt: e.Deprecated, SunsetAt: e.Sunset, Link: e.Link,
	}
}

// view is a record without its routes.
func (p *Publisher) view(r record) Record {
	v := Record{
		Enabler: r.Enabler, Description: r.Description, Created: r.Created, Updated: r.Updated,
		GatewayURL: p.config.GatewayURL, Revision: r.revision(), Versions: []Version{},
	}
	for i := range r.Versions {
		v.Versions = append(v.Versions, r.Versions[i].view())
	}
	if e := r.current(); e != nil {
		v.Version = e.view()
		v.GatewayURL += e.ListenPath
	}
	return v
}

// revision names the state of a record: no change writes two of one enabler.
func (r *record) revision() string { return strconv.FormatUint(r.Serial, 10) }

// routes are the operations of a version, with their addresses and what the gateway
// enforces.
func (p *Publisher) routes(ctx context.Context, e edition) ([]Route, error) {
	c, err := p.files.operations(ctx, e)
	if err != nil {
		return nil, err
	}
	var served *guard
	if e.State.Routed() {
		served = p.watch.guard(ctx)
	}
	return c.view(e.State, p.config.GatewayURL, e.ListenPath, served), nil
}

// full is a record with its routes.
func (p *Publisher) full(ctx context.Context, r record) (Record, error) {
	v := p.view(r)
	e := r.current()
	if e == nil {
		return v, nil
	}
	var err error
	v.Routes, err = p.routes(ctx, *e)
	v.Warnings = differences(v.Routes, e.State)
	return v, err
}
