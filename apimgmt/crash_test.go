package apimgmt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/storage"
)

// stage is what outlives a process: storage and gateway.
type stage struct {
	docs    storage.Documents
	blobs   storage.Blobs
	gateway apimgmt.Gateway
}

func newStage() stage {
	return stage{storage.NewMemoryDocuments(), storage.NewMemoryBlobs(), apimgmt.NewMemoryGateway([]string{"oidc", "deprecation"})}
}

// open starts a process.
func (s stage) open(t *testing.T, schedule *faultSchedule) *apimgmt.Publisher {
	t.Helper()
	config := apimgmt.Config{Documents: s.docs, Blobs: s.blobs, Gateway: s.gateway, GatewayURL: "http://gateway.example",
		Grace: time.Nanosecond}
	if schedule != nil {
		config.Documents = faultyDocuments{s.docs, schedule}
		config.Blobs = faultyBlobs{s.blobs, schedule}
		config.Gateway = faultyGateway{s.gateway, schedule}
	}
	p, err := apimgmt.NewPublisher(config)
	require.NoError(t, err)
	return p
}

// state is what the catalogue says, in words, after checking that the gateway
// serves just that and that no blob is there in vain or missing.
func (s stage) state(t *testing.T, p *apimgmt.Publisher) string {
	t.Helper()
	list, _, err := p.List(t.Context(), apimgmt.Query{})
	require.NoError(t, err)
	text, uploads := "", 0
	for _, r := range list {
		want := []string{}
		for _, v := range r.Versions {
			uploads++
			one, err := p.GetVersion(t.Context(), r.Enabler, v.Version)
			require.NoError(t, err)
			text += fmt.Sprintf("%s %s %s:", r.Enabler, v.Version, v.State)
			for _, route := range one.Routes {
				text += " " + route.Path
				if v.State.Routed() {
					want = append(want, route.Path)
				}
			}
			text += fmt.Sprintf(" (%s)\n", r.Description)
			f, err := p.Definition(t.Context(), r.Enabler, v.Version)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
		got := apitest.Served(t, s.gateway, r.Enabler)
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got, "what the gateway serves of %s", r.Enabler)
	}
	kept := 0
	for _, err := range s.blobs.List(t.Context(), "") {
		require.NoError(t, err)
		kept++
	}
	require.Equal(t, 3*uploads, kept, "blobs")
	config, err := s.gateway.Config(t.Context())
	require.NoError(t, err)
	for _, route := range config.Routes {
		require.True(t, slices.ContainsFunc(list, func(r apimgmt.Record) bool {
			return slices.Contains(route.Tags,
				"enabler:"+r.Enabler)
		}), "no version defines %s", route.Name)
	}
	return text
}

// operations are changes of a catalogue that has an enabler "a" with the versions 1
// and 2, of which 1 is deprecated.
func operations() map[string]func(context.Context, *apimgmt.Publisher) error {
	upload := func(enabler, version string, paths ...string) func(context.Context, *apimgmt.Publisher) error {
		return func(ctx context.Context, p *apimgmt.Publisher) error {
			_, err := p.Publish(ctx, apimgmt.Upload{Enabler: enabler, Definition: []byte(apitest.File(version, paths...))})
			return err
		}
	}
	return map[string]func(context.Context, *apimgmt.Publisher) error{
		"publish a new enabler":         upload("b", "1", "/b"),
		"replace a version":             upload("a", "2", "/two", "/more"),
		"supersede a version":           upload("a", "3", "/one", "/three"),
		"publish beside other versions": upload("a", "3", "/three"),
		"store a draft": func(ctx context.Context, p *apimgmt.Publisher) error {
			_, err := p.Publish(ctx, apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File("4", "/one")), State: apimgmt.Draft})
			return err
		},
		"end a version": func(ctx context.Context, p *apimgmt.Publisher) error {
			_, err := p.SetState(ctx, "a", "1", apimgmt.Transition{State: apimgmt.Sunset})
			return err
		},
		"describe": func(ctx context.Context, p *apimgmt.Publisher) error {
			_, err := p.Describe(ctx, "a", "other", "editor", apimgmt.Condition{})
			return err
		},
		"delete a version": func(ctx context.Context, p *apimgmt.Publisher) error {
			return p.DeleteVersion(ctx, "a", "2", "editor", apimgmt.Condition{})
		},
		"delete": func(ctx context.Context, p *apimgmt.Publisher) error {
			return p.Delete(ctx, "a", "editor", apimgmt.Condition{})
		},
	}
}

