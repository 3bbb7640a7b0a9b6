package page_test

import (
	"html"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/annotate/manager/page"
	"github.com/iotenablers/enablers/annotate/ngsild"
	"github.com/iotenablers/enablers/annotate/sparql"
	"github.com/iotenablers/enablers/storage"
)

// unsaid are settings of a driver that does not say where their secrets go.
type unsaid struct{ annotate.Settings }

func (s unsaid) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	return unsaid{s.Settings.WithSecrets(secrets)}
}

// unsaidDriver creates a kind of broker of SPARQL stores whose settings are
// such.
type unsaidDriver struct{ annotate.SettingsDriver }

func (d unsaidDriver) Read(object []byte) (annotate.Settings, error) {
	s, err := d.SettingsDriver.Read(object)
	return unsaid{s}, err
}

func (d unsaidDriver) Check(annotate.Topic, annotate.TopicRole) error { return nil }

func (d unsaidDriver) Fields(role annotate.TopicRole) []annotate.Field {
	return d.SettingsDriver.(annotate.FormDriver).Fields(role)
}

// newStoreVisit opens the pages of a manager with outputs that are stores.
func newStoreVisit(t *testing.T) *visit {
	b := annotate.NewMemoryBroker(nil)
	c := managertest.Config(b, storage.NewMemoryDocuments())
	stranger := sparql.Driver(b)
	stranger.Type, stranger.Member, stranger.Settings = "OTHER", "otherSettings", unsaidDriver{stranger.Settings}
	c.Drivers = append(c.Drivers, sparql.Driver(b), ngsild.Driver(b), stranger)
	m, _ := managertest.Start(t, c)
	return &visit{t: t, manager: m, broker: b, handler: http.StripPrefix("/ui/annotation", page.NewHandler(m, nil))}
}

func TestNewHandler_sendsCredentialsOfStoresToNoOtherAddress(t *testing.T) {
	s := newStoreVisit(t)
	user, password := managertest.Leaks()[2], managertest.Leaks()[3]
	for kind, settings := range map[annotate.BrokerType]annotate.Settings{
		sparql.Type: sparql.Settings{Protocol: sparql.Update, URL: "https://store.example/a", User: user, Password: password},
		ngsild.Type: ngsild.Settings{Mode: ngsild.Update, URL: "https://store.example/a", Token: password},
		"OTHER":     unsaid{sparql.Settings{Protocol: sparql.Update, URL: "https://store.example/a", User: user, Password: password}},
	} {
		c := managertest.Channel(string(kind))
		c.Output = annotate.Topic{Name: "https://example.org/", Broker: kind, Settings: settings}
		managertest.Create(t, s.manager, c)
		page := "/channels/" + string(kind) + "/edit"
		form := fields(t, s.get(page).Body.String())
		field := "output." + string(kind) + "."
		s.connect(form)
		for _, address := range []string{
			"https://evil.example/a", "http://store.example/a", "https://store.example/mine", "https://store.example:444/a",
		} {
			form.Set(field+"url", address)
			form.Set("channel", string(kind))
			tested := s.post("/connections", form)
			require.Equal(t, http.StatusUnprocessableEntity, tested.Code, "%s: %s: %s", kind, address, tested.Body)
			require.Contains(t, html.UnescapeString(tested.Body.String()), "was given for another address")
			saved := s.post(page, form)
			require.Equal(t, http.StatusUnprocessableEntity, saved.Code, "%s: %s", kind, address)
			kept, err := s.manager.Get(string(kind))
			require.NoError(t, err)
			require.Equal(t, settings, kept.Output.Settings)
		}
		form = fields(t, s.get(page).Body.String())
		form.Set("name", "renamed")
		require.Equal(t, http.StatusSeeOther, s.post(page, form).Code)
		kept, err := s.manager.Get(string(kind))
		require.NoError(t, err)
		require.Equal(t, settings, kept.Output.Settings, "they stay with the address")
		form.Set(field+"protocol", sparql.GraphStore)
		form.Set(field+"mode", ngsild.Replace)
		form.Del("base") // the present state
		want := http.StatusSeeOther
		if kind == "OTHER" {
			want = http.StatusUnprocessableEntity
		}
		saved := s.post(page, form)
		require.Equal(t, want, saved.Code, "%s: %s", kind, saved.Body)
	}
}
