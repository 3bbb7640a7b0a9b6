package main

import (
	"time"

	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/models"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/stores/drivers"
)

const about = `modelrepo is a repository of models: namespaces, models, versions, and content by
format. It serves its REST interface, documented at /docs/.

modelrepo collect -data DIR removes content that nothing refers to at once, after
deletions on a full disk; see modelrepo collect -h.`

// settings are the values of flags, environment and file.
type settings struct {
	*host.Flags
	web    host.Listener
	models models.Models
}

// readSettings reads and checks the settings. They are returned for -h in any case.
func readSettings(args []string) (*settings, error) {
	s := declare()
	return s, s.Read(args, s.check)
}

// declare declares the flags.
func declare() *settings {
	s := &settings{Flags: host.NewFlags("modelrepo", "MODELREPO", about), web: host.Listener{Flag: "listen"}}
	s.Commands = completions()
	s.StringVar(&s.web.Address, "listen", "127.0.0.1:8081", "`HOST:PORT` of the REST interface; port 0 takes any that is free")
	s.DeclareStores(stores.Texts{
		Data: "./data/modelrepo", Note: " A database belongs to one repository, whose processes may be several.",
	}, drivers.All()...)
	m := &s.models
	s.DurationVar(&m.Grace, "grace", 24*time.Hour,
		"how long content that nothing refers to, and uploads that do not move, are kept")
	s.DurationVar(&m.Interval, "collect-interval", time.Hour,
		"how often content that nothing refers to, and uploads that do not move, are looked for")
	s.DurationVar(&m.Scrub.Interval, "scrub-interval", 30*24*time.Hour,
		"how often all content is read, at 8 MiB per second, and compared with its digests; 0 means only on request")
	s.IntVar(&m.Limits.ModelsPerNamespace, "max-models", 0, "how `many` models a namespace can have; 0 means any number")
	s.IntVar(&m.Limits.VersionsPerModel, "max-versions", 0, "how `many` versions a model can have; 0 means any number")
	s.Int64Var(&m.Limits.ContentBytes, "max-content", 0, "the largest content in `bytes`; 0 means any size")
	s.Int64Var(&m.Limits.NamespaceBytes, "max-namespace", 0, "the most content of one namespace in `bytes`; 0 means any")
	s.BoolVar(&m.Webhooks.AllowPrivate, "webhooks-private", false, "let webhooks call addresses that are not public")
	return s
}

// check refuses settings that cannot work.
func (s *settings) check() {
	m := &s.models
	s.Positive("grace", m.Grace)
	s.Positive("collect-interval", m.Interval)
	if m.Scrub.Interval < 0 {
		s.Wrong("scrub-interval", "expected 0 or more, got %v", m.Scrub.Interval)
	}
	for name, value := range map[string]int64{
		"max-models": int64(m.Limits.ModelsPerNamespace), "max-versions": int64(m.Limits.VersionsPerModel),
		"max-content": m.Limits.ContentBytes, "max-namespace": m.Limits.NamespaceBytes,
	} {
		if value < 0 {
			s.Wrong(name, "expected 0 or more, got %d", value)
		}
	}
	if m.Scrub.Interval == 0 {
		m.Scrub.Interval = -1 // 0 means the default there
	}
}
