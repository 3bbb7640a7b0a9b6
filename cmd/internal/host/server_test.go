package host_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
)

// recorded is a block that notes what a server does with it.
type recorded struct {
	name  string
	notes *[]string
	fails error
}

func (r *recorded) note(what string) { *r.notes = append(*r.notes, r.name+" "+what) }

func (r *recorded) Prepare(_ context.Context, env *host.Env) error {
	r.note("prepares")
	if env.Door != nil || env.Stores == nil {
		return errors.New("the stores are open and the door is not")
	}
	return nil
}

func (r *recorded) Open(_ context.Context, env *host.Env) (*host.Block, error) {
	r.note("opens")
	env.Closing(func() error {
		r.note("closes")
		return nil
	})
	part := func(what string) server.Part {
		return server.Part{Name: r.name, Announce: func() { r.note(what) }, Run: func(ctx context.Context) error {
			<-ctx.Done()
			r.note("stops")
			return nil
		}}
	}
	return &host.Block{Routes: http.NotFoundHandler(), Run: []server.Part{part("runs")}, Later: []server.Part{part("goes on")},
		Announce: func(io.Writer) { r.note("announces") }}, r.fails
}

// serve serves two blocks until the second one goes on, and returns what has happened.
func serve(t *testing.T, second error) (notes []string, out string, err error) {
	t.Helper()
	dir := t.TempDir()
	f := host.NewFlags("things", "THINGS", "")
	web := f.Listener("listen", "127.0.0.1:0", "web", "")
	require.NoError(t, f.Read(nil, func() {}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	entry := func(name, owner string, fails error) host.Entry {
		return host.Entry{Opener: &recorded{name, &notes, fails}, Folder: name,
			Stores: host.Kept(stores.In(filepath.Join(dir, name)), owner)}
	}
	last := host.OpenFunc(func(context.Context, *host.Env) (*host.Block, error) {
		return &host.Block{Later: []server.Part{{Name: "last", Run: func(context.Context) error {
			cancel()
			return nil
		}}}}, nil
	})
	var stdout bytes.Buffer
	err = f.Serve(ctx, nil, &stdout, io.Discard, host.Server{
		Owner: datafolder.Enablers, Above: dir, Listeners: []*host.Listener{web}, Web: web,
		Blocks: []host.Entry{
			entry("annotator", datafolder.Annotator, nil), entry("modelrepo", datafolder.ModelRepo, second), {Opener: last},
		},
	})
	return notes, stdout.String(), err
}

func TestFlags_Serve_hasOneOrder(t *testing.T) {
	notes, out, err := serve(t, nil)
	require.NoError(t, err)
	require.Equal(t, strings.Split("annotator prepares,modelrepo prepares,annotator opens,modelrepo opens,annotator runs,"+
		"modelrepo runs,annotator announces,modelrepo announces,annotator goes on,modelrepo goes on,"+
		"modelrepo stops,annotator stops,modelrepo stops,annotator stops,modelrepo closes,annotator closes", ","), notes)
	require.Regexp(t, `^listening on http://127\.0\.0\.1:\d+ \(web\)\n$`, out)
}

func TestFlags_Serve_closesWhatIsOpenAfterAFailure(t *testing.T) {
	notes, out, err := serve(t, errors.New("no room"))
	require.EqualError(t, err, "no room")
	require.Equal(t, []string{"modelrepo closes", "annotator closes"}, notes[len(notes)-2:])
	require.Empty(t, out)
}

func TestFlags_Read_namesEverythingThatIsWrong(t *testing.T) {
	f := host.NewFlags("things", "THINGS", "")
	f.DeclareStores(stores.Texts{Data: "data"})
	number := f.Int("number", 0, "")
	err := f.Read([]string{"-number", "7", "-store-timeout", "0s", "-access", "magic"}, func() {
		f.Between("number", int64(*number), 0, 6)
		f.Between("number", int64(*number), 0, 7)
		f.Positive("number", 0)
	})
	for _, text := range []string{"-number (THINGS_NUMBER): expected 0 to 6, got 7", "expected more than nothing, got 0s",
		"-store-timeout (THINGS_STORE_TIMEOUT)", "-access: "} {
		require.ErrorContains(t, err, text)
	}
	require.NotContains(t, err.Error(), "0 to 7")
}