func prepared(t *testing.T) stage {
	t.Helper()
	s := newStage()
	p := s.open(t, nil)
	for _, version := range []string{"1", "2"} {
		path := map[string]string{"1": "/one", "2": "/two"}[version]
		_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(apitest.File(version, path))})
		require.NoError(t, err)
	}
	_, err := p.SetState(t.Context(), "a", "1", apimgmt.Transition{State: apimgmt.Deprecated})
	require.NoError(t, err)
	return s
}

// Each step of each change breaks once: before it was done, after it was done, and
// with everything after it broken, too. Afterwards the catalogue is as before or as
// it was to be, and as the answer said if it said it, and the gateway serves it.
func TestPublisher_Recover_syncsAfterAFailureAtAnyStep(t *testing.T) {
	for name, operation := range operations() {
		t.Run(name, func(t *testing.T) {
			calm := prepared(t)
			before := calm.state(t, calm.open(t, nil))
			count := &faultSchedule{}
			require.NoError(t, operation(t.Context(), calm.open(t, count)))
			after := calm.state(t, calm.open(t, nil))
			require.NotEqual(t, before, after)
			require.Greater(t, count.steps, 5)
			for kind := range 4 {
				if testing.Short() && kind != 3 {
					continue
				}
				for at := 1; at <= count.steps; at++ {
					s := prepared(t)
					schedule := &faultSchedule{at: at, late: kind&1 != 0, dead: kind&2 != 0}
					where := fmt.Sprintf("step %d of %d, late %v, dead %v", at, count.steps, schedule.late, schedule.dead)
					err := operation(t.Context(), s.open(t, schedule))
					next := s.open(t, nil)
					require.NoError(t, next.Recover(t.Context()), where)
					state := s.state(t, next)
					switch {
					case err == nil:
						require.Equal(t, after, state, where)
					case errors.Is(err, apimgmt.ErrGateway):
						require.Equal(t, before, state, where)
					default:
						require.Contains(t, []string{before, after}, state, where)
					}
					require.NoError(t, next.Recover(t.Context()))
					require.Equal(t, state, s.state(t, next), where)
					if err := operation(t.Context(), s.open(t, nil)); !errors.Is(err, apimgmt.ErrNotFound) {
						require.NoError(t, err, "the same once more, after "+where)
					}
				}
			}
		})
	}
}

func TestPublisher_Reconcile_repairsAGatewayThatLostItsState(t *testing.T) {
	s := prepared(t)
	before := s.state(t, s.open(t, nil))
	s.gateway = apimgmt.NewMemoryGateway([]string{"oidc", "deprecation"})
	p := s.open(t, nil)
	require.NoError(t, p.Recover(t.Context()))
	require.Equal(t, before, s.state(t, p))
	require.Equal(t, uint64(1), p.Totals().Healed)
	require.NoError(t, p.Reconcile(t.Context()))
	require.Equal(t, uint64(1), p.Totals().Healed, "what agrees is left alone")
}

func TestPublisher_Recover_readsTheStoredFormOfAPendingChange(t *testing.T) {
	docs := storage.NewMemoryDocuments()
	_, err := docs.Create(t.Context(), "catalogue", []byte(`{"format":1,"serial":7,"intent":{"id":"i","op":"describe",
		"holder":"h","at":"2026-11-01T10:00:00Z","key":"weather","routing":false,"after":{"serial":7,"enabler":"weather",
		"description":"new","created":"2026-11-01T10:00:00Z","updated":"2026-11-01T10:00:00Z","versions":[]}},
		"doubtful":["sea"]}`))
	require.NoError(t, err)
	_, err = docs.Create(t.Context(), "enabler/weather", []byte(`{"serial":6,"enabler":"weather","description":"old",
		"created":"2026-11-01T10:00:00Z","updated":"2026-11-01T10:00:00Z","versions":[]}`))
	require.NoError(t, err)
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: docs, Blobs: storage.NewMemoryBlobs(),
		Gateway: apimgmt.NewMemoryGateway(nil), GatewayURL: "https://gateway.example"})
	require.NoError(t, err)
	require.NoError(t, p.Recover(t.Context()))
	record, err := p.Get(t.Context(), "weather")
	require.NoError(t, err)
	require.Equal(t, "new", record.Description)
	doc, err := docs.Get(t.Context(), "catalogue")
	require.NoError(t, err)
	require.JSONEq(t, `{"format":1,"serial":7}`, string(doc.Data))
}
