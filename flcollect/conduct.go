package flcollect

import (
	"context"
	"errors"
	"net"
	"runtime"

	"github.com/iotenablers/enablers/flcollect/internal/group"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/tracing"
	"github.com/iotenablers/enablers/storage"
)

// newService returns what the jobs of the server have in common.
func (s *Server) newService() *job.Service {
	c := s.config
	service := &job.Service{
		Documents: c.Documents, Blobs: c.Blobs, Observer: observer{s.jobs, s}, Counter: s.counters, Contexts: s.contexts,
		Strategy: s.strategies.make, Orchestrator: c.Orchestrator, Fleet: c.Fleet,
		TrustClients: c.TrustClients, NoAudit: c.NoAudit, ClientTimeout: c.ClientTimeout, Dir: c.Dir,
		Tracer: tracing.New(c.TracerProvider, "flcollect"), Converting: make(chan struct{}, runtime.NumCPU()),
		Ending: s.ending, Log: s.log,
	}
	if c.InitialNamed != nil {
		service.Models = append(service.Models, c.InitialNamed)
	}
	if c.Repository != nil {
		results := results{repository: c.Repository, blobs: c.Blobs}
		service.Results = results.store
		service.Models = append(service.Models, results.model)
	}
	if c.Upstream != nil {
		service.Upstream = c.Upstream.client
	}
	return service
}

// failing notes a failure of the storage, which shows in [Server.Ready]. The id is empty for
// what concerns all jobs.
func (s *Server) failing(id string, err error) {
	if first := s.health.Set(id, err); first {
		s.log.Warn("the storage fails, and is tried again", "job", id, "error", err)
	}
}

// observer lists jobs: it implements [job.Observer].
type observer struct {
	*registry
	server *Server
}

// Failing implements [job.Observer].
func (o observer) Failing(id string, err error) { o.server.failing(id, err) }

// Finished implements [job.Observer].
func (o observer) Finished(j *job.Job) {
	o.server.health.Set(j.ID(), nil) // before a new run of the same id can begin
	o.registry.finish(j)
}

// joinGroup makes the server one of several on its store. Dial connects to the others; nil means
// TCP.
func (s *Server) joinGroup(dial func(ctx context.Context, target string) (net.Conn, error)) {
	c := s.config
	s.group = group.New(group.Config{
		Server: member{s}, Offered: s.jobs.Offered, Storage: s.storage, Contexts: s.contexts, Name: c.Name,
		Address: c.Advertise, RelayTLS: c.RelayTLS,
		Dial: dial, Lease: c.Lease, Starting: s.starting, Ending: s.ending, Log: s.log,
	})
	s.service.Group, s.lobby.group, s.jobs.shared = s.group, s.group, true
}

// member conducts jobs at the server, which may be one of several on a store: it implements
// [group.Server].
type member struct{ server *Server }

// Job implements [group.Server].
func (m member) Job(id string) *job.Job { return m.server.jobs.get(id) }

// Jobs implements [group.Server].
func (m member) Jobs() []*job.Job { return m.server.jobs.all() }

// tenure returns the context of the right to conduct jobs, and what gives it up.
func (m member) tenure() (context.Context, context.CancelCauseFunc) {
	if m.server.group == nil {
		return context.WithCancelCause(m.server.life)
	}
	return m.server.group.Under(m.server.life)
}

// newJob returns a job that begins or goes on as the record says.
func (m member) newJob(r job.Record, revision storage.Revision, selected strategy.Strategy) *job.Job {
	life, lose := m.tenure()
	return job.New(m.server.service, life, lose, r, revision, selected)
}

// launch runs a job that is in the registry.
func (m member) launch(j *job.Job) {
	m.server.running.Go(j.Run)
	if m.server.group != nil {
		m.server.group.Forget(j.ID())
	}
}

// GoOn implements [group.Server].
func (m member) GoOn(r job.Record, revision storage.Revision) *job.Job {
	j := m.newJob(r, revision, nil)
	m.server.jobs.add(j)
	m.launch(j)
	return j
}

// Settled implements [group.Server].
func (m member) Settled(records []job.Record) {
	var ended spentLedger
	for _, r := range records {
		ended.add(r)
	}
	m.server.jobs.reset(nil, ended)
}

// Looked implements [group.Server].
func (m member) Looked(err error) {
	m.server.health.Set("", err)
	if err == nil {
		m.server.open.Do(func() { close(m.server.ready) })
	}
}

// TrustsRelay returns nil for the token of a server of the same fleet; it is the function
// for flower.ServerConfig.Relay.
func (s *Server) TrustsRelay(token string) error {
	if s.group == nil {
		return errors.New("this server conducts its jobs alone")
	}
	return s.group.Trusts(token)
}
