package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/modelrepo"
)

const about = `modelrepo is a repository of models: namespaces, models, versions, and content by
format. It serves its REST interface, documented at /docs/.

modelrepo collect -data DIR removes content that nothing refers to at once, after
deletions on a full disk; see modelrepo collect -h.`

// settings are the values of flags, environment and file.
type settings struct {
	connections *server.Connections
	listen      string
	stores      *stores.Settings
	grace       time.Duration
	interval    time.Duration
	scrub       time.Duration
	limits      modelrepo.Limits
	anywhere    bool // webhooks may call private addresses
	door        *door.Settings
}

// readSettings reads and checks the settings. The flags are returned for -h.
func readSettings(args []string) (settings, *server.Flags, error) {
	var s settings
	f := s.declare()
	err := f.Parse(args)
	if err == nil {
		err = s.check(f)
	}
	return s, f, err
}

// declare declares the flags.
func (s *settings) declare() *server.Flags {
	f := server.NewFlags("modelrepo", "MODELREPO", about)
	f.Commands = completions()
	f.StringVar(&s.listen, "listen", "127.0.0.1:8081", "`HOST:PORT` of the REST interface; port 0 takes any that is free")
	s.stores = stores.Declare(f, stores.Texts{
		Data: "./data/modelrepo", Note: " A database belongs to one repository, whose processes may be several.",
	})
	f.DurationVar(&s.grace, "grace", 24*time.Hour,
		"how long content that nothing refers to, and uploads that do not move, are kept")
	f.DurationVar(&s.interval, "collect-interval", time.Hour,
		"how often content that nothing refers to, and uploads that do not move, are looked for")
	f.DurationVar(&s.scrub, "scrub-interval", 30*24*time.Hour,
		"how often all content is read, at 8 MiB per second, and compared with its digests; 0 means only on request")
	l := &s.limits
	f.IntVar(&l.ModelsPerNamespace, "max-models", 0, "how `many` models a namespace can have; 0 means any number")
	f.IntVar(&l.VersionsPerModel, "max-versions", 0, "how `many` versions a model can have; 0 means any number")
	f.Int64Var(&l.ContentBytes, "max-content", 0, "the largest content in `bytes`; 0 means any size")
	f.Int64Var(&l.NamespaceBytes, "max-namespace", 0, "the most content of one namespace in `bytes`; 0 means any")
	f.BoolVar(&s.anywhere, "webhooks-private", false, "let webhooks call addresses that are not public")
	s.door = door.Declare(f)
	s.connections = f.Connections()
	f.Logging("log/modelrepo.log")
	f.Lifecycle()
	return f
}

// check refuses settings that cannot work.
func (s *settings) check(f *server.Flags) error {
	var errs []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"grace", s.grace}, {"collect-interval", s.interval}} {
		if d.value <= 0 {
			errs = append(errs, fmt.Errorf("-%s (%s): expected more than nothing, got %v", d.name, f.Variable(d.name), d.value))
		}
	}
	if s.scrub < 0 {
		errs = append(errs, fmt.Errorf("-scrub-interval (%s): expected 0 or more, got %v", f.Variable("scrub-interval"), s.scrub))
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"max-models", int64(s.limits.ModelsPerNamespace)}, {"max-versions", int64(s.limits.VersionsPerModel)},
		{"max-content", s.limits.ContentBytes}, {"max-namespace", s.limits.NamespaceBytes},
	} {
		if n.value < 0 {
			errs = append(errs, fmt.Errorf("-%s (%s): expected 0 or more, got %d", n.name, f.Variable(n.name), n.value))
		}
	}
	return errors.Join(append(errs, s.stores.Check(), s.door.Check())...)
}

// scrubs returns when content is compared with its digests.
func (s *settings) scrubs() modelrepo.ScrubConfig {
	if s.scrub == 0 {
		return modelrepo.ScrubConfig{Interval: -1}
	}
	return modelrepo.ScrubConfig{Interval: s.scrub}
}
